"""Many rooms played at random by people, bots and clocks, with leaving, absence, repeats and nonsense, until their
matches end. `Stage.do` checks what always holds after every version."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest

from services.rules import engine
from services.rules.bots.levels import BotLevel
from services.rules.cards import Card
from services.rules.events import CardsDrawn, RoundStarted
from services.rules.reasons import IllegalAction
from services.rules.room import actions as a
from services.rules.room.apply import apply
from services.rules.room.clock import TimerKind
from services.rules.room.codec import encode
from services.rules.room.due import due
from services.rules.room.events import RoomEvent
from services.rules.room.reasons import AlreadyDone, NotDue, RoomRefusal
from services.rules.room.settings import DEFAULT_TIMES, Visibility
from services.rules.room.state import Room, RoomPhase
from services.rules.room.step import Context
from services.rules.room.timers import pending
from services.rules.room.views import RoomView, room_view, view_events
from tests.rules.rooms import PEOPLE, Stage

PRESETS = ["mau-mau-32", "mau-mau-brasil", "uno", "uno-mattel", "uno-casa", "tranca", "tranca-jogatina"]
VERSIONS = 3_000


class Walk:
    """One room in the hands of chance. `absent` are seats whose person has no live stream."""

    def __init__(self, preset: str, seed: int) -> None:
        self.chance = random.Random(f"{preset} {seed}")
        people = self.chance.choice(["ann", "ann bob", "ann bob cid", "ann bob cid dan"])
        self.stage = Stage(
            preset, people, salt=seed, options=self.target(preset, seed), settings={"visibility": Visibility.PUBLIC}
        )
        self.absent: set[int] = set()
        self.requests: list[tuple[a.Player, a.RoomAction, bytes, int]] = []

    def target(self, preset: str, seed: int) -> dict[str, object]:
        """Matches short enough, some of them with a pause between rounds."""
        return {"match.target": "single" if preset.startswith("tranca") or seed % 3 else "rounds:2"}

    @property
    def room(self) -> Room:
        return self.stage.now

    def get_going(self) -> None:
        """Fill up with bots and start."""
        while len(self.room.taken()) < self.room.ruleset.min_seats or (
            self.chance.random() < 0.5 and None in self.room.seats
        ):
            level = self.chance.choice([BotLevel.RANDOM, BotLevel.HEURISTIC])
            self.stage.do(PEOPLE[self.room.host], a.AddBot(level))
        self.stage.start()

    def attempt(self, actor: a.Actor, action: a.RoomAction) -> None:
        """Accepted or refused, but never anything else."""
        request = self.chance.randbytes(16) if isinstance(actor, a.Player) else None
        named = self.room.version - self.chance.choice([0, 0, 0, 1, 5]) if isinstance(actor, a.Player) else None
        absent = frozenset(self.absent)
        stored = encode(self.room)
        try:
            self.stage.do(actor, action, request_id=request, version=named, absent=absent)
        except (RoomRefusal, IllegalAction, AlreadyDone, NotDue):
            assert encode(self.room) == stored
            return
        check_what_leaves(self.room, self.stage.last.events)
        if isinstance(actor, a.Player) and request is not None:
            self.requests.append((actor, action, request, self.room.version))

    def repeat(self) -> None:
        """A player who is not sure sends the last request again."""
        if not self.requests:
            return
        actor, action, request, version = self.requests[-1]
        with pytest.raises(AlreadyDone) as done:
            apply(self.room, actor, action, Context(request_id=request, version=0))
        assert done.value.version == version

    def move(self) -> None:
        """One thing happens."""
        roll = self.chance.random()
        if roll < 0.02:
            self.absent ^= {self.chance.randrange(len(self.room.seats))}
        elif roll < 0.03:
            comings: list[a.RoomAction] = [a.LeaveSeat(), a.TakeSeat("x"), a.TakeBack()]
            self.attempt(self.someone(), self.chance.choice(comings))
        elif roll < 0.08:
            self.repeat()
        elif roll < 0.2:
            self.nonsense()
        elif roll < 0.4:
            self.clock()
        else:
            self.play()

    def someone(self) -> a.Player:
        return PEOPLE[self.chance.choice(["ann", "bob", "cid", "dan", "eve"])]

    def nonsense(self) -> None:
        """Anybody attempts what is somebody's."""
        state = None if self.room.match is None else self.room.match.state
        actions: list[a.RoomAction] = [a.ReadyForRound(), a.Rematch(), a.Start(), a.SetReady(True), a.RotateInvite()]
        if state is not None and self.room.phase is RoomPhase.PLAYING:
            for seat in engine.must_act(state):
                actions.extend(a.Act(action) for action in engine.legal_actions(state, seat)[:3])
        self.attempt(self.someone(), self.chance.choice(actions))

    def clock(self) -> None:
        """The next deadline comes; where nobody is here, people come back."""
        absent = frozenset(self.absent)
        kinds = [timer.kind for timer in pending(self.room, absent, DEFAULT_TIMES)]
        if kinds == [TimerKind.EMPTY] and self.chance.random() < 0.9:
            self.absent.clear()
            return
        if not kinds:
            return
        reached = due(self.room, self.chance.choice(kinds), absent)
        assert reached is not None
        self.attempt(reached.actor, reached.action)

    def play(self) -> None:
        """Whoever the table waits for, or may act besides, does something legal."""
        room = self.room
        if room.phase is not RoomPhase.PLAYING or room.match is None:
            return self.clock()
        state = room.match.state
        seat = self.chance.choice(engine.must_act(state) * 3 + engine.may_act(state))
        taken = room.seats[seat]
        assert taken is not None
        legal = engine.legal_actions(state, seat)
        if taken.is_person and (self.chance.random() < 0.1 or not taken.played_by_bot):
            return self.attempt(PEOPLE[taken.player], a.Act(self.chance.choice(legal)))
        return self.attempt(a.Bot(seat), a.Act(self.chance.choice(legal)))


def check_what_leaves(room: Room, events: list[RoomEvent]) -> None:
    """No view and no event of the version holds a seed before its match is over, or cards that are another's."""
    match = room.match
    secrets = [] if room.upcoming.match_id == (match and match.proof.match_id) else [room.upcoming.seed]
    if match is not None and match.outcome is None:
        secrets.append(match.seed)
    for viewer in (None, *range(len(room.seats))):
        view, seen = room_view(room, viewer), view_events(room, events, viewer)
        sent = msgspec.msgpack.encode((view, seen), enc_hook=Card.text)
        assert not any(seed in sent for seed in secrets)
        if match is not None and match.outcome is None and (viewer is None or viewer < match.proof.seats):
            check_hands(view, seen, viewer)


def check_hands(view: RoomView, events: Sequence[RoomEvent], viewer: int | None) -> None:
    """The own hand is whole; of the others there are sizes."""
    assert view.match is not None
    game = view.match.game
    assert len(game.hand) == (0 if viewer is None else game.hand_sizes[viewer])
    for event in events:
        if isinstance(event, CardsDrawn) and event.seat != viewer:
            assert event.cards == ()
        if isinstance(event, RoundStarted):
            assert not any(hand for seat, hand in enumerate(event.hands) if seat != viewer)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(6))
def test_rooms_in_the_hands_of_chance_come_to_an_end(preset: str, seed: int) -> None:
    walk = Walk(preset, seed)
    walk.get_going()
    for _ in range(VERSIONS):
        if walk.room.phase in (RoomPhase.FINISHED, RoomPhase.CLOSED):
            break
        walk.move()
    assert walk.room.match is not None
    assert walk.room.match.outcome is not None

"""A room under test: actions go in, and after each one what must always hold is checked."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from services.rules import engine
from services.rules.actions import Action
from services.rules.room.actions import (
    Act,
    Actor,
    Bot,
    Clock,
    CreateRoom,
    Matchmaker,
    Person,
    Player,
    RoomAction,
    SetReady,
    Start,
    Timeout,
)
from services.rules.room.apply import apply
from services.rules.room.clock import TimerKind
from services.rules.room.codec import decode, encode
from services.rules.room.due import bot_choice, due
from services.rules.room.journal import decode_entry, encode_entry
from services.rules.room.reasons import AlreadyDone, RoomRefusal
from services.rules.room.state import Match, Room, RoomPhase
from services.rules.room.step import Context, RoomStep
from services.rules.room.timers import RETURNED

ANN, BOB, CID, DAN, EVE = (Player(name) for name in ("ann", "bob", "cid", "dan", "eve"))
PEOPLE = {player.id: player for player in (ANN, BOB, CID, DAN, EVE)}
SERVER, CLOCK = Matchmaker(), Clock()


def secret(*parts: object) -> bytes:
    """32 bytes that are the same in every run."""
    return hashlib.sha256(repr(parts).encode()).digest()


class Stage:
    """One room and what happened in it."""

    def __init__(self, preset: str = "mau-mau-32", people: str = "ann bob cid", salt: object = 0, **more: Any) -> None:
        self.salt = salt
        self.seeds = 0
        self.room: Room | None = None
        self.step: RoomStep | None = None
        seated = tuple(Person(name, name.title()) for name in people.split())
        self.do(SERVER, CreateRoom("room-1", preset, seated, **more))

    @classmethod
    def of(cls, room: Room) -> Stage:
        """A stage that goes on from a room."""
        stage = cls.__new__(cls)
        stage.salt, stage.seeds, stage.room, stage.step = room.id, room.version + 1_000, room, None
        return stage

    @property
    def now(self) -> Room:
        assert self.room is not None
        return self.room

    @property
    def match(self) -> Match:
        assert self.now.match is not None
        return self.now.match

    @property
    def last(self) -> RoomStep:
        assert self.step is not None
        return self.step

    def do(self, actor: Actor, action: RoomAction, **ctx: Any) -> RoomStep:
        """Apply an action that must be accepted, and check what always holds."""
        before, stored = self.room, None if self.room is None else encode(self.room)
        self.seeds += 1
        known = {"match_id": f"match-{self.seeds}", "seed": secret(self.salt, self.seeds), **ctx}
        self.step = apply(before, actor, action, Context(**known))
        self.room = self.step.room
        if before is not None:
            assert encode(before) == stored, "the room that was given has changed"
        assert self.room.version == (0 if before is None else before.version) + 1
        check_room(self.room)
        check_entry(actor, action, self.step)
        return self.step

    def refusal(self, actor: Actor, action: RoomAction, **ctx: Any) -> str:
        """The name of the reason with which an action is refused; the room must stay as it is."""
        stored = encode(self.now)
        try:
            apply(self.now, actor, action, Context(**{"match_id": "next", "seed": secret("next"), **ctx}))
        except (RoomRefusal, engine.IllegalAction) as refused:
            assert encode(self.now) == stored
            return refused.reason.name
        raise AssertionError(f"{type(action).__name__} was accepted")

    def done_already(self, actor: Actor, action: RoomAction, **ctx: Any) -> int:
        """The version that an action without effect is answered with."""
        try:
            apply(self.now, actor, action, Context(**ctx))
        except AlreadyDone as done:
            return done.version
        raise AssertionError(f"{type(action).__name__} was accepted")

    def start(self) -> Stage:
        """Everybody gets ready; the host starts."""
        for _, seat in self.now.people():
            self.do(PEOPLE[seat.player], SetReady(True, seat.player.encode()))
        self.do(PEOPLE[self.now.host], Start())
        return self

    # In a match.

    @property
    def turn(self) -> int:
        """The first seat that the table waits for."""
        return engine.must_act(self.match.state)[0]

    def player(self, seat: int) -> Player:
        """The person on a seat."""
        taken = self.now.seats[seat]
        assert taken is not None
        assert taken.is_person
        return PEOPLE[taken.player]

    def sensible(self, seat: int) -> Action:
        """What a sensible player does there now."""
        return bot_choice(self.now, seat)

    def advance(self, **ctx: Any) -> RoomStep:
        """Whoever the table waits for does something sensible."""
        seat = self.turn
        taken = self.now.seats[seat]
        assert taken is not None
        actor: Actor = Bot(seat) if taken.played_by_bot else self.player(seat)
        return self.do(actor, Act(self.sensible(seat)), **ctx)

    def until(self, holds: Callable[[Room], bool], limit: int = 3_000) -> Stage:
        """Play on, over pauses, until something holds."""
        for _ in range(limit):
            if holds(self.now):
                return self
            if self.now.phase is RoomPhase.PAUSE:
                self.do(CLOCK, Timeout(TimerKind.NEXT_ROUND))
            else:
                self.advance()
        raise AssertionError("it never came to that")

    def until_phase(self, phase: RoomPhase) -> Stage:
        return self.until(lambda room: room.phase is phase)

    def fire(self, kind: TimerKind, **ctx: Any) -> RoomStep:
        """The deadline of this kind comes."""
        reached = due(self.now, kind, ctx.get("absent", frozenset()))
        assert reached is not None, f"no timer {kind.name} runs"
        return self.do(reached.actor, reached.action, **ctx)

    def events(self, kind: type) -> list[Any]:
        """The events of this kind in the last version."""
        return [event for event in self.last.events if isinstance(event, kind)]


def check_room(room: Room) -> None:
    """What holds in every room at every version."""
    stored = encode(room)
    assert encode(decode(stored)) == stored
    people = [seat.player for _, seat in room.taken() if seat.is_person]
    assert len(set(people)) == len(people)
    assert len(room.seats) == room.settings.seats
    if room.phase is not RoomPhase.CLOSED:
        assert room.host in {seat.player for _, seat in room.people()}
    if room.phase is RoomPhase.PLAYING:
        check_match(room)


def check_match(room: Room) -> None:
    """Somebody can always act, and no card is lost or doubled."""
    match = room.match
    assert match is not None
    waited_for = engine.must_act(match.state)
    assert waited_for
    for seat in waited_for:
        assert engine.legal_actions(match.state, seat)
        assert room.seats[seat] is not None
    cards = Counter(engine.cards(match.state))
    fresh = engine.new_match(room.ruleset, match.proof.seats, match.proof.dealer, match.shuffler).state
    assert cards == Counter(engine.cards(fresh))
    assert set(match.began) - {RETURNED} == set(engine.subjects(match.state))


def check_entry(actor: Actor, action: RoomAction, step: RoomStep) -> None:
    """What is logged can be read again."""
    entry = decode_entry(encode_entry(actor, action, step.events))
    assert (entry.actor, entry.action, entry.events) == (actor, action, step.events)

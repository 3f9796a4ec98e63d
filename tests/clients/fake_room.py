"""A room with a tiny game, for tests of the client: each seat has three cards, every card fits, an empty hand wins.

It keeps what the contract promises (versions without holes, request ids that count once, a history with a mark) so that
a client can tell it from a real room only by its dullness."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from maumau.v1 import actions_pb2, cards_pb2, events_pb2, room_pb2, rules_pb2, settings_pb2

Event = events_pb2.Event
Action = actions_pb2.Action
REMEMBERED = 8
"""Accepted request ids that are known again, of each player."""
TOP = cards_pb2.Card(suit=cards_pb2.SUIT_HEARTS, rank=cards_pb2.RANK_NINE)


SUITS = (cards_pb2.SUIT_CLUBS, cards_pb2.SUIT_DIAMONDS, cards_pb2.SUIT_HEARTS, cards_pb2.SUIT_SPADES)
RANKS = (cards_pb2.RANK_SEVEN, cards_pb2.RANK_EIGHT, cards_pb2.RANK_NINE)


def dealt_to(seat: int) -> list[cards_pb2.Card]:
    return [cards_pb2.Card(suit=SUITS[seat % 4], rank=rank) for rank in RANKS]


class Refusal(Exception):  # noqa: N818 - as the server calls it
    def __init__(self, reason: str, **metadata: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.metadata = metadata


@dataclass
class FakeSeat:
    player: str
    name: str
    ready: bool = False
    hand: list[cards_pb2.Card] = field(default_factory=list)
    is_bot: bool = False


@dataclass
class FakeRoom:
    """One room. `log[v - 1]` holds the events of version v."""

    id: str
    seats: int
    host: str
    taken: list[FakeSeat] = field(default_factory=list)
    log: list[list[Event]] = field(default_factory=list)
    mark: bytes = field(default_factory=lambda: os.urandom(4))
    state: room_pb2.RoomState.ValueType = room_pb2.ROOM_STATE_OPEN
    turn: int = 0
    top: cards_pb2.Card = field(default_factory=lambda: TOP)
    pile: int = 0
    match: int = 0
    outcome: Event.MatchEnded | None = None
    proof: events_pb2.DealProof | None = None
    accepted: dict[str, dict[bytes, tuple[int, Action]]] = field(default_factory=dict)

    @property
    def version(self) -> int:
        return len(self.log)

    def seat_of(self, player: str) -> int | None:
        return next((number for number, seat in enumerate(self.taken) if seat.player == player), None)

    def commit(self, *events: Event) -> int:
        self.log.append(list(events))
        return self.version

    # Judging.

    def join(self, player: str, name: str) -> int:
        seat = self.seat_of(player)
        if seat is not None:
            return seat
        if len(self.taken) == self.seats:
            raise Refusal("ROOM_FULL", seats=str(self.seats))
        self.taken.append(FakeSeat(player, name))
        number = len(self.taken) - 1
        self.commit(Event(seat_taken=Event.SeatTaken(seat=number, player_id=player, display_name=name)))
        return number

    def act(self, player: str, request_id: bytes, action: Action) -> int:
        accepted = self.accepted.setdefault(player, {})
        if request_id in accepted:
            version, known = accepted[request_id]
            if known != action:
                raise Refusal("REQUEST_ID_REUSED", version=str(version))
            return version
        seat = self.seat_of(player)
        if seat is None:
            raise Refusal("NOT_SEATED")
        version = self._do(seat, action)
        accepted[request_id] = version, action
        if len(accepted) > REMEMBERED:
            del accepted[next(iter(accepted))]
        return version

    def _do(self, seat: int, action: Action) -> int:
        match action.WhichOneof("action"):
            case "set_ready":
                self.taken[seat].ready = action.set_ready.ready
                return self.commit(Event(ready_changed=Event.ReadyChanged(seat=seat, ready=action.set_ready.ready)))
            case "add_bot":
                name = f"Bot {len(self.taken)}"
                self.taken.append(FakeSeat("", name, ready=True, is_bot=True))
                bot = Event.BotAdded(seat=len(self.taken) - 1, level=action.add_bot.level, display_name=name)
                return self.commit(Event(bot_added=bot))
            case "start":
                return self._start()
            case "play":
                return self._play(seat, action.play.card)
            case "leave_seat":
                return self._leave(seat)
            case name:
                raise Refusal("ACTION_UNKNOWN", action=str(name), expected="play")

    def _start(self) -> int:
        if not all(seat.ready for seat in self.taken):
            raise Refusal("NOT_READY", seats=",".join(str(n) for n, s in enumerate(self.taken) if not s.ready))
        self.state, self.match, self.turn, self.pile = room_pb2.ROOM_STATE_PLAYING, self.match + 1, 0, 0
        self.outcome = None
        for number, seat in enumerate(self.taken):
            seat.ready = False
            seat.hand = dealt_to(number)
        self.proof = events_pb2.DealProof(match_id=f"match-{self.match}", seats=len(self.taken))
        started = Event.RoundStarted(
            round=1, dealer=len(self.taken) - 1, hand_sizes=[len(RANKS)] * len(self.taken), stock_size=10, top=TOP
        )
        return self.commit(
            Event(match_started=Event.MatchStarted(proof=self.proof, number=self.match)),
            Event(round_started=started),
            Event(turn_started=Event.TurnStarted(seat=0)),
        )

    def _leave(self, seat: int) -> int:
        left = self.taken[seat]
        running = self.state == room_pb2.ROOM_STATE_PLAYING
        told = Event.SeatLeft(seat=seat, player_id=left.player, deserted=running)
        left.is_bot, left.player = True, ""
        return self.commit(Event(seat_left=told))

    def let_bots_play(self) -> None:
        while self.state == room_pb2.ROOM_STATE_PLAYING and self.taken[self.turn].is_bot:
            self._play(self.turn, self.taken[self.turn].hand[0])

    def _play(self, seat: int, card: cards_pb2.Card) -> int:
        if self.state != room_pb2.ROOM_STATE_PLAYING:
            raise Refusal("MATCH_NOT_RUNNING")
        if seat != self.turn:
            raise Refusal("NOT_YOUR_TURN", turn=str(self.turn))
        hand = self.taken[seat].hand
        if card not in hand:
            raise Refusal("CARD_NOT_IN_HAND")
        hand.remove(card)
        self.top, self.pile = card, self.pile + 1
        played = Event(cards_played=Event.CardsPlayed(seat=seat, cards=[card], left=len(hand)))
        if not hand:
            return self._finish(seat, played)
        self.turn = (seat + 1) % len(self.taken)
        return self.commit(played, Event(turn_started=Event.TurnStarted(seat=self.turn)))

    def _finish(self, seat: int, played: Event) -> int:
        self.state = room_pb2.ROOM_STATE_FINISHED
        points = [1 if number == seat else 0 for number in range(len(self.taken))]
        places = [1 if number == seat else 2 for number in range(len(self.taken))]
        self.outcome = Event.MatchEnded(
            cause=events_pb2.MATCH_END_CAUSE_SINGLE_ROUND, scores=points, places=places, winners=[seat]
        )
        ended = Event.RoundEnded(
            round=1,
            cause=events_pb2.ROUND_END_CAUSE_HAND_EMPTY,
            winner=seat,
            hands=[events_pb2.Hand(cards=other.hand) for other in self.taken],
            points=points,
            scores=points,
        )
        finished = Event.MatchFinished(match_id=f"match-{self.match}", cause=self.outcome.cause)
        return self.commit(
            played,
            Event(round_ended=ended),
            Event(match_ended=self.outcome),
            Event(match_finished=finished),
        )

    # Telling.

    def legal(self, player: str) -> room_pb2.LegalActions:
        seat = self.seat_of(player)
        if self.state != room_pb2.ROOM_STATE_PLAYING or seat != self.turn:
            return room_pb2.LegalActions()
        hand = self.taken[seat].hand
        return room_pb2.LegalActions(actions=[Action(play=Action.Play(card=card)) for card in hand])

    def update(self, version: int, player: str) -> room_pb2.Update:
        """A version as this player gets it; legal actions with the newest version only, as they are now."""
        update = room_pb2.Update(version=version, resume_token=self.token(version))
        for event in self.log[version - 1]:
            told = update.events.add()
            told.CopyFrom(event)
            seat = self.seat_of(player)
            if told.HasField("round_started"):
                for number in range(len(self.taken)):
                    hand = told.round_started.hands.add()
                    if number == seat:
                        hand.cards.extend(dealt_to(number))
        if version == self.version:
            update.legal.CopyFrom(self.legal(player))
        return update

    def token(self, version: int) -> bytes:
        return b"%d:%s" % (version, self.mark.hex().encode())

    def snapshot(
        self, player: str, reason: room_pb2.SnapshotReason.ValueType = room_pb2.SNAPSHOT_REASON_ASKED
    ) -> room_pb2.Snapshot:
        return room_pb2.Snapshot(room=self.view(player), resume_token=self.token(self.version), reason=reason)

    def view(self, player: str) -> room_pb2.RoomView:
        own = self.seat_of(player)
        view = room_pb2.RoomView(
            room_id=self.id,
            version=self.version,
            state=self.state,
            ruleset=rules_pb2.Ruleset(preset="mau-mau-32", game="mau-mau-32"),
            settings=settings_pb2.RoomSettings(seats=self.seats),
            own_seat=own,
            host_player_id=self.host,
            match_number=self.match,
            match_id=f"match-{self.match}" if self.match else "",
            legal=self.legal(player),
            proof=self.proof,
        )
        for seat in self.taken:
            kind = events_pb2.SEAT_KIND_BOT if seat.is_bot else events_pb2.SEAT_KIND_PERSON
            view.seats.add(kind=kind, player_id=seat.player, display_name=seat.name, ready=seat.ready)
            if seat.is_bot:
                view.seats[-1].bot_level = settings_pb2.BOT_LEVEL_HEURISTIC
        while len(view.seats) < self.seats:
            view.seats.add(kind=events_pb2.SEAT_KIND_FREE)
        if self.match:
            self._add_game(view, own)
        return view

    def _add_game(self, view: room_pb2.RoomView, own: int | None) -> None:
        count = len(self.taken)
        game = view.shedding
        game.phase = room_pb2.PHASE_PLAY if self.outcome is None else room_pb2.PHASE_MATCH_OVER
        game.round, game.dealer, game.turn, game.direction = 1, count - 1, self.turn, 1
        game.top.CopyFrom(self.top)
        game.suit = self.top.suit
        game.hand_sizes.extend(len(seat.hand) for seat in self.taken)
        game.stock_size, game.pile_size = 10, self.pile
        game.calls.extend([cards_pb2.WORD_UNSPECIFIED] * count)
        game.scores.extend([0] * count if self.outcome is None else self.outcome.scores)
        if own is not None:
            game.hand.extend(self.taken[own].hand)
        if self.outcome is not None:
            view.outcome.CopyFrom(self.outcome)
            view.rounds.add(round=1, points=self.outcome.scores)
            game.last_round.CopyFrom(
                room_pb2.LastRound(
                    cause=events_pb2.ROUND_END_CAUSE_HAND_EMPTY,
                    winner=self.outcome.winners[0],
                    points=self.outcome.scores,
                    hands=[events_pb2.Hand(cards=seat.hand) for seat in self.taken],
                )
            )

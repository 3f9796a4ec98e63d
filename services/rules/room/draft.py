"""One action being carried out: the room as it becomes, and what has been told so far."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from services.rules.room.actions import Actor, Player
from services.rules.room.events import HostChanged, RoomEvent
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.state import IN_MATCH, Match, Room, RoomPhase, Seat
from services.rules.room.step import Context, MatchResult


class Draft:
    """The only mutable thing of this package; it lives for one `apply`. `actor`, `ctx` and `version` (the one that
    this action becomes) stay as they are. Asked of the clock: `restart_turn`, so that a bot that stays on turn waits
    anew before its next action, or people get the whole time to be ready, and `credit_ms`."""

    def __init__(self, room: Room, actor: Actor, ctx: Context) -> None:
        self.room = room
        self.actor = actor
        self.ctx = ctx
        self.version = room.version + 1
        self.events: list[RoomEvent] = []
        self.results: list[MatchResult] = []
        self.restart_turn = False
        self.credit_ms = 0

    def tell(self, *events: RoomEvent) -> None:
        self.events.extend(events)

    def change(self, **fields: Any) -> None:
        """Change fields of the room."""
        self.room = replace(self.room, **fields)

    def seat(self, number: int) -> Seat:
        """The taken seat of this number. Raises RoomRefusal (NO_SUCH_SEAT, SEAT_IS_FREE)."""
        self.check_number(number)
        seat = self.room.seats[number]
        if seat is None:
            raise RoomRefusal(RoomReason.SEAT_IS_FREE, seat=number)
        return seat

    def check_number(self, number: int) -> None:
        """Raises RoomRefusal (NO_SUCH_SEAT) for a number that is no seat of the room."""
        if not 0 <= number < len(self.room.seats):
            raise RoomRefusal(RoomReason.NO_SUCH_SEAT, seat=number, expected=f"0 to {len(self.room.seats) - 1}")

    def put(self, number: int, seat: Seat | None) -> None:
        """Let this be the seat of that number."""
        seats = list(self.room.seats)
        seats[number] = seat
        self.change(seats=tuple(seats))

    def change_seat(self, number: int, **fields: Any) -> None:
        """Change fields of a taken seat."""
        self.put(number, replace(self.seat(number), **fields))

    def change_people(self, **fields: Any) -> None:
        """Change fields of every person's seat."""
        self.change(
            seats=tuple(replace(s, **fields) if s is not None and s.level is None else s for s in self.room.seats)
        )

    @property
    def match(self) -> Match:
        """The match that runs or ran last. Raises RoomRefusal (MATCH_NOT_RUNNING) before the first."""
        if self.room.match is None:
            raise RoomRefusal(RoomReason.MATCH_NOT_RUNNING)
        return self.room.match

    def change_match(self, **fields: Any) -> None:
        """Change fields of the match."""
        self.change(match=replace(self.match, **fields))

    def own_seat(self) -> int:
        """The seat of the player who acts. Raises RoomRefusal (NOT_SEATED), also for who left a match on purpose."""
        assert isinstance(self.actor, Player)
        number = self.room.seat_of(self.actor.id)
        if number is None or self.seat(number).left:
            raise RoomRefusal(RoomReason.NOT_SEATED)
        return number

    def pass_host_on(self) -> None:
        """Give the host's rights to whoever sat down first, if the host does not sit here any more."""
        people = self.room.people()
        if any(seat.player == self.room.host for _, seat in people):
            return
        heir = min(people, key=lambda entry: entry[1].joined, default=None)
        player = heir[1].player if heir else ""
        if player != self.room.host:
            self.change(host=player)
            if player:
                self.tell(HostChanged(player=player))

    def ask_anew(self) -> None:
        """Where people have to say in time that they come, to a rematch or to a match that was made, they get all of it
        again."""
        self.restart_turn = self.room.rematch or self.room.phase is RoomPhase.READY_CHECK

    @property
    def in_match(self) -> bool:
        return self.room.phase in IN_MATCH

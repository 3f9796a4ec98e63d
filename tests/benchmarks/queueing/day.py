"""The day through the real matching: tickets, claims, rooms that are asked for, starts and estimates as the processes
do it, on a real Redis, with the time of the day instead of the clock's. Authority and scoring are stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from maumau.internal.v1 import room_control_pb2 as internal
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2, rules_pb2

from services.matchmaking.backfill import Backfill
from services.matchmaking.directory import Directory
from services.matchmaking.line import Line
from services.matchmaking.making import Maker
from services.matchmaking.matching.waiting import Proposal, Waiting
from services.matchmaking.newcomers import Newcomers
from services.matchmaking.quick_play import QuickPlay
from services.matchmaking.starts import Starts
from services.matchmaking.waits import Waits
from services.matchmaking.wishes import duration, encode_about, encode_wish, read_wish, wish_of
from services.runtime.invites import Invites
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.claims import ClaimStore
from services.store.connect import StoreSettings
from services.store.encounters import EncounterStore
from services.store.keys import PlayerId
from services.store.parties import BlockStore
from services.store.players import InviteIndex
from services.store.tickets import Member, Request, Ticket, TicketStore
from tests.benchmarks.queueing.arrivals import Arrival
from tests.benchmarks.queueing.figures import Formed, Outcome

LONGEST_WAIT_MS: Final = 240_000

Propose = Callable[[Iterable[Waiting], int], list[Proposal]]


class Rooms:
    """An authority whose matches begin at once, and scoring that knows everybody's rating."""

    def __init__(self, people: Iterable[Arrival]) -> None:
        self._ratings = {player: mu for each in people for player, mu in zip(each.players, each.ratings, strict=True)}
        self.made: list[internal.CreateRoomRequest] = []

    async def ratings(self, family: str, players: Sequence[str]) -> Mapping[str, float]:
        return {player: self._ratings[player] for player in players}

    async def create_room(self, request: internal.CreateRoomRequest) -> internal.CreateRoomResponse:
        self.made.append(request)
        return internal.CreateRoomResponse(seats=[person.seat for person in request.people])

    async def seat_player(self, request: internal.SeatPlayerRequest) -> internal.SeatPlayerResponse:
        raise AssertionError("no room waits for people on this day")

    async def room_summary(self, room_id: str) -> internal.GetRoomSummaryResponse:
        playing = room_pb2.RoomSummary(state=room_pb2.ROOM_STATE_PLAYING)
        return internal.GetRoomSummaryResponse(room=playing, match_began=True)

    async def close_room(self, room_id: str, why: str) -> None:
        raise AssertionError("every match begins on this day")


class Day:
    """One day on one Redis."""

    def __init__(self, store: Store, keys_dir: Path, coming: Sequence[Arrival], round_ms: int) -> None:
        self._now_ms = 0
        self._round_ms = round_ms
        self._coming = coming
        self._rooms = Rooms(coming)
        pipelines = store.pipelines
        encounters = EncounterStore(pipelines, lambda: self._now_ms)
        blocks = BlockStore(pipelines, 1, 1)
        self._tickets = TicketStore(pipelines, 10 * LONGEST_WAIT_MS, lambda: self._now_ms)
        claims = ClaimStore(pipelines, 10 * LONGEST_WAIT_MS, 10_000, lambda: self._now_ms)
        self._newcomers = Newcomers(self._rooms, blocks, encounters)
        self._waits = Waits(encounters, lambda: self._now_ms / 1000)
        invites = Invites(Settings(keys_dir=keys_dir))
        maker = Maker(claims, self._rooms, InviteIndex(pipelines), invites, encounters)
        starts = Starts(claims, self._rooms, invites, encounters)
        backfill = Backfill(Directory(store.rooms), self._rooms, maker, blocks)
        self._line = Line(self._tickets, 10 * LONGEST_WAIT_MS)
        self._quick_play = QuickPlay(claims, self._line, maker, starts, backfill)
        self._waiting: dict[str, tuple[Ticket, Arrival, int | None]] = {}
        self._held: dict[str, str] = {}
        self.outcome = Outcome()

    async def run(self) -> Outcome:
        """The whole day."""
        number = 0
        while number < len(self._coming) or self._waiting:
            now = self._now_ms
            number = await self.admit(now, number)
            await asyncio.gather(*(self._give_up(each) for each in self._weary()))
            await self.match()
            if number == len(self._coming) and now > self._coming[-1].at_ms + LONGEST_WAIT_MS:
                break
            if not self._waiting and number < len(self._coming):
                self._now_ms = max(now, self._coming[number].at_ms - self._round_ms)
            self._now_ms += self._round_ms
        self.outcome.left_behind = len(self._waiting)
        return self.outcome

    async def admit(self, now_ms: int, number: int) -> int:
        """It is this late: opens the tickets from `number` on that have come by now; the number of the next one."""
        self._now_ms = now_ms
        while number < len(self._coming) and self._coming[number].at_ms <= now_ms:
            await self._open(number, self._coming[number])
            number += 1
        return number

    async def match(self) -> None:
        """One round of one process."""
        await self._quick_play.round()
        self._settle()

    async def _open(self, number: int, arrival: Arrival) -> None:
        """What `TicketDesk.open` does, at the moment of the arrival."""
        round_ms, self._now_ms = self._now_ms, arrival.at_ms
        members = tuple(Member(PlayerId(player), player) for player in arrival.players)
        request = pb.TicketRequest(
            ruleset=rules_pb2.Ruleset(preset=arrival.preset),
            seats=arrival.seats,
            region=arrival.region,
            pace=pb.Pace.ValueType(arrival.pace),
            patience=duration(arrival.patience_ms),
        )
        wish = read_wish(request, 0, len(members))
        about = await self._newcomers.about(wish.game, members)
        asked = Request(f"t{number:06}", members, encode_wish(wish), encode_about(about), wish.digest(members))
        over = {self._held[player] for player in arrival.players if player in self._held}
        ticket = (await self._tickets.open(asked, over=over)).ticket
        estimate = await self._waits.of_newcomer(wish_of(ticket).table, arrival.patience_ms)
        self._waiting[ticket.id] = ticket, arrival, estimate
        self._held.update(dict.fromkeys(arrival.players, ticket.id))
        self._now_ms = round_ms

    def _weary(self) -> list[Ticket]:
        now = self._now_ms
        return [
            ticket
            for ticket, arrival, _ in self._waiting.values()
            if arrival.gives_up_ms and now - arrival.at_ms >= arrival.gives_up_ms
        ]

    async def _give_up(self, ticket: Ticket) -> None:
        await self._tickets.cancel(ticket)
        del self._waiting[ticket.id]
        self.outcome.given_up += 1

    def _settle(self) -> None:
        """Counts the matches of this round."""
        for made in self._rooms.made:
            tickets = sorted({self._held[person.player_id] for person in made.people})
            entries = [self._waiting.pop(ticket) for ticket in tickets]
            waits = tuple(self._now_ms - arrival.at_ms for _, arrival, _ in entries)
            ratings = tuple(rating for _, arrival, _ in entries for rating in arrival.ratings)
            self.outcome.formed.append(Formed(ratings, waits, made.bots))
            for wait, (_, arrival, estimate) in zip(waits, entries, strict=True):
                self.outcome.overdue_ms = max(self.outcome.overdue_ms, wait - arrival.patience_ms)
                if estimate is not None:
                    self.outcome.promised.append((estimate, wait))
        self._rooms.made.clear()


async def real_day(url: str, prefix: str, keys_dir: Path, coming: Sequence[Arrival], round_ms: int) -> Outcome:
    """The day through the real code on this Redis."""
    async with Store(StoreSettings(url=url, prefix=prefix)) as store:
        return await Day(store, keys_dir, coming, round_ms).run()


def plain_day(coming: Sequence[Arrival], propose: Propose, round_ms: int) -> Outcome:
    """The same day in memory, by another way of matching."""
    outcome, waiting, number, now = Outcome(), dict[str, tuple[Waiting, Arrival]](), 0, 0
    while number < len(coming) or waiting:
        while number < len(coming) and coming[number].at_ms <= now:
            waiting[f"t{number:06}"] = _plain(f"t{number:06}", coming[number]), coming[number]
            number += 1
        for weary in [
            ticket for ticket, (_, each) in waiting.items() if each.gives_up_ms and now >= each.at_ms + each.gives_up_ms
        ]:
            del waiting[weary]
            outcome.given_up += 1
        for proposal in propose([ticket for ticket, _ in waiting.values()], now):
            waits = tuple(now - ticket.created_ms for ticket in proposal.tickets)
            ratings = tuple(rating for ticket in proposal.tickets for rating in ticket.ratings)
            outcome.formed.append(Formed(ratings, waits, proposal.bots))
            for ticket in proposal.tickets:
                outcome.overdue_ms = max(outcome.overdue_ms, -ticket.patience_left(now))
                del waiting[ticket.ticket]
        now += round_ms
    return outcome


def _plain(ticket: str, arrival: Arrival) -> Waiting:
    table = f"{arrival.preset} {arrival.seats}".encode()
    return Waiting(
        *(ticket, arrival.players, table, arrival.seats, arrival.region),
        *(arrival.at_ms, arrival.patience_ms, arrival.ratings, arrival.pace),
    )

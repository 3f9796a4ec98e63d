"""Tickets over real sockets and a real store: one a player, matched once, whatever dies in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2, rules_pb2
from maumau.v1.matchmaking_pb2_grpc import MatchmakingServiceStub

from services.matchmaking import tickets as ticket_desk
from services.matchmaking.starts import Starts
from services.matchmaking.tickets import TicketDesk
from services.rules.registry import GAMES
from services.rules.ruleset import make_ruleset
from services.runtime.errors import Refused
from services.runtime.invites import Invites
from services.runtime.stores import open_store
from services.store.claims import Claim, Claimed, ClaimStore
from services.store.keys import PlayerId, RoomId
from services.store.tickets import Member, Request, Ticket, TicketState, TicketStore
from tests.e2e.calls import reason_of
from tests.services.rig import Player, Rig, refused, refused_stream, sign_in

PRESET = next(preset for game in GAMES.values() for preset in game.presets if make_ruleset(preset).min_seats == 2)
WAITING, CLAIMED, ASSIGNED = pb.TICKET_STATE_WAITING, pb.TICKET_STATE_CLAIMED, pb.TICKET_STATE_ASSIGNED
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


def ask(seats: int = 2, patience_seconds: int = 600, **fields: Any) -> pb.CreateTicketRequest:
    return pb.CreateTicketRequest(
        request=pb.TicketRequest(
            ruleset=rules_pb2.Ruleset(preset=PRESET), seats=seats, patience=Duration(seconds=patience_seconds), **fields
        )
    )


class Desk:
    """Matchmaking as one player sees it."""

    def __init__(self, channel: grpc.aio.Channel, player: Player) -> None:
        self.stub: Any = MatchmakingServiceStub(channel)
        self.player = player

    async def open(self, request: pb.CreateTicketRequest | None = None) -> pb.Ticket:
        answer = await self.stub.CreateTicket(request or ask(), metadata=self.player.metadata)
        return answer.ticket  # type: ignore[no-any-return]

    async def get(self, ticket: str, wait_ms: int = 0, known: int = 0) -> pb.Ticket:
        request = pb.GetTicketRequest(ticket_id=ticket, wait_milliseconds=wait_ms, known_state=known)  # type: ignore[arg-type]
        return (await self.stub.GetTicket(request, metadata=self.player.metadata)).ticket  # type: ignore[no-any-return]

    def cancel(self, ticket: str) -> Any:
        return self.stub.CancelTicket(pb.CancelTicketRequest(ticket_id=ticket), metadata=self.player.metadata)

    def watch(self, ticket: str) -> Any:
        return self.stub.WatchTicket(pb.WatchTicketRequest(ticket_id=ticket), metadata=self.player.metadata)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await condition():  # noqa: ASYNC110 - what is waited for is in the store
            await asyncio.sleep(0.02)


async def desks(rig: Rig, count: int, processes: int = 1) -> list[Desk]:
    channels = [await rig.matchmaking() for _ in range(processes)]
    return [Desk(channels[n % processes], await sign_in(channels[0], f"P{n:02}")) for n in range(count)]


async def test_two_who_want_the_same_meet_in_one_room(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2, processes=2)
    first = await ana.open()
    assert (first.state, list(first.player_ids)) == (WAITING, [ana.player.id])
    second = await ben.open()
    seen = [await ana.get(first.ticket_id, 20_000), await ben.get(second.ticket_id, 20_000)]
    if CLAIMED in [ticket.state for ticket in seen]:
        seen = [await ana.get(first.ticket_id, 20_000, CLAIMED), await ben.get(second.ticket_id, 20_000, CLAIMED)]
    assert [ticket.state for ticket in seen] == [ASSIGNED, ASSIGNED]
    assert seen[0].assignment.room_id == seen[1].assignment.room_id
    asked = rig.rooms.rooms[seen[0].assignment.room_id]
    assert (asked.quick_play, asked.bots, asked.settings.seats) == (True, 0, 2)
    assert [person.player_id for person in asked.people] == [ana.player.id, ben.player.id]
    assert [list(ticket.assignment.seats) for ticket in seen] == [[0], [1]]


async def test_a_watch_tells_every_state_and_ends_with_the_room(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    ticket = await ana.open()
    states = list[int]()

    async def follow() -> None:
        async for message in ana.watch(ticket.ticket_id):
            states.append(message.ticket.state)

    watching = asyncio.create_task(follow())
    await until(lambda: _true(states == [WAITING]))
    await ben.open()
    await asyncio.wait_for(watching, 20)
    assert states in ([WAITING, ASSIGNED], [WAITING, CLAIMED, ASSIGNED])


async def test_a_process_that_stops_sends_its_watchers_to_another(rig: Rig) -> None:
    ana, same = await desks(rig, 2, processes=2)
    same.player = ana.player
    ticket = await ana.open()
    watching = ana.watch(ticket.ticket_id)
    assert (await watching.read()).ticket.state == WAITING
    rig.runtimes[0].stop()
    code, reason, _ = await refused_stream(watching)
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "STOPPING")
    assert (await same.watch(ticket.ticket_id).read()).ticket.state == WAITING


async def _true(value: bool) -> bool:
    return value


async def test_out_of_patience_bots_take_the_other_seats(rig: Rig) -> None:
    await rig.authority()
    (ana,) = await desks(rig, 1)
    ticket = await ana.open(ask(seats=2, patience_seconds=0))
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    assert (len(made.people), made.bots) == (1, 1)


async def _is(desk: Desk, ticket: str, state: int) -> bool:
    return (await desk.get(ticket)).state == state


async def test_five_requests_at_once_are_one_ticket_and_no_match_with_oneself(rig: Rig) -> None:
    await rig.authority()
    ana, again, ben = (await desks(rig, 3, processes=2))[:3]
    again.player = ana.player
    tickets = await asyncio.gather(*(desk.open() for desk in (ana, again, ana, again, ana)))
    assert len({ticket.ticket_id for ticket in tickets}) == 1
    assert not rig.rooms.rooms
    await ben.open()
    await until(lambda: _is(ana, tickets[0].ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    assert {person.player_id for person in made.people} == {ana.player.id, ben.player.id}


async def test_of_many_wishes_at_once_each_is_answered_and_one_waits(rig: Rig) -> None:
    (ana,) = await desks(rig, 1)
    tickets = await asyncio.gather(*(ana.open(ask(region=f"region {number}")) for number in range(16)))
    states = [(await ana.get(ticket.ticket_id)).state for ticket in tickets]
    assert sorted(states) == [WAITING] + [pb.TICKET_STATE_REPLACED] * 15


async def test_another_wish_replaces_the_ticket(rig: Rig) -> None:
    await rig.authority()
    (ana,) = await desks(rig, 1)
    first = await ana.open()
    second = await ana.open(ask(region="eu"))
    assert second.ticket_id != first.ticket_id
    assert (await ana.get(first.ticket_id)).state == pb.TICKET_STATE_REPLACED
    assert (await ana.get(second.ticket_id)).state == WAITING


async def test_twenty_people_at_two_processes_make_ten_rooms_and_nobody_sits_twice(rig: Rig) -> None:
    await rig.authority()
    people = await desks(rig, 20, processes=2)
    tickets = await asyncio.gather(*(desk.open() for desk in people))
    for desk, ticket in zip(people, tickets, strict=True):
        await until(lambda desk=desk, ticket=ticket: _is(desk, ticket.ticket_id, ASSIGNED))  # type: ignore[misc]
    seated = [person.player_id for room in rig.rooms.rooms.values() for person in room.people]
    assert len(rig.rooms.rooms) == rig.rooms.created == 10
    assert sorted(seated) == sorted(desk.player.id for desk in people)


async def test_a_cancelled_ticket_is_in_no_match(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    ticket = await ana.open()
    cancelled = await ana.cancel(ticket.ticket_id)
    assert cancelled.ticket.state == pb.TICKET_STATE_CANCELLED
    other = await ben.open()
    third = await ana.open(ask(region="br"))
    assert third.ticket_id != ticket.ticket_id
    await until(lambda: _is(ben, other.ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    assert {person.player_id for person in made.people} == {ana.player.id, ben.player.id}
    assert (await ana.get(ticket.ticket_id)).state == pb.TICKET_STATE_CANCELLED


async def test_who_is_assigned_can_neither_cancel_nor_queue_until_the_match_is_over(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    ticket = await ana.open()
    await ben.open()
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    (room,) = rig.rooms.rooms
    store = open_store(rig.settings)
    await store.rooms.add_player_room(PlayerId(ana.player.id), RoomId(room))
    for state in (room_pb2.ROOM_STATE_READY_CHECK, room_pb2.ROOM_STATE_PLAYING, room_pb2.ROOM_STATE_PAUSE):
        rig.rooms.state = state
        expected = (FAILED_PRECONDITION, "ALREADY_IN_MATCH", {"room_id": room})
        assert await refused(ana.cancel(ticket.ticket_id)) == expected
        for request in (ask(), ask(region="eu")):
            assert await refused(ana.stub.CreateTicket(request, metadata=ana.player.metadata)) == expected
    rig.rooms.state = room_pb2.ROOM_STATE_FINISHED
    assert (await ana.open(ask(region="eu"))).ticket_id != ticket.ticket_id
    await store.aclose()


async def test_who_left_the_match_may_queue_again(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    ticket = await ana.open()
    await ben.open()
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    rig.rooms.state = room_pb2.ROOM_STATE_PLAYING
    assert (await ana.open()).ticket_id != ticket.ticket_id


async def test_a_ticket_is_its_players_alone(rig: Rig) -> None:
    ana, ben = await desks(rig, 2)
    ticket = await ana.open()
    for call in (
        ben.stub.GetTicket(pb.GetTicketRequest(ticket_id=ticket.ticket_id), metadata=ben.player.metadata),
        ben.cancel(ticket.ticket_id),
        ben.stub.GetTicket(pb.GetTicketRequest(ticket_id="x" * 5_000), metadata=ben.player.metadata),
    ):
        assert (await refused(call))[:2] == (grpc.StatusCode.NOT_FOUND, "TICKET_NOT_FOUND")
    assert (await refused_stream(ben.watch(ticket.ticket_id)))[1] == "TICKET_NOT_FOUND"
    assert (await ana.get(ticket.ticket_id)).state == WAITING


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (pb.CreateTicketRequest(), "INVALID_FIELD", "request"),
        (pb.CreateTicketRequest(request=pb.TicketRequest()), "INVALID_FIELD", "request.ruleset"),
        (ask(seats=1), "INVALID_FIELD", "request.seats"),
        (ask(seats=99), "INVALID_FIELD", "request.seats"),
        (ask(patience_seconds=601), "INVALID_FIELD", "request.patience"),
        (ask(patience_seconds=-1), "INVALID_FIELD", "request.patience"),
        (ask(region="x" * 33), "INVALID_FIELD", "request.region"),
        (ask(pace=77), "INVALID_FIELD", "request.pace"),
    ],
)
async def test_a_wish_that_cannot_be_is_refused_by_field(
    rig: Rig, request_: pb.CreateTicketRequest, reason: str, field: str
) -> None:
    (ana,) = await desks(rig, 1)
    call = ana.stub.CreateTicket(request_, metadata=ana.player.metadata)
    code, found, metadata = await refused(call)
    assert (code, found, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, reason, field)


async def test_the_ticket_that_one_holds_is_followed_to_its_end_without_its_id(rig: Rig) -> None:
    (ana,) = await desks(rig, 1)
    for end in ("polled", "watched"):
        ticket = await ana.open(ask(region=end))
        following = asyncio.create_task(ana.get("", 20_000) if end == "polled" else _last(ana.watch("")))
        await until(lambda: _true(True))
        assert (await ana.cancel("")).ticket.state == pb.TICKET_STATE_CANCELLED
        ended = await asyncio.wait_for(following, 20)
        assert (ended.ticket_id, ended.state) == (ticket.ticket_id, pb.TICKET_STATE_CANCELLED)


async def _last(watching: Any) -> pb.Ticket:
    tickets: list[pb.Ticket] = [message.ticket async for message in watching]
    return tickets[-1]


# What happens behind the tickets, where a process dies or a lease ends.


class Queue:
    """The store of tickets as a process of its own sees it."""

    def __init__(self, rig: Rig, alive_ms: int = 20_000, lease_ms: int = 10_000) -> None:
        self.store = open_store(rig.settings)
        self.tickets = TicketStore(self.store.pipelines, alive_ms)
        self.claims = ClaimStore(self.store.pipelines, alive_ms, lease_ms)

    async def open(self, player: str) -> Ticket:
        members = (Member(PlayerId(player), player),)
        opened = await self.tickets.open(Request(f"t_{player}", members, b"wish", b"about", b"digest"))
        return opened.ticket

    def claim_of(self, match: str, *tickets: Ticket) -> Claim:
        return Claim(
            match,
            tuple(Claimed(ticket.id, tuple(member.player for member in ticket.players)) for ticket in tickets),
            b"plan",
        )

    async def state(self, ticket: Ticket) -> TicketState:
        seen = await self.tickets.see(ticket.id, ticket.players[0].player)
        assert seen is not None
        return seen.state


async def test_of_two_claims_on_one_ticket_one_gets_it_and_the_other_takes_nothing(rig: Rig) -> None:
    queue = Queue(rig)
    a, b, c = [await queue.open(name) for name in ("a", "b", "c")]
    claims = await asyncio.gather(
        queue.claims.claim(queue.claim_of("q_1", a, b)), queue.claims.claim(queue.claim_of("q_2", b, c))
    )
    assert sorted(claim is None for claim in claims) == [False, True]
    free = [ticket.id for ticket in await queue.tickets.waiting(10)]
    assert free == (["t_c"] if claims[0] else ["t_a"])
    await queue.store.aclose()


async def test_a_claim_that_nobody_finished_is_taken_over_by_one_and_keeps_the_waiting_time(rig: Rig) -> None:
    queue, others = Queue(rig, lease_ms=50), [Queue(rig) for _ in range(3)]
    a = await queue.open("a")
    claim = await queue.claims.claim(queue.claim_of("q_1", a))
    assert claim is not None
    found = list[Claim]()

    async def due() -> bool:
        for claims in await asyncio.gather(*(other.claims.due() for other in others)):
            found.extend(claims)
        return bool(found)

    await until(due)
    assert [(c.match, c.tickets, c.plan) for c in found] == [("q_1", claim.tickets, b"plan")]
    assert not await queue.claims.put_back(claim), "the lease is another's by now"
    assert await others[0].claims.put_back(found[0])
    (waiting,) = await queue.tickets.waiting(10)
    assert (waiting.id, waiting.created_ms) == (a.id, a.created_ms)
    for each in (queue, *others):
        await each.store.aclose()


async def test_a_ticket_cancelled_while_it_is_matched_is_cancelled_when_it_is_put_back(rig: Rig) -> None:
    queue = Queue(rig)
    a, b = await queue.open("a"), await queue.open("b")
    claim = await queue.claims.claim(queue.claim_of("q_1", a, b))
    assert claim is not None
    assert await queue.tickets.cancel(a) is TicketState.CLAIMED
    assert await queue.claims.put_back(claim)
    assert (await queue.state(a), await queue.state(b)) == (TicketState.CANCELLED, TicketState.WAITING)
    await queue.store.aclose()


async def cancelled_while_matched(queue: Queue) -> tuple[Ticket, Claim]:
    """A ticket whose player cancelled it too late, and the claim on it."""
    ticket = await queue.open("a")
    claim = await queue.claims.claim(queue.claim_of("q_1", ticket))
    assert claim is not None
    assert await queue.tickets.cancel(ticket) is TicketState.CLAIMED
    return ticket, claim


async def test_who_could_not_cancel_and_waits_again_is_not_cancelled_later(rig: Rig) -> None:
    queue = Queue(rig)
    a, first = await cancelled_while_matched(queue)
    assert await queue.claims.assign(first, RoomId("r_1"), [[0]], start_ms=1)
    assert await queue.claims.give_back(first, [PlayerId("a")]) == 1
    second = await queue.claims.claim(queue.claim_of("q_2", a))
    assert second is not None
    assert await queue.claims.put_back(second)
    assert await queue.state(a) is TicketState.WAITING
    await queue.store.aclose()


async def test_who_asks_again_while_being_matched_takes_the_cancellation_back(rig: Rig) -> None:
    queue = Queue(rig)
    a, claim = await cancelled_while_matched(queue)
    assert (await queue.open("a")).state is TicketState.CLAIMED
    assert await queue.claims.put_back(claim)
    assert await queue.state(a) is TicketState.WAITING
    await queue.store.aclose()


async def test_the_same_wish_after_an_outage_is_the_same_ticket_with_its_waiting_time(rig: Rig) -> None:
    queue, now = Queue(rig), 1_000_000
    queue.tickets = TicketStore(queue.store.pipelines, 20_000, lambda: now)
    first = await queue.open("a")
    now += 30_000
    again = await queue.open("a")
    assert (again.created_ms, again.seen_ms) == (first.created_ms, now)
    await queue.store.aclose()


async def test_a_ticket_that_nobody_sees_any_more_ends_and_one_that_is_seen_stays(rig: Rig) -> None:
    queue = Queue(rig, alive_ms=300)
    a, b = await queue.open("a"), await queue.open("b")

    async def expired() -> bool:
        await queue.state(b)
        return await queue.tickets.expire(a) is TicketState.EXPIRED

    await until(expired)
    assert await queue.tickets.expire(b) is TicketState.WAITING
    assert await queue.claims.claim(queue.claim_of("q_1", a, b)) is None
    await queue.store.aclose()


async def test_a_dead_process_leaves_a_claim_that_another_makes_into_the_one_room(rig: Rig) -> None:
    """The claim is made as a process does that dies before, or after, the authority made the room."""
    await rig.authority()
    rig.settings = rig.settings.model_copy(update={"claim_seconds": 0.2})
    (ana,) = await desks(rig, 1)
    rig.rooms.refuse = Refused("STORE_UNAVAILABLE")
    ticket = await ana.open(ask(patience_seconds=0))
    await until(lambda: _is(ana, ticket.ticket_id, CLAIMED))
    match = await _match_of(rig, ana, ticket)
    rig.rooms.refuse = None
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    assert list(rig.rooms.rooms) == [Invites(rig.settings).matched_room_id(match)]
    assert rig.rooms.created == 1


async def _match_of(rig: Rig, desk: Desk, ticket: pb.Ticket) -> str:
    queue = Queue(rig)
    seen = await queue.tickets.see(ticket.ticket_id, PlayerId(desk.player.id))
    await queue.store.aclose()
    assert seen is not None
    return seen.match


async def test_a_match_that_the_authority_refuses_lets_its_tickets_wait_on(rig: Rig) -> None:
    await rig.authority()
    rig.rooms.refuse = Refused("SERVER_FULL")
    (ana,) = await desks(rig, 1)
    ticket = await ana.open(ask(patience_seconds=0))
    await until(lambda: _true(len(rig.rooms.asked) >= 2))
    rig.rooms.refuse = None
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    assert (await ana.get(ticket.ticket_id)).created == ticket.created


async def test_no_ticket_is_opened_while_redis_is_nearly_full(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"redis_full_percent": 1})
    commands = (await rig.store()).pipelines.writes
    (ana,) = await desks(rig, 1)
    await commands.command("CONFIG", "SET", "maxmemory", "60mb")
    try:
        refusals = set[str]()

        async def is_refused() -> bool:
            try:
                await ana.open(ask(region=str(len(refusals))))
            except grpc.aio.AioRpcError as error:
                refusals.add(reason_of(error)[0])
            return bool(refusals)

        await until(is_refused)
        assert refusals == {"SERVER_FULL"}
    finally:
        await commands.command("CONFIG", "SET", "maxmemory", "0")


async def test_where_many_follow_tickets_each_is_looked_at_less_often(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticket_desk, "AT_PACE", 2)
    pauses, pause = list[float](), TicketDesk._pause

    async def noted(desk: TicketDesk, seconds: float) -> None:
        pauses.append(seconds)
        await pause(desk, seconds)

    monkeypatch.setattr(TicketDesk, "_pause", noted)
    (ana,) = await desks(rig, 1)
    ticket = await ana.open()
    first = ana.watch(ticket.ticket_id)
    await until(lambda: _true(ticket_desk.LOOK_SECONDS in pauses))
    others = [ana.watch(ticket.ticket_id) for _ in range(7)]
    await until(lambda: _true(4 * ticket_desk.LOOK_SECONDS in pauses))
    for call in others:
        call.cancel()
    pauses.clear()
    await until(lambda: _true(ticket_desk.LOOK_SECONDS in pauses))
    first.cancel()


async def test_a_round_that_fails_does_not_end_the_process(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """For instance, an authority that has another secret already refuses this process's calls."""
    await rig.authority()
    failed, look = list[str](), Starts.look

    async def fail_first(starts: Starts) -> None:
        if not failed:
            failed.append("once")
            raise RuntimeError("game-authority refused this service itself: BAD_TOKEN")
        await look(starts)

    monkeypatch.setattr(Starts, "look", fail_first)
    (ana,) = await desks(rig, 1)
    await until(lambda: _true(bool(failed)))
    ticket = await ana.open(ask(patience_seconds=0))
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))


async def test_who_waits_for_long_hears_of_the_ticket_although_nothing_is_new(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Envoy ends a stream that was silent for a minute."""
    monkeypatch.setattr(ticket_desk, "SILENT_SECONDS", 0.3)
    (ana,) = await desks(rig, 1)
    watching = ana.watch((await ana.open()).ticket_id)
    told = [(await watching.read()).ticket for _ in range(3)]
    assert told == [told[0]] * 3
    watching.cancel()

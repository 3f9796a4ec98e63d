"""Rooms come to an end by themselves, once, and leave nothing behind."""

from __future__ import annotations

import asyncio

import maumau
import redis
from maumau.v1 import events_pb2, room_pb2, settings_pb2

from services.local.stack import Stack
from services.rules.events import MatchEnded
from services.rules.room.journal import decode_entry
from services.store.assembly import Store
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, counted, on_turn, play, refused, sees, take_a_turn_each, together
from tests.faults.checker import read_log

CLOSED = room_pb2.ROOM_STATE_CLOSED


async def is_closed(client: maumau.Client, room: str) -> bool:
    """Whether the room is over for this member; a closed one can be looked at for a while."""
    return (await client.get_room(room)).state == CLOSED


def keys_of(stack: Stack, room: str) -> dict[str, int]:
    """Every key of the room, and in how many ms it will be gone (-1: never)."""
    with redis.Redis.from_url(stack.redis_url) as raw:
        found = list(raw.scan_iter(match=f"*{room}*", count=1000))
        return {key.decode(): int(raw.pttl(key)) for key in found}


def mentions(stack: Stack, room: str) -> list[str]:
    """Deadlines and lists that still name the room."""
    with redis.Redis.from_url(stack.redis_url) as raw:
        deadlines = [key for key in raw.scan_iter(match="*:deadlines", count=1000) if raw.zscore(key, room) is not None]
        lists = [key for key in raw.scan_iter(match="*:open", count=1000) if raw.hexists(key, room)]
        return [key.decode() for key in deadlines + lists]


async def test_a_room_in_which_one_waits_is_closed_and_forgotten(fleeting: Stack, fleeting_hall: Lounge) -> None:
    """Entry 89, first half, and 92."""
    ana, bo = await fleeting_hall.clients("Ana", "Bo")
    host = await fleeting_hall.create(ana, visibility=settings_pb2.VISIBILITY_PUBLIC)
    code = host.view.invite_code
    await host.close()
    await eventually(lambda: is_closed(ana, host.id), "the idle room is closed")
    assert (await refused(bo.join_room(invite_code=code))).reason == "ROOM_CLOSED"
    assert [room async for room in ana.my_rooms()] == []
    assert mentions(fleeting, host.id) == []
    assert all(left > 0 for left in keys_of(fleeting, host.id).values())
    assert await fleeting_hall.create(ana)


async def test_a_match_that_all_have_left_alone_is_ended_and_its_room_closed(
    fleeting: Stack, fleeting_hall: Lounge
) -> None:
    """Entry 89, second half."""
    ana = await fleeting_hall.client("Ana")
    host = await fleeting_hall.create(ana, seats=2, options={"match.target": 10_000})
    await host.add_bot()
    await host.ready()
    await host.start()
    await sees(host, lambda view: view.HasField("shedding") and view.shedding.turn == view.own_seat)
    await take_a_turn_each([host])
    await host.close()

    async def is_forgotten() -> bool:
        return [room async for room in ana.my_rooms()] == []  # to look at the room would be to come back

    await eventually(is_forgotten, "the abandoned room is closed")
    view = await ana.get_room(host.id)
    assert (view.outcome.cause, view.unrated) == (events_pb2.MATCH_END_CAUSE_ABORTED, True)
    assert mentions(fleeting, host.id) == []


async def test_finished_rooms_do_not_pile_up(fleeting: Stack, fleeting_hall: Lounge) -> None:
    """Entry 92."""
    matches = [fleeting_hall.match(f"F{number}a", f"F{number}b") for number in range(6)]
    tables = await asyncio.gather(*matches)
    await asyncio.gather(*(play(sides) for sides in tables))
    for sides in tables:
        await eventually(lambda: all(side.over for side in sides), "the finished room is closed")  # noqa: B023 - awaited
        assert mentions(fleeting, sides[0].id) == []
        assert all(left > 0 for left in keys_of(fleeting, sides[0].id).values())


async def test_two_who_leave_at_once_leave_one_winner_and_one_result(hall: Lounge, store: Store) -> None:
    """Entry 102."""
    ana, bo, cid = await hall.match("Ana", "Bo", "Cid")
    await asyncio.gather(bo.leave(), cid.leave())
    view = await sees(ana, lambda view: view.HasField("outcome"))
    assert (view.outcome.cause, list(view.outcome.winners)) == (events_pb2.MATCH_END_CAUSE_DESERTED, [0])
    await ana.leave()
    await eventually(lambda: ana.over, "the room is closed")
    log = await read_log(store.rooms, ana.id)
    events = [event for entry in log for event in decode_entry(entry.payload).events]
    assert sum(isinstance(event, MatchEnded) for event in events) == 1


async def test_bots_do_not_play_on_alone(hall: Lounge, store: Store) -> None:
    """Entries 94 and 103."""
    ana, eve = await hall.clients("Ana", "Eve")
    host = await hall.create(ana, seats=3)
    for _ in range(2):
        await host.add_bot()
    await host.ready()
    await host.start()
    match_id = (await sees(host, lambda view: view.HasField("shedding"))).match_id
    left = await host.leave()
    found = await counted(eve, match_id)
    assert (found.cause, found.unrated) == (events_pb2.MATCH_END_CAUSE_ABORTED, True)
    assert (await read_log(store.rooms, host.id))[-1].version == left


async def test_an_ended_match_takes_no_action(hall: Lounge) -> None:
    """Entry 94."""
    sides = await hall.match("Ana", "Bo", bots=1)
    for side in sides:  # nothing comes any more once a person is on turn
        await sees(side, lambda view: view.shedding.turn != 2 and view.state == room_pb2.ROOM_STATE_PLAYING)
    await together(sides)
    offered = (await sees(on_turn(sides), lambda view: view.legal.actions)).legal.actions
    await play(sides)
    version = sides[0].version
    others = [maumau.actions.start(), maumau.actions.ready_for_round(), maumau.actions.set_ready(True)]
    for action in [*offered, *others, maumau.actions.add_bot(settings_pb2.BOT_LEVEL_RANDOM)]:
        await refused(sides[0].act(action))
    assert sides[0].version == version

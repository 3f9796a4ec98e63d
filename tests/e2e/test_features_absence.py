"""Who is there and who is not: bots play for those who are gone, a match waits for its people."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import grpc
import maumau
import pytest
import redis
from maumau.v1 import authority_pb2, room_pb2, settings_pb2

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId, partition_of
from tests.e2e.calls import LIMIT_SECONDS, channel_to, next_message, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, lounge, on_turn, sees, start, take_a_turn_each, together
from tests.e2e.stacks import complaints, options
from tests.store.making import silence

Watching = grpc.aio.UnaryStreamCall[authority_pb2.WatchRequest, authority_pb2.WatchResponse]

SOON = {
    "MAUMAU_BOT_MOVE_MIN_SECONDS": "0.1",
    "MAUMAU_BOT_MOVE_MAX_SECONDS": "0.1",
    "MAUMAU_AWAY_GRACE_SECONDS": "0.3",
    "MAUMAU_RECONNECT_GRACE_SECONDS": "0.1",
    "MAUMAU_BOOKMARK_SECONDS": "0.2",
}


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server on which nobody waits long for those who are gone."""
    with Stack(options(tmp_path_factory.mktemp("brief"), environ=SOON)) as running:
        yield running
        assert complaints(running) == []


async def a_match_of_two(hall: Lounge, people: list[maumau.Client], **settings: Any) -> list[maumau.Room]:
    """It has more rounds than a bot could end while people wait."""
    host = await hall.create(people[0], seats=2, bank_seconds=0, options={"match.target": 10_000}, **settings)
    sides = [host, await hall.join(people[1], host)]
    await start(sides)
    await take_a_turn_each(sides)
    return sides


async def everybody_leaves(sides: list[maumau.Room]) -> None:
    """Who is on turn goes last, so that no bot plays for him while somebody is there."""
    last = on_turn(sides)
    for side in sides:
        if side is not last:
            await side.close()
            await sees(last, lambda view, gone=side.own_seat or 0: not view.seats[gone].connected)
    await last.close()


def is_away(view: room_pb2.RoomView, seat: int) -> bool:
    return view.seats[seat].played_by_bot and not view.seats[seat].deserted


async def test_a_bot_plays_for_who_has_vanished_until_he_acts_again(brief: Stack) -> None:
    async with lounge(brief.address) as hall:
        people = await hall.clients("Ana", "Bo")
        sides = await a_match_of_two(hall, people)
        here = on_turn(sides)
        (gone,) = [side for side in sides if side is not here]
        number = gone.own_seat
        assert number is not None
        await gone.close()
        await sees(here, lambda view: not view.seats[number].connected)
        await take_a_turn_each([here])
        await sees(here, lambda view: is_away(view, number) and view.shedding.turn == here.own_seat)
        back = await hall.enter(people[sides.index(gone)].room(here.id))
        assert (back.own_seat, is_away(back.view, number)) == (number, True)
        await back.act(maumau.actions.take_back())
        assert not is_away(await sees(here, lambda view: not view.seats[number].played_by_bot), number)


async def test_who_vanishes_in_the_middle_of_a_turn_is_played_for_after_the_grace_not_after_the_turn(
    brief: Stack,
) -> None:
    async with lounge(brief.address) as hall:
        people = await hall.clients("Ana", "Bo")
        sides = await a_match_of_two(hall, people, turn_seconds=300)
        gone = on_turn(sides)
        (here,) = [side for side in sides if side is not gone]
        number = gone.own_seat
        assert number is not None
        await gone.close()
        await sees(here, lambda view: is_away(view, number))


async def test_acting_takes_the_seat_back(brief: Stack) -> None:
    async with lounge(brief.address) as hall:
        people = await hall.clients("Ana", "Bo")
        sides = await a_match_of_two(hall, people)
        here = on_turn(sides)
        (gone,) = [side for side in sides if side is not here]
        number = gone.own_seat
        assert number is not None
        await gone.close()
        await sees(here, lambda view: not view.seats[number].connected)
        await take_a_turn_each([here])
        await sees(here, lambda view: is_away(view, number) and view.shedding.turn == here.own_seat)
        back = await hall.enter(people[sides.index(gone)].room(here.id))
        while is_away(back.view, number):  # the bot plays on until the person is faster
            await together([here, back])
            with contextlib.suppress(maumau.Refused):
                if back.legal:
                    await back.act(back.legal[0])
                elif here.legal:
                    await here.act(next((action for action in here.legal if action.HasField("draw")), here.legal[0]))
                else:
                    await sees(here, lambda view, known=here.version: view.version > known)
        assert not is_away(await sees(here, lambda view: view.version >= back.version), number)


async def test_a_match_that_everybody_left_waits_and_goes_on_with_a_full_turn(brief: Stack) -> None:
    async with lounge(brief.address) as hall, channel_to(brief.address) as channel:
        people = await hall.clients("Ana", "Bo")
        sides = await a_match_of_two(hall, people, turn_seconds=60, visibility=settings_pb2.VISIBILITY_PUBLIC)
        on_move = on_turn(sides)
        watch = (await sign_in(channel, "Eve")).watch(on_move.id)
        await everybody_leaves(sides)
        waiting = await bookmark_of(watch, room_pb2.DEADLINE_KIND_EMPTY)
        assert waiting.version == on_move.version, "nothing was played for anybody"
        back = await hall.enter(people[sides.index(on_move)].room(on_move.id))
        again = await bookmark_of(watch, room_pb2.DEADLINE_KIND_TURN)
        watch.cancel()
        assert again.version == back.version == on_move.version
        began, ends = again.clock.turn_started.ToMilliseconds(), again.clock.deadline.ToMilliseconds()
        assert began > waiting.clock.now.ToMilliseconds()
        assert ends - began == 60_000


async def test_a_match_that_everybody_left_goes_on_for_who_comes_back_without_a_stream(brief: Stack) -> None:
    async with lounge(brief.address) as hall, channel_to(brief.address) as channel:
        people = await hall.clients("Ana", "Bo")
        sides = await a_match_of_two(hall, people, turn_seconds=300, visibility=settings_pb2.VISIBILITY_PUBLIC)
        on_move = on_turn(sides)
        (other,) = [side for side in sides if side is not on_move]
        watch = (await sign_in(channel, "Eve")).watch(on_move.id)
        await everybody_leaves(sides)
        await bookmark_of(watch, room_pb2.DEADLINE_KIND_EMPTY)
        await people[sides.index(other)].get_room(on_move.id)
        while not (await next_message(watch)).HasField("update"):
            pass  # a bot plays for the one on turn, who has not come back
        watch.cancel()


async def test_a_table_gets_back_the_time_of_an_outage_though_whoever_found_it_has_died(brief: Stack) -> None:
    async with lounge(brief.address) as hall, Store(StoreSettings(url=brief.redis_url)) as store:
        sides = await a_match_of_two(hall, await hall.clients("Ana", "Bo"), turn_seconds=300)
        version, began = sides[0].version, sides[0].view.clock.deadline.ToMilliseconds()
        keys, partition = store.pipelines.keys, partition_of(RoomId(sides[0].id))
        with redis.from_url(brief.redis_url) as raw:
            silence(raw, keys, RoomId(sides[0].id), 60_000)
        await store.sweep.sweep([partition])  # by somebody who is not heard of again
        outages = await store.sweep.outages(partition)  # more than one where the machine stood still
        for side in sides:
            await sees(side, lambda view: view.version > version)
            credited = side.view.clock.deadline.ToMilliseconds() - began
            assert credited <= sum(outage.ended - outage.began for outage in outages)
        assert credited > 0


async def bookmark_of(watch: Watching, kind: room_pb2.DeadlineKind.ValueType) -> room_pb2.Bookmark:
    """The next bookmark whose clock waits for this."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            message = await watch.read()
            assert isinstance(message, authority_pb2.WatchResponse)
            if message.WhichOneof("message") == "bookmark" and message.bookmark.clock.kind == kind:
                return message.bookmark


async def test_who_is_connected_is_shown_to_all(brief: Stack) -> None:
    async with lounge(brief.address) as hall:
        people = await hall.clients("Ana", "Bo")
        host = await hall.create(people[0], seats=2)
        guest = await hall.join(people[1], host)
        await sees(host, lambda view: [seat.connected for seat in view.seats] == [True, True])
        await guest.close()
        await sees(host, lambda view: [seat.connected for seat in view.seats] == [True, False])
        again = await hall.enter(people[1].room(host.id))
        for side in (host, again):
            await sees(side, lambda view: [seat.connected for seat in view.seats] == [True, True])


async def test_the_last_to_leave_is_told_so_before_the_room_is_closed(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        (host,) = await hall.table("Ana", bots=1)
        left = await host.leave()
        assert host.version == left
        await eventually(lambda: host.over, "the room's stream ends")
        await together([host])

"""Planned ends: one authority after the other is stopped, and the whole server with Ctrl-C. No match notices."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import grpc
from maumau.v1 import authority_pb2_grpc, room_pb2

from services.local.plan import StackOptions
from services.local.ports import LOWEST, is_free
from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.calls import Guest, channel_to, duel, next_message, read_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, get_on, party, rest
from tests.e2e.stacks import complaints, options
from tests.faults.checker import check_room, read_log
from tests.faults.history import History, Outcome, read_records

AUTHORITIES = (f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2")
HANGING_UP = 60
ENDLESS = {"match.target": 10_000}
LONG_ENOUGH = 500
"""Points that no one round brings, so that a match has not ended before the server is stopped."""


async def restarted(stack: Stack, name: str) -> None:
    """Asks the process to stop, as an orchestrator does, and waits for its successor."""
    starts = stack[name].starts
    stack[name].terminate()
    await eventually(lambda: stack[name].starts > starts, f"{name} stops and is started again")
    await asyncio.to_thread(stack.wait_ready)


async def test_a_stopping_process_sends_its_streams_away_with_a_token_that_holds_elsewhere(
    stack: Stack, channel: grpc.aio.Channel
) -> None:
    pair = await duel(channel)
    await pair.start()
    one, other = stack.addresses(GAME_AUTHORITY)
    async with channel_to(one) as stopping, channel_to(other) as staying:
        stream = pair.ana.watch(pair.room, at=authority_pb2_grpc.GameAuthorityServiceStub(stopping))
        (first,) = await read_to(stream, 1)
        stack[AUTHORITIES[0]].terminate()
        while not (message := await next_message(stream)).HasField("go_away"):
            assert message.HasField("bookmark")
        away = message.go_away
        assert await next_message(stream) is grpc.aio.EOF
        assert await stream.code() is grpc.StatusCode.OK, "the end is in order"
        assert away.reason == room_pb2.GO_AWAY_REASON_STOPPING
        made = await pair.turn()
        again = pair.ana.watch(pair.room, away.resume_token, at=authority_pb2_grpc.GameAuthorityServiceStub(staying))
        (missed,) = await read_to(again, made)
        again.cancel()
        assert missed.update.version == made == first.snapshot.room.version + 1
    await asyncio.to_thread(stack.wait_ready)


async def hang_up_when_sent_away(guest: Guest, room: str, at: authority_pb2_grpc.GameAuthorityServiceStub) -> None:
    """Plays, and is gone the moment it is told to go."""
    guest.rooms = at
    call = await guest.play(room)
    while (await next_message(call)).WhichOneof("message") != "go_away":
        pass
    call.cancel()


async def test_a_process_ends_when_its_streams_have_and_waits_for_none_that_is_gone(
    stack: Stack, channel: grpc.aio.Channel
) -> None:
    async with channel_to(stack.process(AUTHORITIES[1]).address) as direct:
        at = authority_pb2_grpc.GameAuthorityServiceStub(direct)
        guests = [await sign_in(channel, "Gone") for _ in range(HANGING_UP)]
        leaving = [asyncio.create_task(hang_up_when_sent_away(g, await g.create_room(2), at)) for g in guests]
        shown = f'maumau_open_streams{{grpc_method="Play"}} {HANGING_UP:.1f}'
        await eventually(lambda: shown in stack.metrics(AUTHORITIES[1]), "all streams are open")
        await restarted(stack, AUTHORITIES[1])
        await asyncio.gather(*leaving)
    assert "drain failed" not in stack[AUTHORITIES[1]].log()


async def test_no_client_notices_that_processes_are_stopped_one_by_one(
    stack: Stack, store: Store, history: History
) -> None:
    async with contextlib.AsyncExitStack() as opened:
        played = [
            await opened.enter_async_context(party(stack.address, Match(2, 1, options=ENDLESS), history, f"S{number}"))
            for number in range(3)
        ]
        for players in played:
            await players.start()
        matches = asyncio.gather(*(players.play() for players in played))
        for name in AUTHORITIES:
            await restarted(stack, name)
            await get_on(history, 20, matches)
        await rest(played, history)
        matches.cancel()
    records = read_records([history.path])
    assert records.count(Outcome.UNKNOWN) == 0
    for players in played:
        assert check_room(players.room_id, await read_log(store.rooms, players.room_id), records) == []


def free_block() -> int:
    """A port with free ones beside it, as `make run` lays them out: the same after a restart. All lie below those that
    tests beside this one find free, who could take one while the server is away."""
    for port in range(LOWEST - 2_000, LOWEST - 100, 100):
        if all(is_free(port + 10 * row + column) for row in range(6) for column in range(3)):
            return port
    raise AssertionError("no block of free ports")


async def test_a_running_match_goes_on_after_the_whole_server_was_stopped_and_started(
    tmp_path: Path, history: History
) -> None:
    asked = options(tmp_path, port=free_block())
    first = await asyncio.to_thread(started, asked)
    async with party(first.address, Match(2, 1, options={"match.target": LONG_ENOUGH}), history, "R") as players:
        await players.start()
        match = asyncio.gather(players.play())
        await get_on(history, 10, match)
        await asyncio.to_thread(first.stop)
        second = await asyncio.to_thread(started, asked)
        try:
            ((view, other),) = await match
            async with Store(StoreSettings(url=second.redis_url)) as store:
                log = await read_log(store.rooms, players.room_id)
            assert check_room(players.room_id, log, read_records([history.path])) == []
            assert list(view.outcome.scores) == list(other.outcome.scores)
            assert max(view.outcome.scores) >= LONG_ENOUGH
        finally:
            await asyncio.to_thread(second.stop)
    assert complaints(first) == complaints(second) == []


def started(asked: StackOptions) -> Stack:
    stack = Stack(asked)
    stack.start()
    return stack

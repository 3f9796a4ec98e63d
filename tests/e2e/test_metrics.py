"""Metrics move when that happens which they are named after."""

from __future__ import annotations

import asyncio
import os

import grpc
import pytest

from services.game_authority.census import Census
from services.local.stack import Stack
from services.store.assembly import Store
from tests.e2e.calls import Duel, duel, read_to
from tests.e2e.eventually import eventually
from tests.e2e.lounge import lounge, play
from tests.e2e.scraping import scrape


@pytest.fixture
async def playing(channel: grpc.aio.Channel) -> Duel:
    pair = await duel(channel)
    await pair.start()
    return pair


async def grows(stack: Stack, before: float, sample: str, by: float) -> None:
    """Waits until the sample is above what it was by that much."""

    async def has_grown() -> bool:
        return (await scrape(stack))[sample] >= before + by

    await eventually(has_grown, f"{sample} grows from {before:g} by {by:g}")


async def test_an_events_way_to_each_stream_is_timed(stack: Stack, playing: Duel) -> None:
    streams = [playing.ana.watch(playing.room) for _ in range(3)]
    for stream in streams:
        await read_to(stream, 1)
    before = (await scrape(stack))["maumau_event_delivery_seconds_count"]
    made = await playing.turn()
    for stream in streams:
        await read_to(stream, made)
    await grows(stack, before, "maumau_event_delivery_seconds_count", 3)
    for stream in streams:
        stream.cancel()


async def test_a_repeat_is_counted_as_one(stack: Stack, playing: Duel) -> None:
    guest, _, view = await playing.on_turn()
    request_id = os.urandom(16)
    before = await scrape(stack)
    for _ in range(2):
        await guest.act(playing.room, view.legal.actions[0], view.version, request_id=request_id)
    repeated = 'maumau_actions_total{reason_class="none",result="repeated"}'
    await grows(stack, before["maumau_action_seconds_count"], "maumau_action_seconds_count", 2)
    await grows(stack, before[repeated], repeated, 1)
    assert (await scrape(stack))[repeated] == before[repeated] + 1


async def test_a_resume_token_that_nobody_can_read_is_counted(stack: Stack, playing: Duel) -> None:
    unreadable = 'maumau_resumes_total{outcome="unreadable"}'
    before = (await scrape(stack))[unreadable]
    with pytest.raises(grpc.aio.AioRpcError):
        await read_to(playing.ana.watch(playing.room, b"nonsense"), 1)
    await grows(stack, before, unreadable, 1)


async def test_moves_of_bots_are_counted_by_level(stack: Stack) -> None:
    moves = 'maumau_bot_moves_total{level="random"}'
    before = (await scrape(stack))[moves]
    async with lounge(stack.address) as people:
        await play(await people.match("Cleo", bots=2))
    await grows(stack, before, moves, 1)


async def test_the_processes_together_count_each_room_once_by_state(stack: Stack, store: Store) -> None:
    async def counted() -> dict[str, int]:
        found: dict[str, int] = {}
        for process in await store.fleet.running():
            for (state, ruleset), number in (await Census(store, process).count()).items():
                if ruleset == "uno-mattel":
                    found[state] = found.get(state, 0) + number
        return found

    before = await counted()
    async with lounge(stack.address) as people:
        host = await people.client("Dora")
        for _ in range(5):
            await people.create(host, "uno-mattel", options={}, seats=2)
        await people.match("Emil", "Fay", preset="uno-mattel", options={})
        after = await counted()
    assert after.get("open", 0) == before.get("open", 0) + 5
    assert after.get("playing", 0) == before.get("playing", 0) + 1


async def test_a_connection_that_breaks_is_counted(stack: Stack, store: Store, playing: Duel) -> None:
    stream = playing.ana.watch(playing.room)
    await read_to(stream, 1)
    before = await scrape(stack)
    assert before['maumau_redis_connections_in_use{pool="pubsub"}'] >= 1
    assert before['maumau_redis_connections_limit{pool="commands"}'] > 0
    async with asyncio.timeout(20):
        await store.pipelines.reads.command("CLIENT", "KILL", "TYPE", "pubsub")
    await grows(
        stack, before['maumau_redis_reconnects_total{pool="pubsub"}'], 'maumau_redis_reconnects_total{pool="pubsub"}', 1
    )
    stream.cancel()

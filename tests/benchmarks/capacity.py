"""What rooms and streams cost an operator: memory of Redis for a room, of an authority and of Envoy for a stream, CPU
of an authority for a version.

Rooms of four, a guest with `Act` and long polls and three bots, play whole matches of Mau-Mau at one authority, as fast
as it can. Redis keeps state and log of all. Then their guests open streams on them, through Envoy, that stay.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import json
import random
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import grpc
import maumau
from maumau.v1 import authority_pb2, settings_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.benchmarks import machine, results
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.stacks import options
from tests.servers import Server, kinds, running

AUTHORITY: Final = f"{GAME_AUTHORITY}-1"
STREAMS_A_CHANNEL: Final = 50
MATCH_SECONDS: Final = 900.0
_MEGA: Final = 2**20


def main(words: Sequence[str]) -> int:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(prog="capacity")
    parser.add_argument("--rooms", type=int, default=100, help="matches that are played at once")
    parser.add_argument("--streams", type=int, default=1_000, help="streams that are open at once")
    asked = parser.parse_args(list(words))
    found = asyncio.run(_measure(asked.rooms, asked.streams))
    now = datetime.datetime.now(datetime.UTC)
    table = f"{now:%Y-%m-%d %H:%M} UTC. {_table(found)}"
    stem = results.FOLDER / f"capacity-{now:%Y-%m-%d-%H%M}-{found['facts']['commit']}"
    stem.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    stem.with_suffix(".md").write_text(table)
    print(table)
    return 0


async def _measure(rooms: int, streams: int) -> dict[str, Any]:
    kind = kinds()[0]
    environ = {"MAUMAU_BOT_MOVE_MAX_SECONDS": "0", "MAUMAU_REMATCH_SECONDS": "600"}
    with running(kind) as server, tempfile.TemporaryDirectory() as folder:
        asked = options(Path(folder), authorities=1, redis_url=server.url, environ=environ)
        with Stack(asked) as stack:
            async with channel_to(stack.address) as channel:
                facts = machine.facts() | {"redis": kind}
                guests = [await sign_in(channel, f"Guest {number}") for number in range(rooms)]
                played = await _rooms(stack, server, guests)
                watched = list(zip(guests, played.pop("ids"), strict=True))
                return {"facts": facts, **played, **await _streams(stack, watched, streams)}


async def _rooms(stack: Stack, server: Server, guests: list[Guest]) -> dict[str, Any]:
    """Plays a match in a room of each guest."""
    before, cpu = _used(server), machine.cpu_seconds(_pid(stack, AUTHORITY))
    async with asyncio.timeout(MATCH_SECONDS):
        played = await asyncio.gather(*(_play(guest, number) for number, guest in enumerate(guests)))
    versions = [version for _, version in played]
    after, used = _used(server), machine.cpu_seconds(_pid(stack, AUTHORITY)) - cpu
    return {
        "ids": [room for room, _ in played],
        "rooms": len(guests),
        "versions_a_room": round(sum(versions) / len(versions)),
        "redis_kb_a_room": round((after - before) / len(guests) / 1024, 1),
        "redis_bytes_a_version": round((after - before) / sum(versions)),
        "authority_us_a_version": round(used / sum(versions) * 1e6),
    }


async def _play(guest: Guest, number: int) -> tuple[str, int]:
    """A whole match against three bots; the room, and the version at which it was over."""
    chance, room = random.Random(number), await guest.create_room(4, target=150)
    version = 1
    for action in (*(maumau.actions.add_bot(settings_pb2.BOT_LEVEL_HEURISTIC),) * 3, maumau.actions.set_ready(True)):
        version = (await guest.act(room, action, version)).version
    await guest.act(room, maumau.actions.start(), version)
    version = 0
    while True:
        found = (await guest.get_room(room, since_version=version, wait_milliseconds=10_000)).room
        version = found.version
        if found.HasField("outcome"):
            return room, int(version)
        if found.legal.actions:
            with contextlib.suppress(grpc.aio.AioRpcError):  # a bot was faster
                await guest.act(room, chance.choice(found.legal.actions), version)


async def _streams(stack: Stack, watched: list[tuple[Guest, str]], streams: int) -> dict[str, Any]:
    """Opens so many streams and asks what they take."""
    before = {name: _resident(stack, name) for name in (AUTHORITY, "envoy")}
    async with contextlib.AsyncExitStack() as opened:
        for first in range(0, streams, STREAMS_A_CHANNEL):
            guest, room = watched[first // STREAMS_A_CHANNEL % len(watched)]
            await opened.enter_async_context(_watching(stack.address, guest, room, STREAMS_A_CHANNEL))
        after = {name: _resident(stack, name) for name in before}
    return {
        "streams": streams,
        "authority_kb_a_stream": round((after[AUTHORITY] - before[AUTHORITY]) / streams / 1024, 1),
        "envoy_kb_a_stream": round((after["envoy"] - before["envoy"]) / streams / 1024, 1),
        "authority_mb_idle": round(before[AUTHORITY] / _MEGA),
    }


@contextlib.asynccontextmanager
async def _watching(address: str, guest: Guest, room: str, streams: int) -> AsyncIterator[None]:
    """One connection with so many streams, each of which has brought its snapshot."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(address, options=own) as channel:
        watch = channel.unary_stream(
            "/maumau.v1.GameAuthorityService/Watch",
            request_serializer=authority_pb2.WatchRequest.SerializeToString,
            response_deserializer=authority_pb2.WatchResponse.FromString,
        )
        request = authority_pb2.WatchRequest(room_id=room)
        calls = [watch(request, metadata=guest.metadata(room)) for _ in range(streams)]
        for call in calls:
            await call.read()
        yield
        for call in calls:
            call.cancel()


def _used(server: Server) -> int:
    memory: Any = server.client().info("memory")
    return int(memory["used_memory"])


def _pid(stack: Stack, name: str) -> int:
    pid = stack[name].pid
    assert pid is not None
    return pid


def _resident(stack: Stack, name: str) -> int:
    status = Path(f"/proc/{_pid(stack, name)}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def _table(found: dict[str, Any]) -> str:
    facts = found["facts"]
    lines = [f"{facts['machine']}; Python {facts['python']}; {facts['redis']}; commit {facts['commit']}", ""]
    lines += ["| figure | value |", "| --- | ---: |"]
    lines += [f"| {name.replace('_', ' ')} | {value} |" for name, value in found.items() if name != "facts"]
    return "\n".join(lines) + "\n"

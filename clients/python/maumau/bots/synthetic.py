"""The synthetic player: plays through the public address all the time, so that somebody notices when one cannot.

It is a guest in a private room against two of the server's bots. A second stream watches the same room: a move counts
once its event has come there. After a few moves it leaves, which ends the match without a result and closes the room,
so it appears in no room list, no queue and no leaderboard. Its metrics need `pip install maumau[synthetic]`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from maumau.bots.choosers import chooser
from maumau.bots.seat import is_over, must_act
from maumau.client import Client, connect
from maumau.errors import MaumauError, SignInNeeded
from maumau.room import Room
from maumau.v1 import room_pb2, settings_pb2

BOTS: Final = 2
NAME: Final = "Synthetic"
STEPS: Final = ("sign_in", "room", "start", "turn", "move", "event", "leave")
STEP_SECONDS: Final = 10.0
"""The most that a step of its own may take."""
TURN_SECONDS: Final = 45.0
"""The most that the bots may take until it is its turn again."""
FAREWELL_SECONDS: Final = 2.0
_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)


class Signs:
    """What the player shows of itself, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.moves = Counter(
            "maumau_synthetic_moves",
            "Moves of the synthetic player: ok once another stream saw the event, else failed.",
            ("outcome",),
            registry=self.registry,
        )
        self.failures = Counter(
            "maumau_synthetic_failures", "Steps that failed, by step.", ("step",), registry=self.registry
        )
        self.move_seconds = Histogram(
            "maumau_synthetic_move_seconds",
            "Time from sending an action until its event came on another stream.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.last_success = Gauge(
            "maumau_synthetic_last_success_timestamp_seconds",
            "When a move came back last, in seconds since 1970.",
            registry=self.registry,
        )
        for outcome in ("ok", "failed"):
            self.moves.labels(outcome)
        for step in STEPS:
            self.failures.labels(step)

    def serve(self, host: str, port: int) -> int:
        """Shows them at /metrics; the port, which is another one if `port` is 0."""
        server, _ = start_http_server(port, host, self.registry)
        return int(server.server_port)


@dataclass(frozen=True, slots=True)
class SyntheticRun:
    """Where and how it plays: `moves` of its own a match, `pause_seconds` between two matches."""

    address: str | None = None
    ruleset: str = "mau-mau-32"
    moves: int = 8
    pause_seconds: float = 5.0


class SyntheticPlayer:
    """See the module."""

    def __init__(self, run: SyntheticRun, signs: Signs) -> None:
        self._run = run
        self._signs = signs
        self._matches = 0

    async def play(self) -> None:
        """Plays until it is cancelled. Failures are counted and told on stderr."""
        while True:
            with contextlib.suppress(MaumauError, TimeoutError):
                async with contextlib.AsyncExitStack() as stack:
                    async with self._step("sign_in"):
                        client = await stack.enter_async_context(connect(self._run.address, name=NAME))
                    await self._play_matches(client)
            await asyncio.sleep(self._run.pause_seconds)

    async def _play_matches(self, client: Client) -> None:
        """Raises SignInNeeded where the server does not know this guest any more."""
        while True:
            try:
                await self.play_match(client)
            except SignInNeeded:
                raise
            except (MaumauError, TimeoutError):
                pass
            await asyncio.sleep(self._run.pause_seconds)

    async def play_match(self, client: Client) -> None:
        """One match, from the room to leaving it. Raises MaumauError or TimeoutError after counting the failure."""
        self._matches += 1
        async with contextlib.AsyncExitStack() as stack:
            async with self._step("room"):
                room = await self._room(client, stack)
                witness = await stack.enter_async_context(client.room(room.id, mode="watch"))
            try:
                async with self._step("start"):
                    await _start(room)
                await self._move(room, witness)
                async with self._step("leave"):
                    await room.leave()
            except (MaumauError, TimeoutError):
                with contextlib.suppress(MaumauError, TimeoutError):
                    async with asyncio.timeout(FAREWELL_SECONDS):
                        await room.leave()
                raise

    async def _room(self, client: Client, stack: contextlib.AsyncExitStack) -> Room:
        settings = settings_pb2.RoomSettings(
            seats=1 + BOTS, visibility=settings_pb2.VISIBILITY_PRIVATE, pause_seconds=0, title=NAME
        )
        return await stack.enter_async_context(await client.create_room(self._run.ruleset, settings=settings))

    async def _move(self, room: Room, witness: Room) -> None:
        choose = chooser("heuristic", f"{NAME}:{self._matches}")
        for _ in range(self._run.moves):
            async with self._step("turn", TURN_SECONDS):
                view = await room.wait_until(_is_due)
            if is_over(view):
                return
            began = time.monotonic()
            async with self._step("move"):
                made = await room.act(choose(view, view.legal.actions), version=view.version)
            async with self._step("event"):
                await witness.wait_until(lambda seen, made=made: seen.version >= made)  # type: ignore[misc]
            self._signs.move_seconds.observe(time.monotonic() - began)
            self._signs.moves.labels("ok").inc()
            self._signs.last_success.set_to_current_time()

    @contextlib.asynccontextmanager
    async def _step(self, step: str, seconds: float = STEP_SECONDS) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except (MaumauError, TimeoutError) as error:
            self._signs.failures.labels(step).inc()
            self._signs.moves.labels("failed").inc()
            sys.stderr.write(f"{step} failed: {error or type(error).__name__}\n")
            raise


async def _start(room: Room) -> None:
    for _ in range(BOTS):
        await room.add_bot()
    await room.ready()
    await room.start()


def _is_due(view: room_pb2.RoomView) -> bool:
    """The match is over, or it is this player's turn. Rounds follow each other by themselves."""
    if is_over(view):
        return True
    playing = view.state == room_pb2.ROOM_STATE_PLAYING
    return playing and bool(view.legal.actions) and must_act(view, view.own_seat)

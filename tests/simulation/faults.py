"""What goes wrong in a run: drawn from the seed, over in the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

LONGEST_SECONDS: Final = 100.0


class Faults:
    """See the module. Each kind of fault is a method; a run draws some kinds and their number."""

    def __init__(self, world: World, chance: random.Random, provoked: tuple[str, ...]) -> None:
        """`provoked`: these kinds and no others, where a control needs them."""
        self.provoked = provoked
        self._world = world
        self._chance = chance
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Lets faults happen for a while, then makes everything whole again."""
        chance, loop = self._chance, self._world.loop
        self._draw_weather()
        kinds = self._draw_kinds()
        ends = loop.time() + chance.uniform(10.0, LONGEST_SECONDS)
        pause = chance.choice([1.0, 4.0, 15.0])
        while loop.time() < ends and not self._world._all_finished():
            await asyncio.sleep(pause * chance.expovariate(1.0))
            if kinds:
                self._begin(chance.choice(kinds))
        if self._running:
            await asyncio.wait(self._running)
        self._clear_weather()

    def _draw_kinds(self) -> list[Callable[[], Any]]:
        if self.provoked:
            return [getattr(self, f"_{name}") for name in self.provoked]
        everything = [
            *(self._kill, self._freeze, self._cut_off, self._stop),
            *(self._stall_redis, self._restart_redis, self._lose_writes, self._turn_clock),
            *(self._cut_lines, self._deafen_lines),
            *(self._drop_client, self._vanish_client, self._stop_reading, self._go_away),
            *(self._kill_all, self._scoring_away),
        ]
        return self._chance.sample(everything, self._chance.choice([0, 1, 2, 4, 8]))

    def _draw_weather(self) -> None:
        chance, weather = self._chance, self._world.weather
        bad = chance.choice([0.0, 0.003, 0.02, 0.06])
        for name in ("slow", "request_lost", "reply_lost", "batch_cut", "message_lost", "message_late"):
            if chance.random() < 0.4:
                setattr(weather, name, bad)
        weather.latency = chance.choice([0.0005, 0.005, 0.05])
        weather.slow_latency = chance.choice([0.1, 1.0, 4.0])
        self._world.network.latency = chance.choice([0.005, 0.05, 0.3])
        self._world.scoring.fails = chance.choice([0.0, 0.3])
        self._world.note("weather", repr(weather))

    def _clear_weather(self) -> None:
        weather = self._world.weather
        for name in ("slow", "request_lost", "reply_lost", "batch_cut", "message_lost", "message_late"):
            setattr(weather, name, 0.0)
        self._world.scoring.fails = 0.0

    def _begin(self, kind: Callable[[], Any]) -> None:
        self._world.note("fault", kind.__name__.lstrip("_"))
        task = self._world.loop.world.spawn(kind(), kind.__name__)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _process(self) -> Process | None:
        serving = [process for process in self._world.processes if process.serving and not process.node.frozen]
        return self._chance.choice(serving) if serving else None

    # Processes.

    async def _kill(self) -> None:
        process = self._process()
        if process is not None:
            process.kill(self._chance.choice([0.01, 0.5, 30.0]))
            await self._start_again(0.2, 8.0)

    async def _start_again(self, least: float, most: float) -> None:
        await asyncio.sleep(self._chance.uniform(least, most))
        self._world.start_process(self._chance.choice([0.0, 60.0, -60.0]))

    async def _kill_all(self) -> None:
        gone = [process for process in self._world.processes if process.serving]
        for process in gone:
            process.kill(0.01)
        await asyncio.sleep(self._chance.uniform(0.5, 25.0))
        for _ in gone:
            self._world.start_process()

    async def _stop(self) -> None:
        process = self._process()
        if process is not None:
            process.node.spawn(process.stop(), "stop")
            await self._start_again(0.0, 2.0)

    async def _freeze(self) -> None:
        process = self._process()
        if process is not None:
            process.node.freeze()
            await asyncio.sleep(self._chance.uniform(0.1, 12.0))
            process.node.thaw()

    async def _cut_off(self) -> None:
        process = self._process()
        if process is not None:
            process.link.cut = True
            await asyncio.sleep(self._chance.uniform(0.1, 12.0))
            process.link.cut = False

    # Redis.

    async def _stall_redis(self) -> None:
        redis = self._world.redis
        if not redis.node.frozen:
            redis.node.freeze()
            await asyncio.sleep(self._chance.uniform(0.1, 12.0))
            redis.node.thaw()

    async def _restart_redis(self) -> None:
        await self._down(0.0)

    async def _lose_writes(self) -> None:
        await self._down(self._chance.uniform(0.01, 1.0))

    async def _down(self, lose_seconds: float) -> None:
        redis, world = self._world.redis, self._world
        if not redis.up or redis.node.frozen:
            return
        made = max(history.heads[0][0] for history in world.oracle.rooms.values())
        redis.stop()
        redis.stopped_at = world.loop.time()
        await asyncio.sleep(self._chance.uniform(0.05, 6.0))
        if redis.stopped_at - lose_seconds < made + 0.01:
            lose_seconds = 0.0
        if lose_seconds:
            world.scoring.may_differ = True
        redis.start(lose_seconds)

    async def _turn_clock(self) -> None:
        self._world.redis.offset_ms += self._chance.choice([-10_000, -1_000, 1_000, 10_000])

    async def _cut_lines(self) -> None:
        process = self._process()
        if process is not None:
            for line in list(process.link.lines):
                self._world.redis.disconnect(line)
                line.cut()

    async def _deafen_lines(self) -> None:
        process = self._process()
        if process is not None:
            for line in process.link.lines:
                line.lose()

    # Clients.

    async def _drop_client(self) -> None:
        self._chance.choice(self._world.clients).drop()

    async def _vanish_client(self) -> None:
        client = self._chance.choice(self._world.clients)
        if not client.node.frozen:
            client.vanish()
            await asyncio.sleep(self._chance.uniform(1.0, 40.0))
            client.come_back()

    async def _stop_reading(self) -> None:
        client = self._chance.choice(self._world.clients)
        client.stop_reading()
        await asyncio.sleep(self._chance.uniform(1.0, 40.0))
        client.read_on()

    async def _go_away(self) -> None:
        client = self._chance.choice(self._world.clients)
        client.go_away()
        await asyncio.sleep(self._chance.uniform(1.0, 30.0))
        client.return_from_away()

    async def _scoring_away(self) -> None:
        self._world.scoring.away = True
        await asyncio.sleep(self._chance.uniform(1.0, 30.0))
        self._world.scoring.away = False

"""One game-authority process of the simulation: the authority's own parts over the simulated Redis, and its life."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, cast

from services.game_authority.__main__ import GameAuthority
from services.game_authority.handlers import GameAuthorityService
from services.runtime.health import Readiness, watch_readiness
from services.runtime.invites import Invites
from services.runtime.settings import Settings
from services.runtime.tokens import Session
from services.store.assembly import Store
from services.store.batcher import Pipelines
from services.store.dead import DeadResults
from services.store.fleet import Fleet
from services.store.hub import Hub
from services.store.outbox import Outbox, OutboxCounts, OutboxEntry
from services.store.presence import Presence
from services.store.primaries import OnePrimary
from services.store.rooms import RoomStore
from services.store.sweep import Sweep, Swept
from tests.simulation.calls import Call, CallLost, UnaryCall
from tests.simulation.loop import Node
from tests.simulation.redis_wire import RedisLink, SimulatedConnections

if TYPE_CHECKING:
    from tests.simulation.world import World

STOP_GRACE_SECONDS: Final = 10.0


class _NarrowSweep(Sweep):
    """Asks only the partitions that have rooms: the others have nothing to say."""

    def __init__(self, pipelines: Pipelines, used: Iterable[int]) -> None:
        super().__init__(pipelines)
        self._used = used

    async def sweep(self, partitions: Iterable[int] = (), *, limit: int = 64, overdue_ms: int = 0) -> Swept:
        return await super().sweep(sorted(self._used), limit=limit, overdue_ms=overdue_ms)


class _NarrowOutbox(Outbox):
    """Likewise."""

    def __init__(self, pipelines: Pipelines, used: Iterable[int]) -> None:
        super().__init__(pipelines)
        self._used = used

    async def older_than(
        self, age_ms: int, partitions: Iterable[int] = (), *, now: int, limit: int = 16
    ) -> list[OutboxEntry]:
        return await super().older_than(age_ms, sorted(self._used), now=now, limit=limit)

    async def counts(self, partitions: Iterable[int] = ()) -> OutboxCounts:
        return await super().counts(sorted(self._used))


class SimulatedStore(Store):
    """The store over the simulated way to the simulated Redis."""

    def __init__(self, link: RedisLink, used: Iterable[int]) -> None:
        self.primaries = OnePrimary(SimulatedConnections(link))
        self.pipelines = Pipelines(self.primaries)
        self.rooms = RoomStore(self.pipelines)
        self.presence = Presence(self.pipelines, 25_000)
        self.fleet = Fleet(self.pipelines)
        self.outbox = _NarrowOutbox(self.pipelines, used)
        self.dead = DeadResults(self.pipelines)
        self.sweep = _NarrowSweep(self.pipelines, used)
        self.hub = Hub(self.primaries)


class _AnyToken:
    """Takes a token for its player's name; sessions are tested elsewhere."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def session(self, token: str) -> Session:
        return self._world.session(token)

    async def charge(self) -> None:
        return None

    async def name(self, session: Session) -> str:
        return session.display_name


class Process:
    """See the module. It serves from `start` until `stop` or `kill`."""

    def __init__(self, world: World, name: str, skew: float) -> None:
        self.world = world
        self.node = Node(world.loop, name, skew)
        self.link = RedisLink(world.redis, self.node, world.weather, world.chance)
        self.serving = False
        self.authority: GameAuthority
        self.service: GameAuthorityService
        self._work: list[asyncio.Task[None]] = []
        self._calls: dict[Call, None] = {}
        self._unary: dict[UnaryCall, None] = {}
        self.node.spawn(self._start(), "start")

    async def _start(self) -> None:
        store = SimulatedStore(self.link, self.world.partitions)
        invites = Invites.__new__(Invites)
        invites._secret = bytes(32)
        authority = self.authority = GameAuthority(self.world.settings, store, invites)
        anyone = _AnyToken(self.world)
        self.service = GameAuthorityService(
            *(store, authority.rooms, authority.streams, authority.presence),
            *(authority.replays, authority.conduct),
            anyone.session,
            anyone.charge,
            anyone.charge,
            anyone.name,
        )
        settings: Settings = self.world.settings
        self._spawn(authority.streams.tend_all(), "streams")
        self._spawn(authority.timers.sweep_all(), "sweep")
        self._spawn(authority.relay.sweep_all(), "outbox")
        self._spawn(watch_readiness(Readiness(), authority.ready, settings.ready_check_seconds), "readiness")
        self.serving = True

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = self.node.spawn(work, name)
        self._work.append(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.world.oracle.broken("a background task failed", f"{task.get_name()}: {error!r}")

    # What clients do.

    def open(self, client: Node, session: Session, method: str) -> Call:
        """A streaming call by a client. Raises CallLost where nobody listens."""
        self._listening()
        call = Call(client, self.node, self.world.network, self.world.log)
        self._calls[call] = None
        self.node.after(self.world.network.delay(), self._serve, call, method, session)
        return call

    def _serve(self, call: Call, method: str, session: Session) -> None:
        if not self.serving:
            call.server_died(self.world.network.delay())
            return
        handler = self.service.Play if method == "Play" else self._watch
        self.node.spawn(call.serve(cast(Any, handler), session), f"{method} of {session.player_id}").add_done_callback(
            lambda _: self._calls.pop(call, None)
        )

    async def _watch(self, requests: Any, context: Any) -> Any:
        async with aclosing(cast(Any, self.service.Watch(await anext(requests), context))) as messages:
            async for message in messages:
                yield message

    async def ask(self, client: Node, session: Session, method: str, request: Any, seconds: float = 5.0) -> Any:
        """A unary call by a client. Raises CallLost and CallRefused."""
        self._listening()
        call = UnaryCall(client, self.node, self.world.network, self.world.log)
        self._unary[call] = None
        try:
            return await call.ask(getattr(self.service, method), request, session, seconds)
        finally:
            self._unary.pop(call, None)

    def _listening(self) -> None:
        if not self.serving:
            raise CallLost("connection refused")

    # Its end.

    def kill(self, notice: float) -> None:
        """As `kill -9` does. Clients notice after that many seconds."""
        self.serving = False
        self.node.kill()
        for line in list(self.link.lines):
            self.world.redis.disconnect(line)
        self.link.lines.clear()
        for call in list(self._calls):
            call.server_died(notice)
        for unary in list(self._unary):
            unary.client.after(notice, unary.settle, CallLost("the server died"))

    async def stop(self) -> None:
        """As SIGTERM does: streams are sent away, what is under way ends."""
        self.serving = False
        try:
            async with asyncio.timeout(STOP_GRACE_SECONDS):
                await self.authority.drain()
        except TimeoutError:
            self.world.log.write("info", "drain took too long", {})
        for call in list(self._calls):
            call.cut(0.0)
        others = [task for task in self.node.tasks if task.get_name().startswith(("Play", "Watch", "unary"))]
        if others:
            await asyncio.wait(others, timeout=STOP_GRACE_SECONDS)
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self.authority.close()

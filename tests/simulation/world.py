"""One simulated server with its clients: what a seed makes of it, and one run from its beginning to its end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import random
import warnings
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from unittest import mock

from maumau.v1 import authority_pb2

from services.game_authority import relay
from services.rules.room.actions import CreateRoom, Matchmaker, Person
from services.rules.room.settings import Visibility
from services.rules.room.state import RoomPhase
from services.rules.ruleset import make_ruleset
from services.runtime.settings import Settings
from services.runtime.tokens import Session
from services.store.keys import RoomId, partition_of
from tests.simulation.calls import CallLost, CallRefused, Network
from tests.simulation.client import Client, Manner
from tests.simulation.faults import Faults
from tests.simulation.loop import NoEndError, SimulationLoop
from tests.simulation.oracle import Oracle
from tests.simulation.process import Process
from tests.simulation.protections import PROVOKED, Protection, checks_without, without
from tests.simulation.redis_server import EPOCH, RedisServer
from tests.simulation.redis_wire import Weather
from tests.simulation.scoring import NoChannel, Scoring
from tests.simulation.sources import Log, simulated_sources
from tests.simulation.views import Views

END_SECONDS: Final = 900.0
"""How long matches may go on after the last fault."""
SETTLE_SECONDS: Final = 60.0
"""How long it may then take until every client knows everything."""
ASKED_AGAIN: Final = 5

PRESETS: Final = (*("mau-mau-32",) * 5, "mau-mau-brasil", "uno", "tranca")
UNEXPECTED: Final = frozenset({"error", "exception", "critical"})


class Shape(NamedTuple):
    """What a seed draws for its run."""

    processes: int
    preset: str
    people: int
    bots: int
    spectators: int
    turn_seconds: int
    bank_seconds: int


@functools.cache
def _settings() -> Settings:
    return Settings(empty_room_seconds=60, session_seconds=900)


class World:
    """Everything of one run. `note` writes the trace; `calm` is true once the faults are over."""

    def __init__(self, seed: int, off: Protection | None) -> None:
        self.chance = random.Random(f"simulation {seed}")
        self.loop = SimulationLoop(random.Random(f"order {seed}"))
        self.log = Log()
        self.settings = _settings()
        self.weather = Weather()
        self.network = Network(self.chance)
        self.redis = RedisServer(self.loop, checks_without(off))
        self.oracle = Oracle(self.redis, self.loop.time)
        self.views = Views(self.oracle, random.Random(seed))
        self.scoring = Scoring(self.oracle, self.chance)
        self.shape = _shape(self.chance)
        self.partitions: set[int] = set()
        self.processes: list[Process] = []
        self.clients: list[Client] = []
        self.trace: list[str] = []
        self.calm_since: float | None = None
        provoked = () if off is None else PROVOKED.get(off, ())
        self.faults = Faults(self, random.Random(f"faults {seed}"), provoked)
        self._started = 0
        self.loop.set_exception_handler(self._loop_error)

    def _loop_error(self, loop: Any, context: dict[str, Any]) -> None:
        self.oracle.broken("loop", f"{context['message']}: {context.get('exception')!r}")

    # What the others ask.

    def session(self, player: str) -> Session:
        now = EPOCH + self.loop.time()
        return Session(player, player, "session", "token", now, now + 900)

    def some_process(self) -> Process:
        """One that takes calls, as a client finds it. Raises CallLost where there is none."""
        serving = [process for process in self.processes if process.serving]
        if not serving:
            raise CallLost("no process")
        return self.chance.choice(serving)

    def room_gone(self, room: str) -> bool:
        history = self.oracle.rooms[room]
        return not history.records or history.head.room.phase is RoomPhase.CLOSED

    @property
    def calm(self) -> bool:
        return self.calm_since is not None

    @property
    def calm_for(self) -> float:
        return 0.0 if self.calm_since is None else self.loop.time() - self.calm_since

    def note(self, who: Any, text: str) -> None:
        name = getattr(who, "player", None) or str(who)
        self.trace.append(f"{self.loop.time():9.3f} {name:<10} {text}")

    def start_process(self, skew: float = 0.0) -> Process:
        self._started += 1
        process = Process(self, f"a{self._started}", skew)
        self.processes.append(process)
        return process

    # One run.

    async def run(self) -> None:
        """Plays the rooms to their end under faults, and checks what must hold in the end."""
        for _ in range(self.shape.processes):
            self.start_process(self.chance.choice([0.0, 0.0, 60.0, -60.0]))
        await asyncio.sleep(1.0)
        rooms = [await self._make_room(f"room{number}") for number in range(self.chance.choice([1, 1, 1, 2]))]
        await self.faults.run()
        self.calm_since = self.loop.time()
        self.note("world", "faults are over")
        if await self._until(self._all_finished, END_SECONDS, "a match does not end"):
            await self._until(self._all_know, SETTLE_SECONDS, "a client does not learn everything")
            for client in self.clients:
                await self._check_final(client)
            await self._until(self._all_reported, 30.0, "a result is not reported")
        await self._end(rooms)

    async def _make_room(self, name: str) -> str:
        room = name + self.chance.randbytes(2).hex()
        self.partitions.add(partition_of(RoomId(room)))
        shape = self.shape
        people = tuple(Person(f"{room}p{number}", f"{room}p{number}") for number in range(shape.people))
        action = CreateRoom(
            room,
            shape.preset,
            people,
            options={"match.target": "single"},
            settings={
                "seats": shape.people + shape.bots,
                "turn_seconds": shape.turn_seconds,
                "bank_seconds": shape.bank_seconds,
                "pause_seconds": 2,
                "visibility": Visibility.PUBLIC,
            },
            bots=shape.bots,
        )
        process = self.processes[0]
        await process.node.spawn(process.authority.rooms.create(action, Matchmaker()), "create")
        for number, person in enumerate([*people, *(None,) * shape.spectators]):
            player = person.player if person else f"{room}w{number}"
            self.clients.append(
                Client(self, player, room, self._chance_of(player), self._manner(), seated=bool(person))
            )
        return room

    def _chance_of(self, player: str) -> random.Random:
        return random.Random(f"{self.chance.random()} {player}")

    def _manner(self) -> Manner:
        chance = self.chance
        return Manner(
            plays=chance.random() < 0.7,
            think=chance.choice([0.05, 0.5, 2.0]),
            dawdles=chance.choice([0.0, 0.0, 0.05]),
            away=0.0,
            stale=chance.choice([0.0, 0.3, 1.0]),
            other_process=chance.choice([0.0, 0.2, 0.8]),
        )

    async def _until(self, holds: Any, seconds: float, otherwise: str) -> bool:
        ends = self.loop.time() + seconds
        while not holds():
            if self.loop.time() > ends:
                self.oracle.broken("no end", otherwise)
                return False
            await asyncio.sleep(0.5)
        return True

    def _all_finished(self) -> bool:
        ended = (RoomPhase.FINISHED, RoomPhase.CLOSED)
        return all(history.head.room.phase in ended for history in self.oracle.rooms.values())

    def _all_know(self) -> bool:
        return all(client.over or client.point == self.oracle.rooms[client.room].head.point for client in self.clients)

    def _all_reported(self) -> bool:
        for history in self.oracle.rooms.values():
            match = history.head.room.match
            if match is not None and match.outcome is not None and match.proof.match_id not in self.scoring.results:
                return False
        return not any(
            stream.entries
            for number in self.partitions
            if (stream := self.redis.db.get(f"s:{{{number}}}:outbox")) is not None
        )

    async def _check_final(self, client: Client) -> None:
        if client.over or client.follower.view is None:
            return
        if not client.follower.uncertain:
            self.views.check_final(client, client.follower.view)
        request = authority_pb2.GetRoomRequest(room_id=client.room)
        least = self.oracle.rooms[client.room].head.version
        for _ in range(ASKED_AGAIN):
            try:
                answer = await self.some_process().ask(client.node, self.session(client.player), "GetRoom", request)
            except (CallLost, CallRefused):
                await asyncio.sleep(1.0)  # a connection that broke before is only found to be broken now
                continue
            self.views.check_final(client, answer.snapshot.room)
            if answer.snapshot.room.version < least:
                self.oracle.broken("final view", f"{client.player} got {answer.snapshot.room.version} after {least}")
            return
        self.oracle.broken("no end", f"{client.player} cannot ask for its room")

    async def _end(self, rooms: list[str]) -> None:
        for client in self.clients:
            client.over = True
            for task in client.work:
                task.cancel()
        await asyncio.sleep(1.0)
        stopped = [process for process in self.processes if process.serving]
        stops = [process.node.spawn(process.stop(), "stop") for process in stopped]
        _, late = await asyncio.wait(stops, timeout=60.0)
        if late:
            self.oracle.broken("no end", "a process does not stop")
        await asyncio.sleep(5.0)
        for process in stopped:
            left = [task.get_name() for task in process.node.tasks]
            if left:
                self.oracle.broken("task left", f"{process.node}: {left}")

    def dispose(self) -> None:
        """Takes down what is left, also what a killed process left lying in the middle of something."""
        nodes = [*(p.node for p in self.processes), *(c.node for c in self.clients), self.loop.world]
        for node in nodes:
            node.kill()
            for task in list(node.tasks):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                _close(task)
        self.loop.set_exception_handler(lambda loop, context: None)
        self.loop.close()

    def check_log(self) -> None:
        """Nothing unforeseen was logged."""
        for line in self.log.lines:
            if line.level in UNEXPECTED:
                self.oracle.broken("log", str(line))


def _shape(chance: random.Random) -> Shape:
    people = chance.choice([1, 2, 2, 3])
    preset = chance.choice(PRESETS)
    seats = max(make_ruleset(preset, {}).min_seats, people + chance.choice([0, 0, 1]))
    return Shape(
        processes=chance.choice([2, 2, 3]),
        preset=preset,
        people=people,
        bots=seats - people,
        spectators=chance.choice([0, 0, 1]),
        turn_seconds=chance.choice([5, 10, 30]),
        bank_seconds=chance.choice([0, 5, 20]),
    )


class Outcome(NamedTuple):
    """What came of a seed."""

    seed: int
    violations: list[str]
    trace: list[str]
    commits: int
    steps: int
    seconds: float


def simulate(seed: int, off: Protection | None = None) -> Outcome:
    """Runs one seed, perhaps with a protection switched off."""
    world = World(seed, off)
    loop = world.loop
    with stubs(world), without(off), simulated_sources(world.chance, world.log), uncollected():
        try:
            loop.run_until_complete(loop.world.spawn(world.run(), "run"))
        except NoEndError as error:
            world.oracle.broken("no end", str(error))
        except Exception as error:
            world.oracle.broken("run", repr(error))
        finally:
            world.check_log()
            world.dispose()
    told = [*world.trace, *map(str, world.log.lines), *map(str, world.oracle.violations)]
    lines = sorted(told, key=lambda line: float(line[:9]))
    violations = [str(violation) for violation in world.oracle.violations]
    return Outcome(seed, violations, lines, world.oracle.commits, loop.steps, loop.time())


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: that a stream which is in nobody's hands ends then would be an event of the
    run, at a time which depends on all that the Python process has done before."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def stubs(world: World) -> Iterator[None]:
    """The way to scoring."""
    with (
        mock.patch.object(relay, "internal_channel", return_value=NoChannel()),
        mock.patch.object(relay, "ResultIntakeServiceStub", return_value=world.scoring),
    ):
        yield


def _close(task: asyncio.Task[Any]) -> None:
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):  # it may wait in a `finally`, for ever
        warnings.simplefilter("ignore", RuntimeWarning)  # it may never have begun
        task.get_coro().close()

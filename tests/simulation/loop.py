"""An event loop whose time is a number and whose order is drawn from a seed.

Every machine of the simulation (a process, Redis, a client) is a node. Callbacks of one node run in the order in which
they became ready, as in any asyncio loop; which node runs next is drawn. Nothing sleeps: when no node can run, time
jumps to the next timer. A frozen node keeps its callbacks until it thaws; those of a killed one never run again, so
that a kill strikes between any two callbacks and no `finally` softens it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

MOST_STEPS: Final = 3_000_000
"""Callbacks of one run; more means that something goes round in circles."""

Call = Callable[..., object]

_node: ContextVar[Node] = ContextVar("node")


class NoEndError(Exception):
    """The run does not come to its end: nothing can happen any more, or the same happens for ever."""


class Node:
    """One machine. `skew` is how far its wall clock is off, in seconds."""

    def __init__(self, loop: SimulationLoop, name: str, skew: float = 0.0) -> None:
        self.name = name
        self.skew = skew
        self.alive = True
        self.frozen = False
        self.ready: deque[asyncio.Handle] = deque()
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self._loop = loop
        self.context = copy_context()
        self.context.run(_node.set, self)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str = "") -> asyncio.Task[Any]:
        """Runs `work` on this node."""
        return self._loop.create_task(work, name=name or None, context=self.context.copy())

    def after(self, seconds: float, call: Call, *args: object) -> asyncio.TimerHandle:
        """Calls `call` on this node after that time."""
        return self._loop.call_later(seconds, call, *args, context=self.context.copy())

    def freeze(self) -> None:
        """Lets nothing run here until `thaw`; timers that come due meanwhile wait."""
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        self._loop.may_run(self)

    def kill(self) -> None:
        """Nothing of this node runs ever again."""
        self.alive = False
        self.ready.clear()

    def __repr__(self) -> str:
        return self.name


def here() -> Node:
    """The node that runs now."""
    return _node.get()


class SimulationLoop(asyncio.BaseEventLoop):
    """See the module."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._clock_resolution = 0.0
        self._chance = chance
        self._time = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._runnable: list[Node] = []
        self._numbers = itertools.count()
        self.steps = 0
        self.world = Node(self, "world")
        self.set_task_factory(_make_task)

    def time(self) -> float:
        return self._time

    def may_run(self, node: Node) -> None:
        """The node is not frozen any more."""
        if node.ready and node not in self._runnable:
            self._runnable.append(node)

    def call_soon(self, callback: Call, *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        self._put(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Call, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        # Numbered, since what is due at one moment has to come in the order in which it was asked for.
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _put(self, handle: asyncio.Handle) -> None:
        node: Node = handle._context.get(_node, self.world)  # type: ignore[attr-defined]
        if not node.alive:
            return
        if not node.ready and not node.frozen and node not in self._runnable:
            self._runnable.append(node)
        node.ready.append(handle)

    def _run_once(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NoEndError(f"{MOST_STEPS} callbacks and no end")
        node = self._next_node()
        handle = node.ready.popleft()
        if not node.ready:
            self._runnable.remove(node)
        if not handle._cancelled:
            handle._run()

    def _next_node(self) -> Node:
        while True:
            self._take_due()
            nodes = self._runnable
            while nodes:
                node = nodes[0] if len(nodes) == 1 else nodes[int(self._chance.random() * len(nodes))]
                if node.ready and not node.frozen:
                    return node
                nodes.remove(node)
            if not self._timers:
                raise NoEndError("nothing is left that could happen")
            self._time = max(self._time, self._timers[0][0])

    def _take_due(self) -> None:
        timers = self._timers
        while timers and (timers[0][0] <= self._time or timers[0][2].cancelled()):
            timer = heapq.heappop(timers)[2]
            if not timer.cancelled():
                self._put(timer)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is dropped when its time comes."""

    def _process_events(self, event_list: object) -> None:
        """There is no I/O here."""

    def _write_to_self(self) -> None:
        """There is no other thread here."""


def _make_task(loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context)
    node = (context or copy_context()).get(_node)
    if node is not None:
        node.tasks[task] = None
        task.add_done_callback(lambda done: node.tasks.pop(done, None))
    return task

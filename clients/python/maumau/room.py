"""One room: what is happening in it, and acting in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Final, Self

from maumau import actions
from maumau.calls import Calls
from maumau.connection import Mode, RoomConnection
from maumau.errors import Closed, MaumauError, Unavailable
from maumau.follower import RoomEvent, RoomSnapshot, SnapshotCause
from maumau.v1 import actions_pb2, authority_pb2_grpc, room_pb2, settings_pb2

OPEN_SECONDS: Final = 30.0
ACT_SECONDS: Final = 30.0
FAREWELL_SECONDS: Final = 1.0
BACKLOG_EVENTS: Final = 10_000
"""A reader of `events()` that is further behind than this gets a snapshot in their place."""


class Room:
    """A room that this client follows; made by `Client.room`, `create_room` and `join_room`, used with `async with`.

    `view` is the room as it is now, as far as the player may know it; `legal` are the actions that would be accepted,
    any of which may be passed to `act` as it is. Both follow the server by themselves, through lost connections and
    restarted servers."""

    def __init__(
        self, calls: Calls, stub: authority_pb2_grpc.GameAuthorityServiceStub, room_id: str, mode: Mode = "play"
    ) -> None:
        self.id = room_id
        self._connection = RoomConnection(calls, stub, room_id, mode, self._deliver, self._notify)
        self._backlogs: set[_Backlog] = set()
        self._change = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure: MaumauError | None = None
        self._over = False

    # What is known.

    @property
    def view(self) -> room_pb2.RoomView:
        """The room now. A new value with each version; do not change it. Raises Closed before the room is open."""
        if self._connection.follower.view is None:
            raise Closed(f"room {self.id} is not open; use `async with`")
        return self._connection.follower.view

    @property
    def version(self) -> int:
        return self.view.version

    @property
    def legal(self) -> list[actions_pb2.Action]:
        """What the player may do now, penalties left out; empty when it is up to others."""
        return list(self.view.legal.actions)

    @property
    def own_seat(self) -> int | None:
        """None for a spectator."""
        return self.view.own_seat if self.view.HasField("own_seat") else None

    @property
    def online(self) -> bool:
        """Whether a stream is open at this moment; while not, it is being opened."""
        return self._connection.online

    @property
    def over(self) -> bool:
        """Whether the room was closed or the connection ended for good."""
        return self._over

    # Following.

    async def events(self) -> AsyncIterator[RoomEvent]:
        """First a snapshot of now, then each version once, in order and without holes, and chat as it comes.

        A further snapshot stands where updates cannot: its `cause` says why. Ends when the room is closed; raises
        TakenOver when a newer stream plays the seat, Refused when the server lets nobody back."""
        backlog = _Backlog()
        self._backlogs.add(backlog)
        try:
            yield RoomSnapshot(self.view, SnapshotCause.ASKED)
            while True:
                while (event := backlog.pop(self)) is not None:
                    yield event
                if self._over:
                    if self._failure is not None:
                        raise self._failure
                    return
                await self._change.wait()
        finally:
            self._backlogs.discard(backlog)

    async def wait_until(
        self, condition: Callable[[room_pb2.RoomView], bool], timeout: float | None = None
    ) -> room_pb2.RoomView:
        """The first view for which `condition` holds. Raises TimeoutError after `timeout` seconds, Closed when the
        room was closed before."""
        async with asyncio.timeout(timeout):
            while not condition(self.view):
                if self._over:
                    raise self._failure or Closed(f"room {self.id} was closed")
                await self._change.wait()
        return self.view

    # Acting.

    async def act(self, action: actions_pb2.Action, *, version: int | None = None, timeout: float = ACT_SECONDS) -> int:
        """Attempts an action, decided on `version` (default: the present view's). Answers the version that it made,
        which `view` has reached by then.

        It is sent again with the same request id until it is answered, so it takes effect once. Raises Refused with
        the server's reason, Stale, Unavailable after `timeout` seconds (it may have taken effect), HistoryChanged."""
        if self._over:
            raise self._failure or Closed(f"room {self.id} is not connected")
        act = self._connection.submit(action, self.view.version if version is None else version)
        try:
            async with asyncio.timeout(timeout):
                made = await act.answer
                await self.wait_until(lambda view: view.version >= made)
                return made
        except TimeoutError:
            raise Unavailable(f"no answer within {timeout:g} s", outcome_unknown=True) from None
        finally:
            self._connection.drop(act)

    async def ready(self, contribution: bytes = b"") -> int:
        """Ready to start; `contribution`, up to 32 bytes, goes into the shuffles of the match."""
        return await self.act(actions.set_ready(True, contribution))

    async def add_bot(self, level: settings_pb2.BotLevel.ValueType = settings_pb2.BOT_LEVEL_HEURISTIC) -> int:
        """Host: a bot on any free seat."""
        return await self.act(actions.add_bot(level))

    async def start(self) -> int:
        """Host: start the match."""
        return await self.act(actions.start())

    async def leave(self) -> int:
        """Give the seat up; in a running match a bot plays on."""
        return await self.act(actions.leave_seat())

    # Opening and closing.

    async def open(self, timeout: float = OPEN_SECONDS) -> Self:
        """Connects and waits for the first view. Raises Refused, or Unavailable after `timeout` seconds."""
        self._task = asyncio.create_task(self._run(), name=f"maumau room {self.id}")
        try:
            async with asyncio.timeout(timeout):
                while self._connection.follower.view is None and not self._over:
                    await self._change.wait()
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise Unavailable(f"room {self.id} could not be opened within {timeout:g} s") from None
            raise
        if self._connection.follower.view is None:
            raise self._failure or Closed(f"room {self.id} was closed")
        return self

    async def close(self) -> None:
        """Ends the stream. The seat stays the player's; `leave` gives it up."""
        if self._task is None:
            return
        if self._connection.finish():
            await asyncio.wait([self._task], timeout=FAREWELL_SECONDS)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self) -> None:
        try:
            await self._connection.run()
        except MaumauError as error:
            self._failure = error
            self._connection.pending.fail_all(error)
        except Exception as error:
            self._failure = MaumauError(f"the connection to room {self.id} failed: {error!r}")
            self._failure.__cause__ = error
        finally:
            self._over = True
            self._notify()

    def _deliver(self, event: RoomEvent) -> None:
        for backlog in self._backlogs:
            backlog.push(event)

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


class _Backlog:
    """What one reader of `events()` has not read yet."""

    def __init__(self) -> None:
        self._events: deque[RoomEvent] = deque()
        self._overflowed = False

    def push(self, event: RoomEvent) -> None:
        if len(self._events) >= BACKLOG_EVENTS:
            self._events.clear()
            self._overflowed = True
        if not self._overflowed:
            self._events.append(event)

    def pop(self, room: Room) -> RoomEvent | None:
        if self._overflowed:
            self._overflowed = False
            return RoomSnapshot(room.view, SnapshotCause.READER_TOO_SLOW)
        return self._events.popleft() if self._events else None

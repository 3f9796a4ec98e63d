"""Keeps one room connected: opens a stream, follows it, and opens the next one where it left off.

What ends a stream without the caller noticing: a lost connection, a server that stops, a missing or late bookmark, a
hole in the versions, a session that ran out. What ends the connection: the room was closed, a newer stream of the
same player took over, or the server refuses (the room is hidden, the player is banned).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal

from maumau.backoff import Backoff
from maumau.calls import Calls
from maumau.errors import (
    Closed,
    HistoryChanged,
    MaumauError,
    RateLimited,
    Refused,
    SignInNeeded,
    Unavailable,
    from_refusal,
    is_lost_connection,
)
from maumau.follower import Follower, RoomChat, RoomEvent, SnapshotCause, VersionsMissing
from maumau.pending import PendingAct, PendingActs
from maumau.streams import Message, PlayStream, Stream, WatchStream
from maumau.v1 import actions_pb2, authority_pb2, authority_pb2_grpc, events_pb2, room_pb2

Mode = Literal["play", "unary", "watch"]
"""`play`: one two-way stream. `unary`: `Watch` and `Act`. `watch`: `Watch` alone, for spectators."""

BOOKMARK_SECONDS: Final = 25.0
"""Without a message for so long a stream counts as dead: the server sends a bookmark every 10 s."""
CATCH_UP_SECONDS: Final = 2.0
"""How long a version that a bookmark named may take to arrive."""
FIRST_WORD_SECONDS: Final = 1.0
"""How long actions wait on a new stream for the server's first message, which shows whether the history still holds."""
_STEADY_SECONDS: Final = 5.0
_REFUSALS_IN_A_ROW: Final = 5
_PASSING: Final = frozenset({"TOO_SLOW", "RATE_LIMITED", "INTERNAL", "DEADLINE_PASSED", "BAD_RESUME_TOKEN"})


class _RoomOver(Exception):  # noqa: N818 - an end, not a fault
    """The room was closed; nothing more will come."""


class RoomConnection:
    """The connection to one room. `deliver` gets each event once, in order; `changed` is called whenever anything
    about the room or the connection is different."""

    def __init__(
        self,
        calls: Calls,
        stub: authority_pb2_grpc.GameAuthorityServiceStub,
        room_id: str,
        mode: Mode,
        deliver: Callable[[RoomEvent], None],
        changed: Callable[[], None],
    ) -> None:
        self.follower = Follower()
        self.pending = PendingActs()
        self.online = False
        self._calls = calls
        self._stub = stub
        self._room_id = room_id
        self._mode = mode
        self._deliver = deliver
        self._changed = changed
        self._stream: Stream | None = None  # once it may carry actions
        self._token = ""
        self._leaving = False
        self._refusals = 0
        self._tasks: set[asyncio.Task[None]] = set()

    # The life of the connection.

    async def run(self) -> None:
        """Follows the room until it is closed. Raises MaumauError when the server refuses for good."""
        backoff = Backoff()
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                wait_at_least = await self._until_lost()
                if self._leaving:
                    return
                if loop.time() - began >= _STEADY_SECONDS:
                    backoff.reset()
                await asyncio.sleep(backoff.next_wait(wait_at_least))
        except _RoomOver:
            return
        except MaumauError as error:
            self.pending.fail_all(error)
            raise
        finally:
            await self._stop_tasks()

    def finish(self) -> bool:
        """Asks the server to end the present stream, upon which `run` returns; False where there is nothing to ask."""
        self._leaving = True
        if self._stream is None:
            return False
        self._stream.finish()
        return True

    async def _until_lost(self) -> float | None:
        """One stream. Answers what the server wants to be waited for at least."""
        try:
            await self._one_stream()
        except MaumauError as error:
            await self._judge(error)
            return getattr(error, "retry_after", None)
        finally:
            self._stream = None
            if self.online:
                self.online = False
                self._changed()
        return None

    async def _one_stream(self) -> None:
        self._token = await self._calls.tokens.token()
        opened = WatchStream if self._mode != "play" else PlayStream
        stream = opened(self._stub, self._room_id, self._token, self.follower.resume_token)
        later = asyncio.get_running_loop().call_later(FIRST_WORD_SECONDS, self._begin_sending, stream)
        try:
            await self._follow(stream)
        finally:
            later.cancel()
            await stream.close()

    async def _follow(self, stream: Stream) -> None:
        while True:
            try:
                async with asyncio.timeout(CATCH_UP_SECONDS if self.follower.behind else BOOKMARK_SECONDS):
                    message = await stream.read()
            except TimeoutError:
                return
            if message is None:
                return
            try:
                goes_on = self._take(stream, message)
            except VersionsMissing:
                return
            self._changed()
            if not goes_on:
                return
            if self._stream is None:
                self._begin_sending(stream)

    async def _judge(self, error: MaumauError) -> None:
        """Returns if another stream may be opened, else raises."""
        if is_lost_connection(error):
            return
        if isinstance(error, Refused) and error.reason == "ROOM_CLOSED":
            raise _RoomOver
        self._refusals += 1
        if not isinstance(error, Refused) or self._refusals > _REFUSALS_IN_A_ROW:
            raise error
        if error.reason == "BAD_RESUME_TOKEN":
            self.follower.resume_token = b""
        elif isinstance(error, SignInNeeded):
            await self._renew_token()
        elif error.reason not in _PASSING:
            raise error

    async def _renew_token(self) -> None:
        try:
            await self._calls.tokens.renew(self._token)
        except (Unavailable, RateLimited):
            return  # tried again with the next stream

    # Messages in.

    def _take(self, stream: Stream, message: Message) -> bool:
        """Takes one message; whether the stream goes on after it."""
        self.online = True
        self._refusals = 0
        match message.WhichOneof("message"):
            case "snapshot":
                self._take_snapshot(message.snapshot)
            case "update":
                self._take_update(message.update)
            case "bookmark":
                self.follower.take_bookmark(message.bookmark)
            case "chat":
                self._deliver(RoomChat(message.chat))
            case "announcement":
                said = message.announcement
                self._deliver(RoomChat(events_pb2.ChatMessage(text=said.text, time=said.time), by_operator=True))
            case "renew":
                self._spawn(self._renew_on(stream))
            case "go_away":
                if message.go_away.reason == room_pb2.GO_AWAY_REASON_ROOM_CLOSED:
                    raise _RoomOver
                return False
        if isinstance(message, authority_pb2.PlayResponse) and message.HasField("answer"):
            self._take_answer(message.answer)  # after the update that it may come with
        return True

    def _take_snapshot(self, snapshot: room_pb2.Snapshot) -> None:
        event = self.follower.take_snapshot(snapshot)
        if event.cause is SnapshotCause.HISTORY_CHANGED:
            self.pending.fail_all(HistoryChanged(event.view))
        self._deliver(event)

    def _take_update(self, update: room_pb2.Update) -> None:
        event = self.follower.take_update(update)
        if event is None:
            return
        if self.follower.uncertain:
            self._spawn(self._fetch_view())
        self._deliver(event)

    async def _fetch_view(self) -> None:
        while self.follower.uncertain:
            request = authority_pb2.GetRoomRequest(room_id=self._room_id)
            try:
                answer = await self._calls.call(self._stub.GetRoom, request, room_id=self._room_id, repeatable=True)
                self.follower.take_fetched(answer.snapshot.room)
            except MaumauError:
                return  # the next update that does not suffice asks again
        self._changed()

    async def _renew_on(self, stream: Stream) -> None:
        try:
            self._token = await self._calls.tokens.renew(self._token)
        except MaumauError:
            return  # the server ends the stream with TOKEN_EXPIRED, which is judged there
        stream.renew(self._token)

    # Actions out.

    def submit(self, action: actions_pb2.Action, version: int) -> PendingAct:
        """Sends an action as soon as a stream is ready for it, and again until it is answered or dropped."""
        act = self.pending.add(action, version)
        self._send_due()
        return act

    def drop(self, act: PendingAct) -> None:
        """Nobody waits for its answer any more."""
        self.pending.drop(act)
        act.answer.cancel()
        self._send_due()

    def _send_due(self) -> None:
        if self._mode != "play":
            for act in self.pending.due(self):
                self._begin_unary(act)
        elif self._stream is not None:
            for act in self.pending.due(self._stream):
                self._stream.send(act)

    def _begin_unary(self, act: PendingAct) -> None:
        task = self._spawn(self._act_unary(act))
        # Nobody waits any more, or the history is another: then it must not be sent once more.
        act.answer.add_done_callback(lambda _: task.cancel())

    def _begin_sending(self, stream: Stream) -> None:
        if not stream.carries_acts or self._stream is stream:
            return
        self._stream = stream
        self._send_due()

    def _take_answer(self, answer: authority_pb2.PlayResponse.Answer) -> None:
        act = self.pending.find(answer.request_id)
        if act is None or act.answer.done():
            return
        if not answer.HasField("refusal"):
            act.answer.set_result(answer.version)
            self._send_due()
            return
        error = from_refusal(answer.refusal)
        if isinstance(error, SignInNeeded):
            raise error  # of the stream rather than of the action, which goes out again on the next one
        if isinstance(error, Unavailable):
            wait = Backoff().next_wait(error.retry_after)
            asyncio.get_running_loop().call_later(wait, self._send_again, act)
            return
        act.answer.set_exception(error)
        self._send_due()

    def _send_again(self, act: PendingAct) -> None:
        if self._stream is not None and self.pending.find(act.request_id) is act:
            self._stream.send(act)

    async def _act_unary(self, act: PendingAct) -> None:
        request = act.act_request(self._room_id)
        try:
            answer = await self._calls.call(self._stub.Act, request, room_id=self._room_id, repeatable=True)
        except MaumauError as error:
            if not act.answer.done():
                act.answer.set_exception(error)
        else:
            if not act.answer.done():
                act.answer.set_result(answer.version)
        self._send_due()

    # Tasks beside the stream.

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _stop_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.pending.fail_all(Closed(f"room {self._room_id} is no longer connected"))

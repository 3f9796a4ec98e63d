"""A person at a client: follows a room over streams that break, acts by the legal actions it is shown, repeats what it
does not know the outcome of, goes away and comes back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from maumau.follower import Follower
from maumau.v1 import room_pb2
from maumau.v1.actions_pb2 import Action
from maumau.v1.authority_pb2 import ActRequest, PlayRequest, PlayResponse, WatchRequest

from services.wire.actions import read_action
from services.wire.resume import read_resume_token
from tests.simulation.calls import Call, CallLost, CallRefused
from tests.simulation.loop import Node
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

SILENCE_SECONDS: Final = 25.0
"""A stream without a bookmark for so long is given up."""
ANSWER_SECONDS: Final = 6.0
PATIENCE_SECONDS: Final = 90.0
"""How long an action may wait for its outcome after the last fault."""

UNSURE: Final = frozenset({"OUTCOME_UNKNOWN", "STORE_UNAVAILABLE", "SERVICE_UNAVAILABLE", "STOPPING"})
"""Answers after which the same request is sent again."""
_TIMID: Final = frozenset({"draw", "pass"})
LATE: Final = frozenset({"TAKEN_OVER", "ROOM_NOT_FOUND"})


class Manner(NamedTuple):
    """How a client behaves. Times in seconds."""

    plays: bool
    think: float
    dawdles: float
    away: float
    stale: float
    other_process: float


class _Pending(NamedTuple):
    request_id: bytes
    answer: asyncio.Future[Any]


class Client:
    """See the module. `seat` is None for a spectator."""

    def __init__(self, world: World, player: str, room: str, chance: random.Random, manner: Manner, *, seated: bool):
        self.world = world
        self.player = player
        self.room = room
        self.node = Node(world.loop, player)
        self.follower = Follower()
        self.point: tuple[int, bytes] | None = None
        self.over = False
        self._reads = asyncio.Event()
        self._reads.set()
        self.leaving = False
        self._seated = seated
        self._chance = chance
        self._manner = manner
        self._call: Call | None = None
        self._process: Process | None = None
        self._pending: dict[bytes, asyncio.Future[Any]] = {}
        self._heard = 0.0
        self._moved = asyncio.Event()
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._renewals = 0
        self.work = [self.node.spawn(self._follow(), "follow")]
        if seated:
            self.work.append(self.node.spawn(self._act(), "act"))

    # Following.

    async def _follow(self) -> None:
        while not self.over:
            await self._goes_on.wait()
            try:
                await self._one_stream()
            except CallLost as lost:
                self.world.note(self, f"stream lost: {lost}")
            except CallRefused as refused:
                self.world.note(self, f"stream refused: {refused.reason}")
                self._judge(refused.reason)
            self._fail_pending()
            await asyncio.sleep(0.05 + self._chance.random() * 0.5)

    def _judge(self, reason: str) -> None:
        if reason == "ROOM_NOT_FOUND" and self._seated and not self.world.room_gone(self.room):
            self.world.oracle.broken("stream", f"{self.player} was told that its room does not exist")
        if reason in ("BAD_RESUME_TOKEN", "INTERNAL"):
            self.world.oracle.broken("stream", f"{self.player}: {reason}")
        if reason == "ROOM_NOT_FOUND":
            self.over = True

    async def _one_stream(self) -> None:
        process = self._process = self.world.some_process()
        session = self.world.session(self.player)
        token = self.follower.resume_token
        if self._manner.plays:
            call = process.open(self.node, session, "Play")
            call.send(PlayRequest(open=PlayRequest.Open(room_id=self.room, resume_token=token)))
        else:
            call = process.open(self.node, session, "Watch")
            call.send(WatchRequest(room_id=self.room, resume_token=token))
        self._call = call
        self._heard = asyncio.get_running_loop().time()
        guard = self.node.after(SILENCE_SECONDS, self._check_silence, call)
        try:
            while (message := await call.receive()) is not None:
                self._heard = asyncio.get_running_loop().time()
                self._take(PlayResponse.FromString(message))
                await self._reads.wait()
        finally:
            guard.cancel()
            self._call = None
            call.cut()

    def _check_silence(self, call: Call) -> None:
        left = self._heard + SILENCE_SECONDS - asyncio.get_running_loop().time()
        if self._call is not call:
            return
        if left <= 0 and self._reads.is_set():
            call.cut()
        else:
            self.node.after(max(left, 1.0), self._check_silence, call)

    def _take(self, message: PlayResponse) -> None:
        match message.WhichOneof("message"):
            case "snapshot":
                self._take_snapshot(message.snapshot)
            case "update":
                self._take_update(message.update)
            case "bookmark":
                self._take_bookmark(message.bookmark)
            case "renew" if self._call is not None and self._manner.plays:
                self._renewals += 1
                self._call.send(PlayRequest(renewal=PlayRequest.Renewal(token=self.player)))
        if message.HasField("answer"):
            self._take_answer(message.answer)
        self._moved.set()

    def _take_snapshot(self, snapshot: room_pb2.Snapshot) -> None:
        version, mark = read_resume_token(snapshot.resume_token, self.room)
        self.world.oracle.saw_snapshot(self.room, self.player, snapshot, mark, self.point)
        self.world.views.check_snapshot(self, snapshot, mark)
        self.follower.take_snapshot(snapshot)
        self.point = version, mark
        self.world.note(self, f"snapshot {version} {room_pb2.SnapshotReason.Name(snapshot.reason)[16:]}")

    def _take_update(self, update: room_pb2.Update) -> None:
        version, mark = read_resume_token(update.resume_token, self.room)
        new = version, mark
        self.world.note(self, f"update {update.version}")
        if self.point is None or new[0] != update.version:
            self.world.oracle.broken("order", f"{self.player} got an update before a view")
            return
        record = self.world.oracle.saw_update(self.room, self.player, self.point, new)
        if record is None:
            return
        self.world.views.check_update(self, update, record)
        self.follower.take_update(update)
        self.point = new
        self.world.views.check_view(self, record)

    def _take_bookmark(self, bookmark: room_pb2.Bookmark) -> None:
        self.follower.take_bookmark(bookmark)

    def _take_answer(self, answer: PlayResponse.Answer) -> None:
        waiting = self._pending.get(answer.request_id)
        if waiting is not None and not waiting.done():
            if answer.HasField("refusal"):
                waiting.set_result(CallRefused(answer.refusal.reason.removeprefix("ERROR_REASON_"), {}))
            else:
                waiting.set_result(answer.version)
                self.world.views.check_answer(self, answer.version)

    def _fail_pending(self) -> None:
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_result(CallLost("the stream ended"))

    # Acting.

    async def _act(self) -> None:
        while not self.over:
            self._moved.clear()
            action = self._choose()
            if action is None:
                await self._until_moved()
                continue
            decided = self.follower.version
            await asyncio.sleep(self._thinking())
            if self._chance.random() > self._manner.stale and decided != self.follower.version:
                continue
            await self._goes_on.wait()
            await self._attempt(action, decided)

    async def _until_moved(self) -> None:
        try:
            await asyncio.wait_for(self._moved.wait(), 5.0)
        except TimeoutError:
            return

    def _thinking(self) -> float:
        if not self.world.calm and self._chance.random() < self._manner.dawdles:
            return self._chance.uniform(20.0, 60.0)
        return self._manner.think * (0.1 + self._chance.random())

    def _choose(self) -> Action | None:
        """What a person does now, if anything."""
        view = self.follower.view
        if view is None or not view.HasField("own_seat"):
            return None
        seat = view.seats[view.own_seat]
        match view.state:
            case room_pb2.ROOM_STATE_OPEN | room_pb2.ROOM_STATE_READY_CHECK if not seat.ready:
                contribution = self._chance.randbytes(4)
                return Action(set_ready=Action.SetReady(ready=True, contribution=contribution))
            case room_pb2.ROOM_STATE_OPEN if view.host_player_id == self.player and self._all_ready(view):
                return Action(start=Action.Start())
            case room_pb2.ROOM_STATE_PAUSE if not seat.round_ready and self._chance.random() < 0.7:
                return Action(ready_for_round=Action.ReadyForRound())
            case room_pb2.ROOM_STATE_PLAYING if view.legal.actions:
                return self._sensible(view.legal.actions)
        return None

    def _sensible(self, actions: Sequence[Action]) -> Action:
        """Mostly what brings the match to its end, as people do."""
        bold = [action for action in actions if action.WhichOneof("action") not in _TIMID]
        if bold and self._chance.random() < 0.9:
            return self._chance.choice(bold)
        return self._chance.choice(actions)

    @staticmethod
    def _all_ready(view: room_pb2.RoomView) -> bool:
        taken = [seat for seat in view.seats if seat.display_name]
        return all(seat.ready or not seat.player_id for seat in taken)

    async def _attempt(self, action: Action, decided: int) -> None:
        """One action, sent again under the same id until its outcome is known."""
        request_id = self._chance.randbytes(16)
        meant = read_action(action, self.player)
        oracle = self.world.oracle
        first = asyncio.get_running_loop().time()
        while not self.over and min(self.world.calm_for, self._since(first)) < PATIENCE_SECONDS:
            try:
                version = await self._send(request_id, action, decided)
            except CallLost:
                await asyncio.sleep(0.2 + self._chance.random())
                continue
            except CallRefused as refused:
                if refused.reason == "INTERNAL":
                    oracle.broken("action", f"{self.player}: INTERNAL for {meant!r}")
                if refused.reason in UNSURE:
                    await asyncio.sleep(0.2 + self._chance.random())
                    continue
                self.world.note(self, f"refused {refused.reason} {meant!r} decided on {decided}")
                if refused.reason not in LATE:
                    # The answer may be that to an earlier sending: a refusal is known by the id alone.
                    oracle.refused(self.room, self.player, meant, decided, refused.reason, first, request_id)
                await asyncio.sleep(0.3)
                return
            self.world.note(self, f"accepted {version} {meant!r}")
            oracle.accepted(self.room, self.player, request_id, version, meant)
            return
        if not self.over:
            oracle.broken("action", f"{self.player} gets no answer for {meant!r}")

    @staticmethod
    def _since(moment: float) -> float:
        return asyncio.get_running_loop().time() - moment

    async def _send(self, request_id: bytes, action: Action, decided: int) -> int:
        call = self._call
        if self._manner.plays and call is not None and self._chance.random() > self._manner.other_process:
            return await self._send_on(call, request_id, action, decided)
        process = self.world.some_process()
        if self._process is not None and self._process.serving and self._chance.random() > self._manner.other_process:
            process = self._process
        request = ActRequest(room_id=self.room, request_id=request_id, version=decided, action=action)
        response = await process.ask(self.node, self.world.session(self.player), "Act", request, ANSWER_SECONDS)
        version: int = response.version
        return version

    async def _send_on(self, call: Call, request_id: bytes, action: Action, decided: int) -> int:
        waiting = self._pending[request_id] = asyncio.get_running_loop().create_future()
        act = PlayRequest.Act(request_id=request_id, version=decided, action=action)
        call.send(PlayRequest(act=act))
        try:
            answer = await asyncio.wait_for(waiting, ANSWER_SECONDS)
        except TimeoutError:
            raise CallLost("no answer in time") from None
        finally:
            del self._pending[request_id]
        if isinstance(answer, Exception):
            raise answer
        version: int = answer
        return version

    # What may happen to it.

    def vanish(self) -> None:
        """The machine stands still; its connection is found dead after 10 s."""
        self.node.freeze()
        if self._call is not None:
            self._call.server.after(10.0, self._call._cancel)
            self._call.over = True

    def come_back(self) -> None:
        call = self._call
        self.node.thaw()
        if call is not None and call.over:
            call.cut()

    def go_away(self) -> None:
        """Ends its stream on purpose and stays away."""
        self._goes_on.clear()
        if self._call is not None:
            self._call.finish()

    def stop_reading(self) -> None:
        """Leaves what comes where it is."""
        self._reads.clear()

    def read_on(self) -> None:
        self._reads.set()

    def return_from_away(self) -> None:
        self._goes_on.set()

    def drop(self) -> None:
        """The connection breaks."""
        if self._call is not None:
            self._call.cut(self._chance.choice([0.02, 0.5, 8.0]))

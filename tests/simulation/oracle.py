"""What must hold, checked all through a run. The oracle sees every commit as Redis runs it, and everything that clients
are told; it trusts neither the scripts nor the authority, and computes anew what it can."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

import msgspec
from maumau.v1 import room_pb2
from msgspec.structs import replace

from services.rules import engine
from services.rules.room.actions import Actor, Clock, Player, RoomAction, Timeout
from services.rules.room.apply import apply
from services.rules.room.clock import TimerKind
from services.rules.room.codec import decode, encode
from services.rules.room.journal import LogEntry, decode_entry
from services.rules.room.reasons import AlreadyDone, NotDue
from services.rules.room.state import Room, RoomPhase
from services.rules.room.step import Context, RoomStep
from services.store import scripts
from services.store.keys import RoomId, partition_of
from services.store.packing import unpack_outages
from tests.simulation.clocks import TurnWatch
from tests.simulation.redis_server import RedisServer

NO_MARK: Final = bytes(8)
_unpack = msgspec.msgpack.Decoder(list[int]).decode


class Violation(NamedTuple):
    """One broken promise."""

    at: float
    what: str
    said: str

    def __str__(self) -> str:
        return f"{self.at:9.3f} {self.what}: {self.said}"


class Record(NamedTuple):
    """One commit as Redis ran it."""

    version: int
    mark: bytes
    before: bytes
    time: int
    clock: list[int]
    room: Room
    entry: LogEntry

    @property
    def point(self) -> tuple[int, bytes]:
        return self.version, self.mark


class History:
    """One room: its present history, all that ever was, and which version was the newest when."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.known: dict[tuple[int, bytes], Record] = {}
        self.lost: set[tuple[int, bytes]] = set()
        self.heads: list[tuple[float, Record]] = []
        self.requests: dict[tuple[str, bytes], int] = {}
        self.cards: dict[int, Counter[Any]] = {}

    @property
    def head(self) -> Record:
        return self.records[-1]

    def newest_between(self, began: float, ended: float) -> Iterator[Record]:
        """Everything that was the newest at some time of that span."""
        for place, (at, record) in enumerate(self.heads):
            until = self.heads[place + 1][0] if place + 1 < len(self.heads) else float("inf")
            if at <= ended and until >= began:
                yield record


class Oracle:
    """See the module. `violations` is empty as long as all promises hold."""

    def __init__(self, redis: RedisServer, moment: Any) -> None:
        self.violations: list[Violation] = []
        self.rooms: dict[str, History] = defaultdict(History)
        self.watch = TurnWatch(self.broken)
        self.commits = 0
        self._redis = redis
        self._moment = moment
        redis.observers.append(self._script_ran)
        redis.rolled_back.append(self._rolled_back)

    def broken(self, what: str, said: str) -> None:
        self.violations.append(Violation(self._moment(), what, said))

    # What Redis did.

    def _script_ran(self, sha: str, keys: list[str], args: tuple[bytes, ...], reply: Any) -> None:
        now = self._redis.db.now
        if sha == scripts.COMMIT.sha:
            self.watch.compared(partition_of(RoomId(args[0].decode())), now)
            if reply[0] == 0:
                self._committed(args, reply)
        elif sha == scripts.SWEEP.sha:
            partition = int(keys[0].split("{")[1].split("}")[0])
            if reply is None:
                self.watch.idle(partition)
            else:
                self.watch.pulsed(partition, now)
        elif sha == scripts.REARM.sha and reply is not None:
            self.watch.rearmed(args[0].decode(), _unpack(reply[1]), reply[0])

    def _committed(self, args: tuple[bytes, ...], reply: Any) -> None:
        self.commits += 1
        name, version = args[0].decode(), int(args[1]) + 1
        history = self.rooms[name]
        stored = self._redis.db.get(f"s:{{{partition_of(RoomId(name))}}}:log:{name}").entries[-1]
        fields = dict(zip(stored[1][::2], stored[1][1::2], strict=True))
        record = Record(
            version, args[3], fields[b"b"], reply[1], _unpack(reply[2]), decode(args[4]), decode_entry(args[5])
        )
        previous = history.records[-1] if history.records else None
        self._check_chain(name, previous, record)
        self._check_replay(name, previous, record)
        self._check_cards(name, history, record.room)
        self._check_requests(name, history, previous, record)
        self.watch.committed(name, previous, record)
        history.records.append(record)
        history.known[record.point] = record
        history.heads.append((self._moment(), record))

    def _rolled_back(self) -> None:
        for name, history in self.rooms.items():
            stored = self._redis.db.get(f"s:{{{partition_of(RoomId(name))}}}:room:{name}") or {}
            version = int(stored.get(b"v", 0))
            for record in history.records[version:]:
                history.lost.add(record.point)
            if version < len(history.records):
                del history.records[version:]
                history.requests = {key: at for key, at in history.requests.items() if at <= version}
                if history.records:
                    history.heads.append((self._moment(), history.head))
            if history.records:
                outages = self._redis.db.get(f"s:{{{partition_of(RoomId(name))}}}:outages") or {}
                pulse = int(outages[b"p"]) if b"p" in outages else None
                known = unpack_outages(partition_of(RoomId(name)), outages.get(b"o"))
                self.watch.restored(name, _unpack(stored[b"c"]), pulse, known)

    def _check_chain(self, name: str, previous: Record | None, record: Record) -> None:
        version, mark = (0, NO_MARK) if previous is None else previous.point
        if record.version != version + 1 or record.before != mark:
            self.broken("history", f"{name}: version {record.version} does not follow on {version}")
        if record.room.version != record.version:
            self.broken("history", f"{name}: version {record.version} holds the state of {record.room.version}")

    def _check_replay(self, name: str, previous: Record | None, record: Record) -> None:
        """The state is what the logged action makes of the state before."""
        before = None if previous is None else previous.room
        for absent in _who_may_be_absent(record):
            try:
                step = _replayed(before, record, absent)
            except NotDue:
                continue
            except Exception as error:
                self.broken("replay", f"{name}: version {record.version} cannot follow: {error!r}")
                return
            if _content(step.room) == _content(record.room) and step.events == record.entry.events:
                return
        self.broken("replay", f"{name}: version {record.version} is not what its action leads to")

    def _check_cards(self, name: str, history: History, room: Room) -> None:
        if room.match is None or room.phase is not RoomPhase.PLAYING:
            return
        cards = Counter(engine.cards(room.match.state))
        if history.cards.setdefault(room.match.number, cards) != cards:
            self.broken("cards", f"{name}: cards were lost or made by version {room.version}")

    def _check_requests(self, name: str, history: History, previous: Record | None, record: Record) -> None:
        known = {} if previous is None else previous.room.requests
        for player, accepted in record.room.requests.items():
            for request in accepted:
                if request in known.get(player, ()):
                    continue
                key = player, request.request_id
                if key in history.requests:
                    self.broken("request", f"{name}: one request of {player or 'the clock'} took effect twice")
                history.requests[key] = request.version

    # What clients were told.

    def accepted(self, name: str, player: str, request_id: bytes, version: int, action: RoomAction) -> None:
        """A client got OK. Its action stands at that version of some history (the present one, unless that was rolled
        back), under that request id; or it changed nothing."""
        for point, record in self.rooms[name].known.items():
            if point[0] != version:
                continue
            if record.entry.actor == Player(player) and record.entry.action == action:
                known = record.room.requests.get(player, ())
                if any(request.request_id == request_id and request.version == version for request in known):
                    return
        if not self._changes_nothing(name, player, version, action):
            self.broken("accepted", f"{name}: {action!r} of {player} is not version {version}")

    def _changes_nothing(self, name: str, player: str, version: int, action: RoomAction) -> bool:
        for point, record in self.rooms[name].known.items():
            if point[0] == version and _attempt(record.room, Player(player), action, version) is AlreadyDone:
                return True
        return False

    def refused(
        self, name: str, player: str, action: RoomAction, decided: int, reason: str, began: float, request: bytes
    ) -> None:
        """A client was refused between `began` and now: some state that was the newest meanwhile must refuse it."""
        history = self.rooms[name]
        for record in history.newest_between(began, self._moment()):
            outcome = _attempt(record.room, Player(player), action, decided, request)
            if outcome is not None and outcome is not AlreadyDone:
                return
        self.broken(
            "refusal", f"{name}: {reason} for {action!r} of {player}, decided on {decided}, was no newest state's"
        )

    def saw_snapshot(
        self, name: str, player: str, snapshot: room_pb2.Snapshot, mark: bytes, point: tuple[int, bytes] | None
    ) -> None:
        """A client got a whole view; it had got as far as `point`."""
        history = self.rooms[name]
        asked = snapshot.reason == room_pb2.SNAPSHOT_REASON_ASKED
        if asked != (point is None):
            self.broken("snapshot", f"{player} at {point} got {room_pb2.SnapshotReason.Name(snapshot.reason)}")
        elif not asked and point not in history.lost:
            reason = room_pb2.SnapshotReason.Name(snapshot.reason)
            self.broken("false alarm", f"{player} was told {reason} at version {point and point[0]}, which stands")
        if (snapshot.room.version, mark) not in history.known:
            self.broken("snapshot", f"{player} got a view of version {snapshot.room.version} that never was")

    def saw_update(self, name: str, player: str, point: tuple[int, bytes], new: tuple[int, bytes]) -> Record | None:
        """A client that had got as far as `point` got the next version: the record that it must be of."""
        record = self.rooms[name].known.get(new)
        if new[0] != point[0] + 1:
            self.broken("order", f"{player} got version {new[0]} after {point[0]}")
        elif record is None:
            self.broken("order", f"{player} got a version {new[0]} that never was")
        elif record.before != point[1]:
            self.broken("order", f"{player} was led from one history to another at version {new[0]}")
        else:
            return record
        return None


def _who_may_be_absent(record: Record) -> list[frozenset[int]]:
    """What a timeout does depends on who is there, which the log does not tell: some absent people must explain it."""
    people = [number for number, _ in record.room.people()]
    if not isinstance(record.entry.action, Timeout):
        return [frozenset()]
    return [frozenset(chosen) for size in range(len(people) + 1) for chosen in combinations(people, size)]


def _replayed(before: Room | None, record: Record, absent: frozenset[int]) -> RoomStep:
    ahead = record.room.upcoming
    context = Context(match_id=ahead.match_id, seed=ahead.seed, absent=absent)
    return apply(before, record.entry.actor, record.entry.action, context)


def _content(room: Room) -> bytes:
    return encode(replace(room, requests={}))


def _attempt(room: Room, actor: Actor, action: RoomAction, decided: int, request: bytes | None = None) -> Any:
    """None if accepted, AlreadyDone, or the exception that refuses it."""
    try:
        apply(room, actor, action, Context(version=decided, match_id="m", seed=bytes(32), request_id=request))
    except AlreadyDone:
        return AlreadyDone
    except Exception as error:
        return error
    return None


def timed_out(record: Record, *kinds: TimerKind) -> bool:
    """Whether the clock made this version, for a deadline of one of these kinds."""
    action = record.entry.action
    return isinstance(record.entry.actor, Clock) and isinstance(action, Timeout) and action.kind in kinds

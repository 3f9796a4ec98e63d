"""The Lua scripts of the store, once more in Python: the same checks, the same writes, the same replies.

`test_twin.py` runs the same operations against these and against a real server and compares. Where a script changes,
its twin changes with it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from redis.exceptions import ResponseError

from services.store import scripts
from tests.simulation.commands import add, by_score, hdel, hget, id_text, next_id
from tests.simulation.keyspace import Keyspace

Publish = Callable[[str, bytes], None]
Args = tuple[bytes, ...]

GAP_MS: Final = 3_000
KEPT: Final = 32
WRITE_EVERY_MS: Final = 500
NO_MARK: Final = bytes(8)
TURN, WINDOW, DEADLINE, KIND, FROM, CREDITED, BANKS = range(7)

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class Checks(NamedTuple):
    """What a control may switch off."""

    mark_compare: bool = True
    early_refused: bool = True
    outages_credited: bool = True


ALL_CHECKS: Final = Checks()


class Scripts:
    """The scripts by their SHA-1, over one keyspace. `publish` hears what is published, `committed` of each commit."""

    def __init__(self, db: Keyspace, publish: Publish, checks: Checks) -> None:
        self._db = db
        self._publish = publish
        self._checks = checks
        self.by_sha: dict[str, Callable[[list[str], Args], Any]] = {
            scripts.COMMIT.sha: self.commit,
            scripts.REARM.sha: self.rearm,
            scripts.SWEEP.sha: self.sweep,
            scripts.READ.sha: self.read,
            scripts.GLANCE.sha: self.glance,
            scripts.RETIRE.sha: self.retire,
            scripts.ENTER.sha: self.enter,
            scripts.PRESENT.sha: self.present,
            scripts.ANNOUNCE.sha: self.announce,
            scripts.FLEET.sha: self.fleet,
            scripts.REFUSED.sha: self.refused,
            scripts.CONFIRM.sha: self.confirm,
        }

    # Rooms.

    def commit(self, keys: list[str], args: Args) -> list[Any]:
        db, now = self._db, self._db.now
        room, log, deadlines, outbox, listed, channel, outages_key = keys
        stored = db.get(room) or {}
        version, mark = int(stored.get(b"v", 0)), stored.get(b"m", NO_MARK)
        wanted = int(args[1])

        def newest() -> list[Any]:
            return [1, version, mark, stored.get(b"s"), stored.get(b"c"), now]

        if version == 0 and wanted > 0:
            hdel(db, deadlines, args[0])
            hdel(db, listed, args[0])
            return [4]
        if version != wanted or (wanted > 0 and mark != args[2] and self._checks.mark_compare):
            return newest()
        if version == 0 and db.get(log) is not None:
            return [5]

        change = _Change(*_unpack(args[6]))
        pulse = _int(hget(db, outages_key, b"p"))
        last = _int(hget(db, outages_key, b"n")) or 0
        outages = hget(db, outages_key, b"o")
        if pulse is not None and _is_outage(pulse, now):
            last += 1
            outages = self._record_outage(outages_key, last, pulse, outages)

        clock: list[int] = _unpack(stored[b"c"]) if b"c" in stored else [0, 0, 0, 0, 0, last]
        deadline_before = clock[DEADLINE]
        if change.due > 0:
            if clock[KIND] != change.due:
                return newest()
            if now < clock[DEADLINE] and self._checks.early_refused:
                return [2, clock[DEADLINE] - now]
        if change.due > 0 and clock[CREDITED] < last:
            return [3, clock[CREDITED], last]
        self._change_clock(clock, change, outages, last, now)

        packed, version = _pack(clock), version + 1
        entries = db.stream(log)
        if (version, 0) <= entries.last:
            return [5]
        before = mark
        kept = [b"s", args[4]] if args[11] == b"1" else []
        entry = [b"p", args[5], b"m", args[3], b"b", before, b"t", b"%d" % now, b"c", packed, *kept]
        add(entries, (version, 0), entry)
        fields = db.table(room)
        had_lifetime = b"x" in fields
        fields.update({b"v": b"%d" % version, b"m": args[3], b"s": args[4], b"c": packed})
        if clock[DEADLINE] > 0:
            db.table(deadlines)[args[0]] = clock[DEADLINE]
            if pulse is None:
                db.table(outages_key)[b"p"] = b"%d" % now
        elif deadline_before > 0:
            hdel(db, deadlines, args[0])
        outbox_id = self._post(outbox, room, args, version)
        self._list(listed, args)
        self._set_lifetime(room, log, int(args[9]), had_lifetime)
        header = struct.pack(">BQ8s8sQII", 1, version, args[3], before, now, len(packed), len(args[5]))
        self._publish(channel, header + packed + args[5] + args[4])
        return [0, now, packed, outbox_id]

    def _change_clock(self, clock: list[int], change: _Change, outages: bytes | None, last: int, now: int) -> None:
        if change.credit and clock[CREDITED] < last:
            assert outages is not None
            _credit_outages(clock, outages, last, credited=self._checks.outages_credited)
        if change.charge >= 0:
            _charge(clock, change, now)
        if change.banks is not False:
            clock[BANKS:] = change.banks
        if change.restart_turn:
            clock[TURN] = now
        if change.restart_window:
            clock[WINDOW] = now
        if change.pending is not False:
            _set_deadline(clock, change.pending, now)

    def _post(self, outbox: str, room: str, args: Args, version: int) -> bytes | None:
        if not args[7]:
            return None
        stream = self._db.stream(outbox)
        entry_id = next_id(stream, self._db.now)
        fields = self._db.table(room)
        fields[b"o"] = b"%d" % (int(fields.get(b"o", 0)) + 1)
        add(stream, entry_id, [b"r", args[0], b"v", b"%d" % version, b"b", args[7]])
        return id_text(entry_id)

    def _list(self, listed: str, args: Args) -> None:
        if args[8][:1] == b"-":
            hdel(self._db, listed, args[0])
        elif args[8][:1] == b"+":
            self._db.table(listed)[args[0]] = args[8][1:]

    def _set_lifetime(self, room: str, log: str, lifetime: int, had_lifetime: bool) -> None:
        db = self._db
        if lifetime > 0:
            db.table(room)[b"x"] = b"%d" % lifetime
            if b"o" not in db.table(room):
                db.expire_at(room, db.now + lifetime)
                db.expire_at(log, db.now + lifetime)
        elif had_lifetime:
            hdel(db, room, b"x")
            db.persist(room)
            db.persist(log)

    def rearm(self, keys: list[str], args: Args) -> list[Any] | None:
        db, now = self._db, self._db.now
        stored = db.get(keys[0]) or {}
        if stored.get(b"v") != args[1] or stored.get(b"m") != args[2]:
            return None
        clock: list[int] = _unpack(stored[b"c"])
        if clock[CREDITED] < (_int(hget(db, keys[2], b"n")) or 0):
            return None
        granted, used_field = 0, b"g" + args[5]
        if args[5]:
            granted = min(int(args[7]), int(args[8]) - (_int(stored.get(used_field)) or 0))
            if stored.get(b"gt") == args[6] or granted <= 0:
                return None
        if args[4] == b"1":
            clock[TURN] = now
        _set_deadline(clock, _unpack(args[3]), now)
        if granted > 0 and clock[DEADLINE] > 0:
            clock[DEADLINE] = max(clock[DEADLINE], now + granted)
        packed = _pack(clock)
        fields = db.table(keys[0])
        if granted > 0:
            fields[used_field] = b"%d" % ((_int(fields.get(used_field)) or 0) + granted)
            fields[b"gt"] = args[6]
        fields[b"c"] = packed
        if clock[DEADLINE] > 0:
            db.table(keys[1])[args[0]] = clock[DEADLINE]
        else:
            hdel(db, keys[1], args[0])
        return [now, packed]

    def read(self, keys: list[str], args: Args) -> list[Any]:
        stored = self._db.get(keys[0]) or {}
        return [*(stored.get(field) for field in (b"v", b"m", b"s", b"c")), self._db.now]

    def glance(self, keys: list[str], args: Args) -> list[Any]:
        stored = self._db.get(keys[0]) or {}
        return [*(stored.get(field) for field in (b"v", b"m", b"c")), self._db.now]

    def retire(self, keys: list[str], args: Args) -> int:
        db = self._db
        room, log, deadlines, listed, presence = keys
        if hget(db, room, b"m") != args[1]:
            return 0
        owed = hget(db, room, b"o") is not None
        if args[2] == b"0":
            hdel(db, deadlines, args[0])
            hdel(db, listed, args[0])
            if not owed:
                for key in (room, log, presence):
                    db.drop(key)
                return 1
        db.table(room)[b"x"] = b"%d" % max(1, int(args[2]))
        if not owed:
            db.expire_at(room, db.now + int(args[2]))
            db.expire_at(log, db.now + int(args[2]))
        return 1

    # Partitions.

    def sweep(self, keys: list[str], args: Args) -> list[Any] | None:
        db, now = self._db, self._db.now
        table = db.get(keys[1]) or {}
        pulse, last = _int(hget(db, keys[0], b"p")), _int(hget(db, keys[0], b"n")) or 0
        if not table:
            if pulse is not None:
                hdel(db, keys[0], b"p")
            return None
        found = None
        if pulse is not None and _is_outage(pulse, now):
            last += 1
            found = [last, pulse, now]
            self._record_outage(keys[0], last, pulse, hget(db, keys[0], b"o"))
        elif pulse is None or now - pulse >= WRITE_EVERY_MS:
            db.table(keys[0])[b"p"] = b"%d" % now
        earliest = min(table.values())
        reply = [now, earliest, found, last]
        due = by_score(table, -float("inf"), now - int(args[1]))[: int(args[0])]
        for member in due:
            reply += [member, b"%d" % table[member]]
        return reply

    def _record_outage(self, key: str, number: int, pulse: int, packed: bytes | None) -> bytes:
        now = self._db.now
        outages = _unpack(packed) if packed else []
        outages = [*outages, [number, pulse, now]][-KEPT:]
        repacked = _pack(outages)
        self._db.table(key).update({b"p": b"%d" % now, b"n": b"%d" % number, b"o": repacked})
        return repacked

    # Beside the rooms.

    def enter(self, keys: list[str], args: Args) -> int:
        db, now = self._db, self._db.now
        gone = by_score(db.get(keys[0]) or {}, -float("inf"), now)
        hdel(db, keys[0], *gone)
        members = db.table(keys[0])
        added = int(args[0] not in members)
        members[args[0]] = now + int(args[1])
        db.expire_at(keys[0], now + int(args[1]))
        return added

    def present(self, keys: list[str], args: Args) -> list[bytes]:
        return by_score(self._db.get(keys[0]) or {}, self._db.now + 1, float("inf"))

    def announce(self, keys: list[str], args: Args) -> int:
        db, now = self._db, self._db.now
        for process in by_score(db.get(keys[0]) or {}, -float("inf"), now - int(args[2]))[:100]:
            hdel(db, keys[0], process)
            hdel(db, keys[1], process)
        db.table(keys[0])[args[0]] = now
        db.table(keys[1])[args[0]] = args[1]
        return now

    def fleet(self, keys: list[str], args: Args) -> list[bytes]:
        processes = by_score(self._db.get(keys[0]) or {}, self._db.now - int(args[0]), float("inf"))
        return [part for process in processes for part in (process, hget(self._db, keys[1], process) or b"")]

    def refused(self, keys: list[str], args: Args) -> int:
        db = self._db
        outbox, refusals, dead, room, log, copy = keys
        entry_id = tuple(map(int, args[0].split(b"-")))
        stream = db.get(outbox)
        entry = next((fields for known, fields in stream.entries if known == entry_id), None) if stream else None
        if entry is None:
            return 0
        count = (_int(hget(db, refusals, args[0])) or 0) + 1
        db.table(refusals)[args[0]] = b"%d" % count
        if count < int(args[1]):
            return count
        dead_ones = db.stream(dead)
        if (kept := db.get(log)) is not None and db.get(copy) is None:
            db.put(copy, kept.copy())
        db.expire_at(copy, db.now + int(args[3]))
        add(dead_ones, next_id(dead_ones, db.now), [b"id", args[0], b"w", args[2], *entry])
        waiting = db.stream(outbox)
        waiting.entries = [known for known in waiting.entries if known[0] != entry_id]
        hdel(db, refusals, args[0])
        self._settle(room, log)
        return -1

    def confirm(self, keys: list[str], args: Args) -> int:
        db = self._db
        outbox, refusals, room, log = keys
        entry_id = tuple(map(int, args[0].split(b"-")))
        stream = db.get(outbox)
        if stream is None or entry_id not in [known for known, _ in stream.entries]:
            return 0
        stream.entries = [known for known in stream.entries if known[0] != entry_id]
        hdel(db, refusals, args[0])
        if self._settle(room, log):
            self._shorten(room, log, args[1])
        return 1

    def _settle(self, room: str, log: str) -> bool:
        db = self._db
        owed = _int(hget(db, room, b"o"))
        if owed is None:
            return False
        db.table(room)[b"o"] = b"%d" % (owed - 1)
        if owed > 1:
            return False
        hdel(db, room, b"o")
        lifetime = _int(hget(db, room, b"x"))
        if lifetime is not None:
            db.expire_at(room, db.now + lifetime)
            db.expire_at(log, db.now + lifetime)
        return True

    def _shorten(self, room: str, log: str, first: bytes) -> None:
        db = self._db
        stream = db.get(log)
        if first == b"0" or stream is None:
            return
        if stream.entries and stream.entries[0][0] == (1, 0):
            db.table(room)[b"a"] = stream.entries[0][1][7]
        stream.entries = [known for known in stream.entries if known[0] >= (int(first), 0)]


class _Change(NamedTuple):
    """As `pack_change` writes it."""

    due: int
    charge: int
    base_ms: int
    restart_turn: bool
    restart_window: bool
    credit: bool
    banks: Any
    pending: Any


def _int(text: bytes | None) -> int | None:
    return None if text is None else int(text)


def _is_outage(pulse: int, now: int) -> bool:
    return now - pulse > GAP_MS or now < pulse


def _shift(origin: int, began: int, ended: int) -> int:
    if origin == 0:
        return 0
    if ended < began:
        return ended - began
    return max(0, ended - max(began, origin))


def _credit_outages(clock: list[int], outages: bytes, last: int, *, credited: bool) -> None:
    for number, began, ended in _unpack(outages):
        if number > clock[CREDITED] and credited:
            clock[TURN] += _shift(clock[TURN], began, ended)
            clock[WINDOW] += _shift(clock[WINDOW], began, ended)
            moved = _shift(clock[FROM], began, ended)
            clock[FROM] += moved
            if clock[DEADLINE] > 0:
                clock[DEADLINE] += moved
    clock[CREDITED] = last


def _bank_of(clock: list[int], seat: int) -> int:
    if BANKS + seat >= len(clock):
        raise ResponseError(f"BADSEAT seat {seat} has no bank in this room")
    return clock[BANKS + seat]


def _charge(clock: list[int], change: _Change, now: int) -> None:
    if clock[TURN] == 0:
        raise ResponseError("BADORIGIN a seat is charged for a turn that never began")
    bank, over = _bank_of(clock, change.charge), now - clock[TURN] - change.base_ms
    if over > 0:
        clock[BANKS + change.charge] = max(0, bank - over)


def _set_deadline(clock: list[int], pending: list[list[int]], now: int) -> None:
    clock[DEADLINE] = clock[KIND] = clock[FROM] = 0
    for kind, origin, after, seat in pending:
        began = now if origin == 0 else clock[origin - 1]
        if began == 0:
            raise ResponseError("BADORIGIN a pending time counts from a turn or window that never began")
        at = began + after + (_bank_of(clock, seat) if seat >= 0 else 0)
        if clock[DEADLINE] == 0 or at < clock[DEADLINE]:
            clock[DEADLINE], clock[KIND], clock[FROM] = at, kind, began

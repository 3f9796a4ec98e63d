"""The commands of Redis that the store sends, on a keyspace in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from redis.exceptions import ResponseError

from tests.simulation.keyspace import Keyspace, Stream

Args = tuple[bytes, ...]
END: Final = 1 << 64


def stream_id(text: bytes, missing: int) -> tuple[int, int]:
    """An id as a range gives it; `missing` is the number where it names none."""
    ms, _, number = text.partition(b"-")
    if not ms.isdigit():
        raise ResponseError("Invalid stream ID specified as stream command argument")
    return int(ms), int(number) if number else missing


def _low(text: bytes) -> tuple[int, int]:
    if text == b"-":
        return 0, 0
    if text.startswith(b"("):
        ms, number = stream_id(text[1:], 0)
        return ms, number + 1
    return stream_id(text, 0)


def _high(text: bytes) -> tuple[int, int]:
    return (END, END) if text == b"+" else stream_id(text, END)


def id_text(entry_id: tuple[int, int]) -> bytes:
    return b"%d-%d" % entry_id


def add(stream: Stream, entry_id: tuple[int, int], fields: list[bytes]) -> None:
    stream.entries.append((entry_id, fields))
    stream.last = entry_id


def next_id(stream: Stream, now: int) -> tuple[int, int]:
    """What `*` stands for."""
    ms, number = stream.last
    return (now, 0) if now > ms else (ms, number + 1)


def by_score(table: dict[bytes, Any], low: float, high: float) -> list[bytes]:
    """Members of a sorted set with scores in these bounds, in order."""
    return sorted((m for m, score in table.items() if low <= score <= high), key=lambda m: (table[m], m))


def hget(db: Keyspace, key: str, field: bytes) -> bytes | None:
    table = db.get(key)
    return None if table is None else table.get(field)


def hdel(db: Keyspace, key: str, *fields: bytes) -> int:
    known = db.get(key) or {}
    gone = [field for field in fields if field in known]
    if gone:
        table = db.table(key)
        for field in gone:
            del table[field]
        db.drop_if_empty(key)
    return len(gone)


def _hmget(db: Keyspace, key: str, args: Args) -> list[bytes | None]:
    return [hget(db, key, field) for field in args]


def _hgetall(db: Keyspace, key: str, args: Args) -> list[bytes]:
    return [part for pair in (db.get(key) or {}).items() for part in pair]


def _zrange(db: Keyspace, key: str, args: Args) -> list[bytes]:
    table = db.get(key) or {}
    first, last = int(args[0]), int(args[1])
    members = by_score(table, -END, END)
    return members[first : None if last == -1 else last + 1]


def _xrange(db: Keyspace, key: str, args: Args) -> list[list[Any]]:
    stream = db.get(key)
    if stream is None:
        return []
    found = stream.between(_low(args[0]), _high(args[1]))
    if len(args) > 2:
        found = found[: int(args[3])]
    return [[id_text(entry_id), fields.copy()] for entry_id, fields in found]


def _xdel(db: Keyspace, key: str, args: Args) -> int:
    if db.get(key) is None:
        return 0
    stream = db.stream(key)
    wanted = {stream_id(text, 0) for text in args}
    before = len(stream.entries)
    stream.entries = [entry for entry in stream.entries if entry[0] not in wanted]
    return before - len(stream.entries)


def _xtrim(db: Keyspace, key: str, args: Args) -> int:
    if db.get(key) is None:
        return 0
    stream, least = db.stream(key), stream_id(args[1], 0)
    before = len(stream.entries)
    stream.entries = [entry for entry in stream.entries if entry[0] >= least]
    return before - len(stream.entries)


def _xlen(db: Keyspace, key: str, args: Args) -> int:
    stream = db.get(key)
    return 0 if stream is None else len(stream.entries)


def _sadd(db: Keyspace, key: str, args: Args) -> int:
    table = db.table(key)
    new = [member for member in args if member not in table]
    table.update(dict.fromkeys(new))
    return len(new)


def _smembers(db: Keyspace, key: str, args: Args) -> list[bytes]:
    return list(db.get(key) or {})


def _pexpire(db: Keyspace, key: str, args: Args) -> int:
    return int(db.expire_at(key, db.now + int(args[0])))


def _set(db: Keyspace, key: str, args: Args) -> bytes:
    db.put(key, args[0])
    if len(args) > 1:
        db.expire_at(key, db.now + int(args[2]))
    return b"OK"


COMMANDS: Final[dict[bytes, Callable[[Keyspace, str, Args], Any]]] = {
    b"HMGET": _hmget,
    b"HGET": lambda db, key, args: hget(db, key, args[0]),
    b"HDEL": lambda db, key, args: hdel(db, key, *args),
    b"HGETALL": _hgetall,
    b"ZRANGE": _zrange,
    b"ZREM": lambda db, key, args: hdel(db, key, *args),
    b"XRANGE": _xrange,
    b"XDEL": _xdel,
    b"XTRIM": _xtrim,
    b"XLEN": _xlen,
    b"SADD": _sadd,
    b"SREM": lambda db, key, args: hdel(db, key, *args),
    b"SMEMBERS": _smembers,
    b"PEXPIRE": _pexpire,
    b"SET": _set,
    b"GET": lambda db, key, args: db.get(key),
}

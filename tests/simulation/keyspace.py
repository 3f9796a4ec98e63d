"""What Redis keeps, in memory: keys with their values, expiry by a clock of its own, and the way back.

Each command first notes the old values of the keys that it is about to change. `lose_since` puts them back, as a
restart does whose append-only file lacks the last moments.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple


class Stream:
    """A stream: entries by id (milliseconds, number), and the last id ever given."""

    def __init__(self, entries: list[tuple[tuple[int, int], list[bytes]]], last: tuple[int, int]) -> None:
        self.entries = entries
        self.last = last

    def copy(self) -> Stream:
        return Stream(self.entries.copy(), self.last)

    def between(self, low: tuple[int, int], high: tuple[int, int]) -> list[tuple[tuple[int, int], list[bytes]]]:
        return [entry for entry in self.entries if low <= entry[0] <= high]


class _Before(NamedTuple):
    at: float
    key: str
    value: Any
    expires: int | None


KEPT_SECONDS = 3.0
"""How far back a restart may lose what was written."""


class Keyspace:
    """Values are dictionaries (hashes; sets, whose values are None; sorted sets, whose values are scores), streams, and
    bytes. `now` is the time of Redis in ms, set before each command."""

    def __init__(self) -> None:
        self.now = 0
        self._values: dict[str, Any] = {}
        self._expires: dict[str, int] = {}
        self._before: deque[_Before] = deque()
        self._moment = 0.0

    def begin(self, moment: float, now: int) -> None:
        """A command is run: at that moment of the simulation, when the clock of Redis shows `now`."""
        self._moment, self.now = moment, now
        before = self._before
        while before and before[0].at < moment - KEPT_SECONDS:
            before.popleft()

    def get(self, key: str) -> Any:
        """The value, None if there is none. Not to be changed."""
        ends = self._expires.get(key)
        if ends is not None and ends <= self.now:
            self.drop(key)
        return self._values.get(key)

    def table(self, key: str) -> dict[bytes, Any]:
        """A dictionary that may be changed; made if it is not there."""
        table: dict[bytes, Any] = self._changed(key, dict)
        return table

    def stream(self, key: str) -> Stream:
        """A stream that may be changed; made if it is not there."""
        stream: Stream = self._changed(key, lambda: Stream([], (0, 0)))
        return stream

    def put(self, key: str, value: Any) -> None:
        self.get(key)
        self._note(key)
        self._values[key] = value
        self._expires.pop(key, None)

    def drop(self, key: str) -> bool:
        self._note(key)
        self._expires.pop(key, None)
        return self._values.pop(key, None) is not None

    def drop_if_empty(self, key: str) -> None:
        """A hash, set or sorted set without members is gone."""
        if not self._values.get(key, True):
            self.drop(key)

    def expire_at(self, key: str, when: int) -> bool:
        if self.get(key) is None:
            return False
        self._note(key)
        self._expires[key] = when
        return True

    def persist(self, key: str) -> None:
        self._note(key)
        self._expires.pop(key, None)

    def lose_since(self, moment: float) -> None:
        """Undoes what was written from that moment on."""
        while self._before and self._before[-1].at >= moment:
            _, key, value, expires = self._before.pop()
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
            if expires is None:
                self._expires.pop(key, None)
            else:
                self._expires[key] = expires

    def _changed(self, key: str, make: Any) -> Any:
        value = self.get(key)
        self._note(key)
        if value is None:
            value = self._values[key] = make()
        return value

    def _note(self, key: str) -> None:
        value = self._values.get(key)
        if isinstance(value, (dict, Stream)):
            value = value.copy()
        self._before.append(_Before(self._moment, key, value, self._expires.get(key)))

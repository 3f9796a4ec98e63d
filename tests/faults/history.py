"""What clients attempted and saw, written down as it happens: one JSON line a fact, in a file that outlives the client.

A call is two lines, its beginning and its end, so that a call whose client died counts as unknown. Times are those of
the machine's monotonic clock, equal in all processes. Several clients, and several processes with a file each, may
write; `read_records` puts them together for the checker.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import maumau
from maumau.v1 import actions_pb2

from services.rules.room.journal import encode_action
from services.wire.actions import read_action
from services.wire.resume import read_resume_token


class Outcome(Enum):
    """What a client knows of its call."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Call:
    """One attempted action. `action` is its stored form, `decided_on` the version that the client had seen, `version`
    what it became; times in ns."""

    client: str
    player: str
    room: str
    kind: str
    action: bytes
    decided_on: int
    called: int
    outcome: Outcome = Outcome.UNKNOWN
    returned: int | None = None
    version: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Sighting:
    """A version that a stream brought to a client: an update, or a snapshot with its cause; `at` in ns."""

    client: str
    room: str
    version: int
    mark: bytes
    cause: str = "update"
    at: int = 0


@dataclass
class Records:
    """Everything that was written down, in order of writing."""

    calls: list[Call] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)

    def of_room(self, room: str) -> Records:
        calls = [call for call in self.calls if call.room == room]
        return Records(calls, [sighting for sighting in self.sightings if sighting.room == room])

    def count(self, outcome: Outcome) -> int:
        """How many calls came to this."""
        return sum(call.outcome is outcome for call in self.calls)


class History:
    """Writes the file. `accepted` counts what was answered with a version so far, `open` what waits for an answer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.accepted = self.open = 0
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._numbers = itertools.count()

    def close(self) -> None:
        self._file.close()

    def begin(
        self, client: str, player: str, room: str, action: actions_pb2.Action, decided_on: int, name: str = ""
    ) -> str:
        """A call goes out; its number is for `end`."""
        self.open += 1
        number = f"{os.getpid()}.{next(self._numbers)}"
        stored = encode_action(read_action(action, name)).hex()
        kind = maumau.actions.name_of(action)
        self._write(number=number, client=client, player=player, room=room, kind=kind, action=stored, on=decided_on)
        return number

    def end(self, number: str, outcome: Outcome, version: int = 0, reason: str = "") -> None:
        """What came of it."""
        self.open -= 1
        self.accepted += outcome is Outcome.ACCEPTED
        self._write(end=number, outcome=outcome.value, version=version, reason=reason)

    def saw(self, client: str, room: str, version: int, mark: bytes, cause: str) -> None:
        """A stream brought this version."""
        self._write(saw=version, client=client, room=room, mark=mark.hex(), cause=cause)

    def _write(self, **fact: Any) -> None:
        self._file.write(json.dumps({"at": time.monotonic_ns(), **fact}) + "\n")


def read_records(paths: Iterable[Path]) -> Records:
    """What these files say. A last line that was cut off by a kill is left out."""
    records, calls = Records(), dict[str, Call]()
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                _read_fact(json.loads(line), records, calls)
    records.calls = list(calls.values())
    return records


def _read_fact(fact: dict[str, Any], records: Records, calls: dict[str, Call]) -> None:
    if "saw" in fact:
        mark = bytes.fromhex(fact["mark"])
        seen = Sighting(fact["client"], fact["room"], fact["saw"], mark, fact["cause"], fact["at"])
        records.sightings.append(seen)
    elif "end" in fact:
        calls[fact["end"]] = replace(
            calls[fact["end"]],
            outcome=Outcome(fact["outcome"]),
            returned=fact["at"],
            version=fact["version"],
            reason=fact["reason"],
        )
    else:
        action = bytes.fromhex(fact["action"])
        who = (fact["client"], fact["player"], fact["room"])
        calls[fact["number"]] = Call(*who, fact["kind"], action, fact["on"], fact["at"])


class RecordingRoom:
    """A room of the SDK whose calls and events are written down. `client` names this reader in the history."""

    def __init__(self, history: History, client: str, player: str, room: maumau.Room) -> None:
        self.history, self.client, self.player, self.room = history, client, player, room

    async def act(self, action: actions_pb2.Action, timeout: float = 30.0) -> Outcome:
        """Attempts the action, decided on what the room shows now."""
        room = self.room
        number = self.history.begin(self.client, self.player, room.id, action, room.version)
        try:
            version = await room.act(action, timeout=timeout)
        except maumau.Refused as refused:
            self.history.end(number, Outcome.REFUSED, reason=refused.reason)
            return Outcome.REFUSED
        except maumau.MaumauError as error:
            self.history.end(number, Outcome.UNKNOWN, reason=type(error).__name__)
            return Outcome.UNKNOWN
        self.history.end(number, Outcome.ACCEPTED, version)
        return Outcome.ACCEPTED

    def saw(self, event: maumau.RoomEvent) -> None:
        """Writes down what `events()` of the room gave."""
        if isinstance(event, maumau.RoomUpdate):
            point = read_resume_token(event.update.resume_token, self.room.id)
            self.history.saw(self.client, self.room.id, event.version, point.mark, "update")
        elif isinstance(event, maumau.RoomSnapshot):
            self.history.saw(self.client, self.room.id, event.version, b"", event.cause.value)

"""What the command writes: a table or a sentence for people, JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from services.wire.times import iso_text, milliseconds_of

Line = Mapping[str, object]


class Printer:
    """Everything goes to standard output but refusals. With `as_json` each command writes one JSON value."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def lines(self, lines: Sequence[Line], nothing: str) -> None:
        """A list: a table with the keys of the first line as its heads, or `nothing` where it is empty."""
        if self._as_json:
            self._json(list(lines))
        elif not lines:
            self._say(nothing)
        else:
            self._say(table(lines))

    def one(self, facts: Line) -> None:
        """One thing with its parts."""
        if self._as_json:
            self._json(facts)
        else:
            width = max(len(name) for name in facts)
            self._say("\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in facts.items()))

    def message(self, message: Message) -> None:
        """A message as it came, with the contract's names of fields."""
        content = as_dict(message)
        self._json(content) if self._as_json else self._say(json.dumps(content, indent=1, ensure_ascii=False))

    def done(self, sentence: str, **facts: object) -> None:
        """What was done."""
        self._json({"done": sentence, **facts}) if self._as_json else self._say(sentence)

    def refused(self, reason: str, sentence: str, metadata: Mapping[str, str]) -> None:
        """Why nothing was done, on standard error."""
        if self._as_json:
            text = json.dumps({"refused": reason, "sentence": sentence, "metadata": dict(metadata)})
        else:
            told = "".join(f" {name}={value}" for name, value in metadata.items() if value not in sentence)
            text = f"maumauctl: {reason}: {sentence}{told}"
        sys.stderr.write(text + "\n")

    def _json(self, value: object) -> None:
        self._say(json.dumps(value, indent=1, ensure_ascii=False))

    def _say(self, text: str) -> None:
        sys.stdout.write(text + "\n")


def as_dict(message: Message) -> dict[str, Any]:
    """A message with the contract's names of fields."""
    return MessageToDict(message, preserving_proto_field_name=True)


def moment(time: Timestamp) -> str:
    """A point in time; empty for none."""
    return iso_text(milliseconds_of(time)) if time.seconds else ""


def table(lines: Sequence[Line]) -> str:
    """Aligned columns under their heads. What would change the terminal is written as an escape."""
    heads = list(lines[0])
    cells = [heads, *([_shown(line[head]) for head in heads] for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _shown(value: object) -> str:
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)

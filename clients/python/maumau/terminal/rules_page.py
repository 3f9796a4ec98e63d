"""The rules of a room in words: its options, as the server describes them."""

from __future__ import annotations

from rich.text import Text

from maumau.rulesets import text_of
from maumau.terminal.layout import WIDTH
from maumau.v1 import room_pb2, rules_pb2

_INDENT = 4


def rules_lines(preset: rules_pb2.Preset, view: room_pb2.RoomView) -> list[Text]:
    """Every option with its value in this room, and the settings of the room."""
    settings = view.settings
    lines = [
        Text(
            f"{preset.title or preset.ruleset.preset}: {len(preset.options)} options, as set in this room", style="bold"
        ),
        Text(
            f"A turn {settings.turn_seconds} s, bank {settings.bank_seconds} s a match,"
            f" pause {settings.pause_seconds} s between rounds"
        ),
        Text(),
    ]
    for option in preset.options:
        changed = option.key in view.ruleset.options
        value = text_of(view.ruleset.options[option.key] if changed else option.preset_value)
        head = (
            Text().append(option.key, style="bold").append(" = ").append(value, style="yellow" if changed else "green")
        )
        lines += [_cut(head), *_wrapped(option.sentence)]
    return lines


def _cut(line: Text) -> Text:
    line.truncate(WIDTH, overflow="ellipsis")
    return line


def _wrapped(sentence: str) -> list[Text]:
    lines = [""]
    for word in sentence.split():
        if len(lines[-1]) + len(word) + 1 > WIDTH - _INDENT and lines[-1]:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return [Text(" " * _INDENT + line, style="dim") for line in lines if line]

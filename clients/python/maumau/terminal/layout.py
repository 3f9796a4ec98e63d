"""Lines and columns on a screen of 80 by 24."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.text import Text

WIDTH: Final = 80
HEIGHT: Final = 24
_GAP: Final = 2


@dataclass(slots=True)
class Showing:
    """What a screen shows besides the room: what happened last (oldest first), a note (an error, a hint), what was
    typed so far, the seconds left (None: no clock runs), the page of a long list, whether the server is reachable."""

    happened: Sequence[Text] = ()
    note: str = ""
    typed: str = ""
    seconds_left: int | None = None
    page: int = 0
    online: bool = True
    asked: str = ""
    rules: list[Text] = field(default_factory=list)


def fit(line: Text, width: int = WIDTH) -> Text:
    """The line, cut where it is longer than `width` cells."""
    fitted = line.copy()
    fitted.truncate(width, overflow="ellipsis")
    return fitted


def pad(line: Text, width: int) -> Text:
    """The line in exactly `width` cells."""
    padded = line.copy()
    padded.truncate(width, overflow="ellipsis", pad=True)
    return padded


def rule(title: str = "") -> Text:
    """A line across, with a title at its left."""
    head = f"── {title} " if title else ""
    return fit(Text(head + "─" * (WIDTH - len(head)), style="dim"))


def ends(left: Text, right: Text) -> Text:
    """One text at each end of a line; the left one gives way."""
    return pad(left, max(0, WIDTH - right.cell_len)).append(right)


def wrap(words: Sequence[Text], width: int = WIDTH, lines: int = HEIGHT) -> list[Text]:
    """The words beside one another on at most so many lines; what does not fit is counted at the end."""
    wrapped = [Text()]
    for place, word in enumerate(words):
        here = wrapped[-1]
        needed = here.cell_len + word.cell_len + (1 if here.cell_len else 0)
        last = len(wrapped) == lines
        if needed > width - (6 if last and place < len(words) - 1 else 0) and here.cell_len:
            if last:
                here.append(f" +{len(words) - place}", style="dim")
                break
            wrapped.append(word.copy())
        else:
            here.append(" " if here.cell_len else "").append(word)
    return [fit(line, width) for line in wrapped]


def columns(items: Sequence[Text], rows: int, *, widest: int = WIDTH) -> list[list[Text]]:
    """The items in as many columns as fit, read downwards, in pages of `rows` lines."""
    if not items or rows < 1:
        return []
    width = min(widest, max(item.cell_len for item in items)) + _GAP
    across = max(1, WIDTH // width)
    per_page = rows * across
    pages = [items[begin : begin + per_page] for begin in range(0, len(items), per_page)]
    return [_page(page, across, width) for page in pages]


def _page(items: Sequence[Text], across: int, width: int) -> list[Text]:
    down = -(-len(items) // across)
    lines = []
    for row in range(down):
        line = Text()
        for item in items[row::down]:
            line.append(pad(item, width))
        lines.append(fit(line))
    return lines


def screen(lines: Iterable[Text]) -> list[Text]:
    """At most 24 lines of at most 80 cells."""
    return [fit(line) for line in lines][:HEIGHT]

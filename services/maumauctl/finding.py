"""What `check` finds: one line for each thing it looked at."""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
FAULT: Final = "fault"


class Finding(NamedTuple):
    """`subject` is what was looked at, `level` how it is, `found` what it is, `right` what would be right, empty where
    it is."""

    subject: str
    level: str
    found: str
    right: str = ""

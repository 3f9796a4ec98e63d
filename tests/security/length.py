"""How much the security tests do: a little in `make test`, the promised figures with LONG=1 (`make security-full`)."""

from __future__ import annotations

import os
from typing import Final

LONG: Final = bool(os.environ.get("LONG"))


def scaled(little: int, full: int) -> int:
    """The number for this run."""
    return full if LONG else little

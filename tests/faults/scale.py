"""How much of each fault test is run: a smoke in every test run, more with `FAULTS=usual`, all with `FAULTS=full`."""

from __future__ import annotations

import os
from typing import Final

import pytest

SIZES: Final = ("smoke", "usual", "full")
SIZE: Final = os.environ.get("FAULTS", SIZES[0])


def count(smoke: int, usual: int, full: int) -> int:
    """The number that goes with this run."""
    return (smoke, usual, full)[SIZES.index(SIZE)]


PATIENCE: Final = pytest.mark.timeout(count(300, 1_200, 7_200))
"""For a module whose tests grow with the size."""

USUAL: Final = pytest.mark.usual
"""For what is left to `make faults`: too long for every test run, and not what its smoke is about."""

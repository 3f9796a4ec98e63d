"""The two parts of all tests: those that run side by side, on all cores, and those that run alone.

`tools/tests` runs one part after the other. What kills, freezes, delays and floods runs alone: beside others it would
show how busy the machine is. Everything else starts servers of its own on ports of its own, and only waits longer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from services.local import ports

TESTS: Final = Path(__file__).parent
ABREAST, ALONE = "abreast", "alone"
RUN_ABREAST: Final = frozenset(
    {
        *("cases", "clients", "deploy", "docs", "e2e", "maumauctl"),
        *("rules", "scenarios", "services", "simulation", "store", "wire"),
    }
)
"""Folders of tests/; all others, also those to come, run alone."""
RUN_ALONE: Final = frozenset({"deploy/test_pods.py"})
"""Files of theirs that run alone nevertheless."""


class Parts:
    """The plugin of the option `--part`."""

    def __init__(self, config: pytest.Config) -> None:
        self._part: str | None = config.getoption("part")
        if hasattr(config, "workerinput"):
            _share_ports(int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"])

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """True for what belongs to the other part; None leaves it to others. It is not asked of files named by hand."""
        return True if self._is_of_other(collection_path) else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if self._is_of_other(item.path)]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if not self._is_of_other(item.path)]

    def _is_of_other(self, path: Path) -> bool:
        return self._part is not None and part_of(path) not in (None, self._part)


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=(ABREAST, ALONE), help="only the tests that run side by side, or alone")


def part_of(path: Path) -> str | None:
    """The part of a file or folder; None for what is in neither or holds both."""
    if TESTS not in path.parents:
        return None
    within = path.relative_to(TESTS)
    if within.parts[0] not in RUN_ABREAST or within.as_posix() in RUN_ALONE:
        return ALONE
    return None if any(file.startswith(f"{within.as_posix()}/") for file in RUN_ALONE) else ABREAST


def _share_ports(number: int, of: int) -> None:
    """Gives each of the processes ports that the others do not take between finding one free and listening there."""
    every = ports._candidates()
    ports._candidates = lambda: every[number::of]

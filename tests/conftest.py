"""What a test needs besides what `make test` installs itself: programs from the system's packages.

`@pytest.mark.needs("node", "npm")` names them. Where one is missing the test is left out, and the run says so at its
beginning; with `TEST_ALL=1`, as `.ci/run` has it, everything runs and a missing program is a failure. `root` stands
for being it.

What Hypothesis tries is the same in every run; with `EXPLORE=1` it looks for something else each time.
"""

from __future__ import annotations

import os
import shutil

import hypothesis
import pytest

from tests.faults.record import CONTROL, SHOWS, Record
from tests.faults.scale import SIZE, SIZES
from tests.parts import Parts, add_option
from tests.recorded_errors import Recorder
from tests.servers import kinds

ROOT = "root"
"""Stands for the right to make network and mount namespaces, not for a program."""
LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*programs): programs of the system that the test runs")
    config.addinivalue_line("markers", f"{SHOWS}(*promises): promises of tests/faults/README.md that the test shows")
    config.addinivalue_line("markers", f"{CONTROL}(*promises): promises whose protection the test takes away")
    config.addinivalue_line("markers", "usual: left to make faults and its like (tests/faults/scale.py)")
    config.pluginmanager.register(Record(spread=hasattr(config, "workerinput")), "promises")
    config.pluginmanager.register(Recorder(), "errors")
    # A busy one is slow: neither a deadline nor how long drawing takes says anything of what is tested. And what one
    # run finds, the next one must find as well.
    patient = hypothesis.settings(
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        derandomize="EXPLORE" not in os.environ,
    )
    hypothesis.settings.register_profile("any machine", patient)
    hypothesis.settings.load_profile("any machine")
    config.pluginmanager.register(Parts(config), "parts")


def missing(item: pytest.Item) -> list[str]:
    """The programs that the test names and the machine does not have."""
    named = [program for mark in item.iter_markers("needs") for program in mark.args]
    return [program for program in named if not _there(program)]


def _there(program: str) -> bool:
    return os.geteuid() == 0 if program == ROOT else shutil.which(program) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SIZES[0] == SIZE:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("usual")])
        items[:] = [item for item in items if not item.get_closest_marker("usual")]
    if os.environ.get("TEST_ALL"):
        return
    left_out = [item for item in items if missing(item)]
    config.stash[LEFT_OUT] = [f"{item.nodeid} (no {', '.join(missing(item))})" for item in left_out]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    lines = [f"left out: {line}" for line in config.stash.get(LEFT_OUT, [])]
    if "redis" not in kinds():
        lines.append("left out: Redis (no redis-server); the store is tested on Valkey alone")
    return lines

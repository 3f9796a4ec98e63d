"""The record of promises: which test shows which promise, the figure that it saw, and what its control saw.

A pytest plugin, registered for all tests. A test declares what it shows with `@pytest.mark.shows("P3")`, the same with
the protection off with `@pytest.mark.control("P3")`, and says what it measured through the fixture `promise`. At the
end of a run that had such tests one table is printed, and at the sizes `usual` and `full` each promise's row is
appended to `track-record.tsv`, beside this file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from tests.faults.scale import SIZE, SIZES

PROMISES: Final = {
    "P1": "kill -9 of an authority loses no accepted move",
    "P2": "kill -9 of matchmaking and scoring: nobody seated twice, no result counted twice",
    "P3": "kill -9 of Redis loses no accepted move",
    "P4": "one move a version; rooms are linearizable; honest clients are not refused",
    "P5": "a repeated call takes effect once and gets the same answer",
    "P6": "cut channels lose, repeat and reorder nothing",
    "P7": "who returns gets exactly what was missed, or a snapshot with its reason",
    "P8": "a rollback is told; nobody plays on along a false history",
    "P9": "failover loses no accepted move, and play goes on",
    "P10": "a revived old primary costs no move",
    "P11": "without Redis the service says so in time and accepts nothing",
    "P12": "a frozen client is noticed and frees its stream",
    "P13": "a client that does not read costs bounded memory and delays nobody",
    "P14": "a rolling restart fails no call and no game",
    "P15": "watchers dropped at once are all back in time",
    "P16": "turn timers fire once, never early, whoever dies",
    "P17": "a wrong clock changes no deadline and no result",
    "P18": "our outage never costs a turn",
    "P19": "finished games replay bit for bit; simulated faults break no rule",
    "P20": "no slow leak",
    "P22": "shuffles favour nothing, and each deal can be proved",
    "P27": "old and new releases serve each other's clients and rooms",
}
"""Every promise that is kept here, in a few words; the whole table is in README.md."""

TRACK_RECORD: Final = Path(__file__).with_name("track-record.tsv")
COLUMNS: Final = ("date", "promise", "scale", "held", "figure", "control", "commit")
SHOWS, CONTROL = "shows", "control"


@dataclass
class Row:
    """What one run found of a promise. It is held if all of its tests and controls passed, and both were there."""

    figures: dict[str, list[str]] = field(default_factory=lambda: {SHOWS: [], CONTROL: []})
    passed: dict[str, int] = field(default_factory=lambda: {SHOWS: 0, CONTROL: 0})
    failed: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`held`, `FAILED`, or what did not run."""
        if self.failed:
            return "FAILED"
        if not self.passed[SHOWS]:
            return "control only"
        return "held" if self.passed[CONTROL] else "no control"


class Promise:
    """What a test says of the promise that it shows."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, of: str, figure: str) -> None:
        """`promise("P3", "0 lost of 25,169")`: what was measured. In a test marked `control` it is the control's."""
        roles = [role for role, promise in declared(self._item) if promise == of]
        assert roles, f"{of} is not declared: @pytest.mark.{SHOWS}({of!r}) or @pytest.mark.{CONTROL}({of!r})"
        self._item.user_properties.append((_said(roles[0], of), " ".join(figure.split())))


def declared(item: pytest.Item) -> list[tuple[str, str]]:
    """(role, promise) of each mark of the test."""
    return [(role, promise) for role in (SHOWS, CONTROL) for mark in item.iter_markers(role) for promise in mark.args]


def _said(role: str, promise: str) -> str:
    return f"{role} {promise}"


class Record:
    """Gathers what the tests of this run said. It hears of them from their reports, so that a run may be spread over
    processes; those are `spread`, and leave the summary to the one that spread them."""

    def __init__(self, *, spread: bool = False) -> None:
        self._spread = spread
        self.rows: dict[str, Row] = {}

    @pytest.fixture
    def promise(self, request: pytest.FixtureRequest) -> Promise:
        """For saying what was measured."""
        return Promise(request.node)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """So that `-k P16` finds what is about a promise."""
        item.extra_keyword_matches.update(promise for _, promise in declared(item))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.user_properties += [(_said(role, promise), "") for role, promise in declared(item)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for said, figure in report.user_properties:
            role, _, promise = said.partition(" ")
            if promise in PROMISES:
                self._take(self.rows.setdefault(promise, Row()), role, str(figure), report)

    def _take(self, row: Row, role: str, figure: str, report: pytest.TestReport) -> None:
        """Figures stand in the report of the call; what has none is the declaration."""
        if report.failed and not figure:
            row.failed.append(report.nodeid.rpartition("::")[2])
        if report.when == "call" and figure:
            row.figures[role].append(figure)
        elif report.when == "call":
            row.passed[role] += report.passed

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._spread or not self.rows:
            return
        terminalreporter.section(f"promises, at the size {SIZE}")
        for line in table(self.rows):
            terminalreporter.write_line(line)
        if SIZE in SIZES[1:]:
            append(self.rows, TRACK_RECORD)
            terminalreporter.write_line(f"appended to {TRACK_RECORD.name}")


def table(rows: Mapping[str, Row]) -> Iterator[str]:
    """What a run found, a promise a paragraph, and which promises no test of it was about."""
    for promise, words in PROMISES.items():
        if row := rows.get(promise):
            yield f"{promise:4} {row.verdict:12} {words}"
            yield from (f"{'':17} {figure}" for figure in row.figures[SHOWS])
            yield from (f"{'':17} control: {figure}" for figure in row.figures[CONTROL])
            yield from (f"{'':17} failed: {test}" for test in row.failed)
    missing = [promise for promise in PROMISES if promise not in rows]
    if missing:
        yield f"not in this run: {', '.join(missing)}"


def append(rows: Mapping[str, Row], file: Path) -> None:
    """A line a promise, under a line of names when the file is new."""
    lines = [] if file.exists() else ["\t".join(COLUMNS)]
    day, commit = datetime.now(UTC).date().isoformat(), _commit()
    for promise in PROMISES:
        if row := rows.get(promise):
            figures = ["; ".join(row.figures[role]) or "-" for role in (SHOWS, CONTROL)]
            lines.append("\t".join((day, promise, SIZE, row.verdict, *figures, commit)))
    with file.open("a", encoding="utf-8") as written:
        written.writelines(f"{line}\n" for line in lines)


def _commit() -> str:
    """The short hash of what was tested, with a plus if the tree has changes that are not committed."""
    here = TRACK_RECORD.parent
    described = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"], cwd=here, capture_output=True, text=True
    )
    return described.stdout.strip() or "-"

"""The record of promises: what a run says of each, and what it leaves in the file."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Literal

import pytest

from tests.faults.record import COLUMNS, CONTROL, PROMISES, SHOWS, Promise, Record, append, table
from tests.faults.scale import SIZE

TESTS = Path(__file__).parents[1]
Outcome = Literal["passed", "failed", "skipped"]


def report(when: Literal["setup", "call", "teardown"], outcome: Outcome, *said: tuple[str, str]) -> pytest.TestReport:
    where = ("test_x.py", 1, "test_x")
    return pytest.TestReport("test_x.py::test_x", where, {}, outcome, None, when, user_properties=said)


def heard(*reports: pytest.TestReport) -> Record:
    record = Record()
    for each in reports:
        record.pytest_runtest_logreport(each)
    return record


SHOWN = report("call", "passed", ("shows P3", ""), ("shows P3", "0 lost of 25,169"))
CONTROLLED = report("call", "passed", ("control P3", ""), ("control P3", "312 lost"))


@pytest.mark.parametrize(
    ("verdict", "reports"),
    [
        ("held", [SHOWN, CONTROLLED]),
        ("no control", [SHOWN]),
        ("control only", [CONTROLLED]),
        ("FAILED", [SHOWN, report("call", "failed", ("control P3", ""))]),
        ("FAILED", [SHOWN, CONTROLLED, report("teardown", "failed", ("shows P3", ""))]),
        ("FAILED", [CONTROLLED, report("setup", "failed", ("shows P3", ""))]),
    ],
)
def test_a_promise_is_held_when_all_of_its_tests_and_controls_passed(
    verdict: str, reports: list[pytest.TestReport]
) -> None:
    record = heard(*reports)
    assert record.rows["P3"].verdict == verdict
    assert any(line.startswith(f"P3   {verdict}") for line in table(record.rows))


def test_the_table_gives_both_figures_and_names_what_was_not_run() -> None:
    printed = list(table(heard(SHOWN, CONTROLLED).rows))
    assert any("0 lost of 25,169" in line for line in printed)
    assert any("control: 312 lost" in line for line in printed)
    assert printed[-1].startswith("not in this run: P1, P2, P4,")


def test_each_run_adds_its_lines_to_the_file(tmp_path: Path) -> None:
    rows, file = heard(SHOWN, CONTROLLED).rows, tmp_path / "record.tsv"
    append(rows, file)
    append(rows, file)
    names, *lines = [line.split("\t") for line in file.read_text().splitlines()]
    assert tuple(names) == COLUMNS
    assert [line[1:6] for line in lines] == [["P3", SIZE, "held", "0 lost of 25,169", "312 lost"]] * 2


def test_a_figure_belongs_to_a_promise_that_the_test_declares(request: pytest.FixtureRequest) -> None:
    said = Promise(request.node)
    with pytest.raises(AssertionError, match="P4 is not declared"):
        said("P4", "0 lost")


def marked(role: str) -> set[str]:
    """The promises that some test of this repository names in such a mark."""
    found = set[str]()
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{role}":
                found |= {str(word.value) for word in node.args if isinstance(word, ast.Constant)}
    return found


@pytest.mark.parametrize("role", [SHOWS, CONTROL])
def test_every_promise_has_a_test_and_a_control(role: str) -> None:
    assert set(PROMISES) - marked(role) == set()
    assert marked(role) <= set(PROMISES), "of promises that the record does not know"

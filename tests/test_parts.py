"""The two parts of a run hold every test once, and what its processes saw is judged as one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.parts import ABREAST, ALONE, RUN_ABREAST, RUN_ALONE, TESTS, part_of
from tests.recorded_errors import Received, Recorder

UNEXPLAINED = Received("INTERNAL", "", "it broke")


def a_run(**config: Any) -> Any:
    return SimpleNamespace(config=SimpleNamespace(**config), exitstatus=pytest.ExitCode.OK)


def test_every_file_of_tests_is_in_one_part_and_its_folder_is_not_left_out() -> None:
    files = [path for path in TESTS.rglob("test_*.py") if "node_modules" not in path.parts]
    for file in files:
        part = part_of(file)
        assert part in (ABREAST, ALONE)
        folders = [folder for folder in file.parents if TESTS in folder.parents]
        assert {part_of(folder) for folder in folders} <= {part, None}
    assert {part_of(file) for file in files} == {ABREAST, ALONE}
    assert all((TESTS / name).exists() for name in RUN_ABREAST | RUN_ALONE)


def test_an_unexplained_error_in_one_process_of_a_spread_run_fails_the_run() -> None:
    spread, judge = Recorder(), Recorder()
    spread.seen[UNEXPLAINED], spread.first[UNEXPLAINED] = 2, "test_x"
    its_run = a_run(workeroutput={})
    spread.pytest_sessionfinish(its_run)
    assert its_run.exitstatus == pytest.ExitCode.OK
    judge.pytest_testnodedown(its_run.config, None)
    run = a_run()
    judge.pytest_sessionfinish(run)
    assert run.exitstatus == pytest.ExitCode.TESTS_FAILED
    assert judge.seen == {UNEXPLAINED: 2}
    assert judge.first == {UNEXPLAINED: "test_x"}

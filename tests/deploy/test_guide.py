"""The operator's guide, deploy/README.md: what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from services.runtime.settings import CLIENT_VARIABLES, Settings, variable
from tests.deploy.manifests import COMPONENTS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "deploy" / "README.md").read_text()


def test_every_alert_is_named_where_its_failure_is_described() -> None:
    alerts = {path.stem for path in (ROOT / "deploy" / "runbooks").glob("*.md")}
    described = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`", GUIDE.split("## What failures look like")[1]))
    assert described <= alerts
    assert alerts - described == {"GapsSurge", "QueueWaits", "ResultsConflict", "SyntheticPlayerMissing"}


def test_settings_that_it_names_exist() -> None:
    known = {variable(name) for name in Settings.model_fields} | set(CLIENT_VARIABLES)
    assert set(re.findall(r"MAUMAU_[A-Z_]*[A-Z]", GUIDE)) <= known


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?:deploy|tests|docs)/[\w/.-]*\w", GUIDE))))
def test_files_that_it_names_exist(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_component_is_described() -> None:
    assert set(COMPONENTS) == set(re.findall(r"^\| `([a-z-]+)` \|", GUIDE, re.MULTILINE))

"""The rules say what the table says, each alert fires on its cause and on nothing else, and each has its runbook."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.prometheus.alerts import OBJECTIVES, SYMPTOMS
from deploy.prometheus.rules import FILE, RUNBOOKS, rules, text
from tests.watch import promtool
from tests.watch.rule_cases import CASES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ALERTS = [rule for group in rules()["groups"] for rule in group["rules"] if "alert" in rule]
NAMES = {objective.alert for objective in OBJECTIVES} | {symptom.alert for symptom in SYMPTOMS}


def test_the_rule_file_is_what_the_table_gives() -> None:
    assert FILE.read_text() == text(), "run `make docs`"


@pytest.mark.needs("promtool")
def test_prometheus_takes_rules_and_configuration() -> None:
    assert "SUCCESS" in promtool.run("promtool", "check", "config", DEPLOY / "prometheus" / "prometheus.yml")


@pytest.mark.needs("amtool")
@pytest.mark.parametrize(("severity", "receiver"), [("critical", "loud"), ("page", "pager"), ("ticket", "tickets")])
def test_each_severity_has_its_receiver(severity: str, receiver: str) -> None:
    config = DEPLOY / "alertmanager" / "alertmanager.yml"
    promtool.run("amtool", "check-config", config)
    said = promtool.run("amtool", "config", "routes", "test", f"--config.file={config}", f"severity={severity}")
    assert receiver in said.split()


@pytest.mark.needs("promtool")
def test_each_alert_fires_on_its_cause_and_is_silent_without(tmp_path: Path) -> None:
    promtool.run("promtool", "test", "rules", *promtool.write_tests(CASES, tmp_path))


@pytest.mark.needs("promtool")
def test_a_rule_test_can_fail(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.alert == "OutboxDead" and not case.fires)
    (file,) = promtool.write_tests([replace(case, fires=True)], tmp_path)
    with pytest.raises(AssertionError, match="FAILED"):
        promtool.run("promtool", "test", "rules", file)


def test_every_alert_is_tested_both_ways() -> None:
    for fires in (True, False):
        assert {case.alert for case in CASES if case.fires is fires} == NAMES


def test_every_alert_says_what_it_is_and_where_its_runbook_lies() -> None:
    for alert in ALERTS:
        notes = alert["annotations"]
        assert notes["summary"]
        assert notes["description"].endswith("."), alert["alert"]
        assert alert["labels"]["severity"] in ("critical", "page", "ticket")
        assert (ROOT / notes["runbook_url"]).is_file(), alert["alert"]


def test_every_runbook_belongs_to_an_alert_and_names_its_dashboard() -> None:
    pages = {page.stem: page.read_text() for page in (ROOT / RUNBOOKS).glob("*.md")}
    assert pages.keys() == NAMES
    boards = {page.stem for page in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    for name, page in pages.items():
        headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
        assert headings == ["What players notice", "How to see it", "What to do"], name
        named = re.findall(r"`(maumau-[a-z-]+)`", page.splitlines()[2])
        assert named, name
        assert boards >= set(named), name
        for other in re.findall(r"\]\((\w+)\.md\)", page):
            assert other in NAMES, f"{name} names {other}"


def test_the_synthetic_player_is_the_loudest() -> None:
    loud = {symptom.alert for symptom in SYMPTOMS if symptom.severity == "critical"}
    assert "SyntheticPlayerFails" in loud

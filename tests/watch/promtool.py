"""Runs promtool and amtool, and writes the rule tests that promtool reads."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from deploy.prometheus.rules import rules
from tests.watch.rule_cases import Case


def run(*command: str | Path) -> str:
    """What the program says. Fails the test, with that, if it does not exit well."""
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    return said


def write_tests(cases: Iterable[Case], folder: Path) -> list[Path]:
    """Files for `promtool test rules`, each with the rules that its cases need and no others."""
    files: list[Path] = []
    for (alert, window, step), group in itertools.groupby(cases, key=lambda case: (case.alert, case.window, case.step)):
        file = folder / f"{alert}{window}-{len(files)}.test.yml"
        rule_file = file.with_suffix(".rules.yml")
        rule_file.write_text(yaml.safe_dump({"groups": [{"name": "tested", "rules": _rules_of(alert, window)}]}))
        tests = [_test(case) for case in group]
        content = {"rule_files": [rule_file.name], "evaluation_interval": f"{step}m", "tests": tests}
        file.write_text(yaml.safe_dump(content, width=200))
        files.append(file)
    return files


def _rules_of(alert: str, window: str) -> list[dict[str, Any]]:
    """The alert, and the recordings that it reads."""
    known = [rule for group in rules()["groups"] for rule in group["rules"]]
    alerts = [rule for rule in known if rule.get("alert") == alert and rule["labels"].get("window", "") == window]
    return [rule for rule in known if "record" in rule and any(rule["record"] in a["expr"] for a in alerts)] + alerts


def _test(case: Case) -> dict[str, Any]:
    return {
        "name": f"{case.alert} {case.what}",
        "interval": f"{case.step}m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "promql_expr_test": [
            {
                "expr": 'count(ALERTS{alertstate="firing"}) > bool 0 or vector(0)',
                "eval_time": f"{case.minutes}m",
                "exp_samples": [{"labels": "{}", "value": int(case.fires)}],
            }
        ],
    }

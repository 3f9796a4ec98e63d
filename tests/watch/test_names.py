"""Every metric that a rule or a dashboard names is there when a server runs."""

from __future__ import annotations

import re

import pytest
from maumau.bots.synthetic import Signs
from prometheus_client import generate_latest

from deploy.grafana.boards import BOARDS
from deploy.prometheus.rules import rules
from services.local.stack import Stack
from tests.e2e.stacks import options

METRIC = re.compile(r"(?<![\w:])((?:maumau|grpc_server|envoy|process)_\w+)(?![\w:])")
RECORDED = re.compile(r"\w+:\w+:\w+")
LABELS = {"envoy_cluster_name", "envoy_response_code_class", "envoy_http_conn_manager_prefix"}
PARTS = ("", "_bucket", "_count", "_sum", "_total", "_info")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names that a stack which has just started and a synthetic player show."""
    with Stack(options(tmp_path_factory.mktemp("stack"), authorities=1)) as stack:
        pages = [stack.metrics(process.name) for process in stack.processes] + [stack.metrics("envoy")]
    pages.append(generate_latest(Signs().registry).decode())
    declared = set(re.findall(r"^# TYPE (\S+)", "\n".join(pages), re.MULTILINE))
    return {name + part for name in declared for part in PARTS}


def expressions() -> list[str]:
    of_rules = [rule["expr"] for group in rules()["groups"] for rule in group["rules"]]
    return of_rules + [query.expr for board in BOARDS for panel in board.panels for query in panel.queries]


def test_every_metric_named_is_shown(shown: set[str]) -> None:
    named = {name for expr in expressions() for name in METRIC.findall(expr)} - LABELS
    assert len(named) > 50
    assert named - shown == set()


def test_every_recorded_series_named_is_recorded() -> None:
    recorded = {rule["record"] for group in rules()["groups"] for rule in group["rules"] if "record" in rule}
    assert {name for expr in expressions() for name in RECORDED.findall(expr)} <= recorded


def test_it_would_notice_a_metric_that_is_not_there(shown: set[str]) -> None:
    assert METRIC.findall("sum(rate(maumau_moves_of_nobody_total[5m]))") == ["maumau_moves_of_nobody_total"]
    assert "maumau_moves_of_nobody_total" not in shown

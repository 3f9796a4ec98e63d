"""The dashboards are what their table gives, and every expression in them can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from deploy.grafana.boards import BOARDS
from deploy.grafana.render import DATASOURCE, FOLDER, text
from deploy.prometheus.rules import RUNBOOKS
from tests.watch import promtool

ROOT = Path(__file__).parents[2]
QUERIES = [query.expr for board in BOARDS for panel in board.panels for query in panel.queries]


def test_the_files_are_what_the_table_gives() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {board.name for board in BOARDS}
    for board in BOARDS:
        assert (FOLDER / f"{board.name}.json").read_text() == text(board), "run `make docs`"


def test_grafana_finds_the_data_source_that_the_panels_name() -> None:
    file = FOLDER.parent / "provisioning" / "datasources" / "prometheus.yml"
    (source,) = yaml.safe_load(file.read_text())["datasources"]
    assert {"type": source["type"], "uid": source["uid"]} == DATASOURCE
    panels = [panel for board in BOARDS for panel in json.loads(text(board))["panels"]]
    assert all(target["datasource"] == DATASOURCE for panel in panels for target in panel["targets"])


@pytest.mark.needs("promtool")
def test_prometheus_can_read_every_query(tmp_path: Path) -> None:
    exprs = [query.replace("$__rate_interval", "1m") for query in QUERIES]
    file = tmp_path / "queries.yml"
    recordings = [{"record": f"panel:query:{number}", "expr": expr} for number, expr in enumerate(exprs)]
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recordings}]}))
    assert f"{len(QUERIES)} rules found" in promtool.run("promtool", "check", "rules", file)


def test_panels_that_a_runbook_names_are_there() -> None:
    titles = {panel.title for board in BOARDS for panel in board.panels}
    for page in (ROOT / RUNBOOKS).glob("*.md"):
        for named in re.findall(r"`([A-Z][a-z]+(?: [a-z]+)+)`", page.read_text()):
            assert named in titles, f"{page.name}: {named}"

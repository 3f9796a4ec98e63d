"""Makes Grafana's JSON of the table in boards.py: `python -m deploy.grafana.render`, part of `make docs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from deploy.grafana.boards import BOARDS, Board, Panel

FOLDER: Final = Path(__file__).with_name("dashboards")
DATASOURCE: Final = {"type": "prometheus", "uid": "prometheus"}
_ACROSS: Final = 3
_WIDTH: Final = 24 // _ACROSS
_HEIGHT: Final = 7


def dashboard(board: Board) -> dict[str, Any]:
    """One dashboard as Grafana 11 reads it."""
    return {
        "uid": board.name,
        "title": board.title,
        "tags": ["maumau"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [{"type": "dashboards", "tags": ["maumau"], "title": "Maumau", "asDropdown": True, "keepTime": True}],
        "panels": [_panel(number, panel) for number, panel in enumerate(board.panels)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "title": panel.title,
        "description": panel.description,
        "type": "stat" if panel.now else "timeseries",
        "datasource": DATASOURCE,
        "gridPos": {"x": number % _ACROSS * _WIDTH, "y": number // _ACROSS * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {} if panel.now else {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": query.expr, "legendFormat": query.legend, "datasource": DATASOURCE}
            for place, query in enumerate(panel.queries)
        ],
    }


def text(board: Board) -> str:
    """What the board's file holds."""
    return json.dumps(dashboard(board), indent=1) + "\n"


if __name__ == "__main__":
    for each in BOARDS:
        (FOLDER / f"{each.name}.json").write_text(text(each))

"""The README: its tour is run, its tables are those of the code, its folders are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from services.local import plan
from services.local.plan import Plan, make_plan
from services.local.stack import Stack
from services.runtime.settings import Settings
from tests.docs.console import blocks, is_as_shown, run, transcript

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LIMIT_SECONDS = 600
"""For a tour that hangs. Each of its commands starts some processes, which takes a busy machine long."""


def section(title: str) -> str:
    """The text below a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found[1]


def rows(title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.timeout(LIMIT_SECONDS + 60)
def test_every_command_of_the_tour_does_what_the_page_shows(stack: Stack, tmp_path: Path) -> None:
    commands = transcript(section("Five-minute tour").replace("127.0.0.1:7700", stack.address))
    outputs = run(commands, {"TMPDIR": str(tmp_path)}, ROOT, LIMIT_SECONDS)
    for command, output in zip(commands, outputs, strict=True):
        assert is_as_shown(command.expected, output), (
            f"$ {command.words}\nshows in README.md:\n{command.expected}\nand really:\n{output}"
        )
    assert stack.address in commands[0].words


def test_the_tour_notices_other_output() -> None:
    assert is_as_shown("a\n...\nz {...}\n", "a\nb\nc\nz {1}\n")
    assert is_as_shown("", "")
    assert not is_as_shown("2\n", "3\n")
    assert not is_as_shown("", "ERROR\n")
    assert not is_as_shown("{...}\n", "{1}\nERROR\n")


def test_other_commands_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = [line for block in blocks(README, "sh") for line in block.splitlines()]
    assert commands == ["make run", "make play", "make test"]
    for name in re.findall(r"make ([\w./]+)", " ".join(commands) + section("Five-minute tour")):
        assert re.search(rf"^{re.escape(name)}:", makefile, re.MULTILINE), f"make {name}"


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """What `make run` starts without any setting, whether or not its ports are free here."""
    monkeypatch.setattr(plan, "is_free", lambda *_: True)
    settings = Settings.model_construct()
    return make_plan(settings, settings.port, settings.authorities)


def test_the_table_of_services_has_the_ports_of_make_run(planned: Plan) -> None:
    edge = planned.edge
    started = {"`envoy`": [edge.port, edge.admin_port, edge.operations_port]}
    for process in planned.processes:
        started[f"`{process.name}`"] = [process.public_port, process.internal_port, process.metrics_port]
    shown = {
        row[0]: [int(port) for cell in row[1:4] for port in re.findall(r"\d+", cell)]
        for row in rows("Services and ports")
    }
    assert shown == {**started, "`redis`": []}


def test_containers_have_the_ports_that_the_page_names() -> None:
    defaults = Settings.model_construct()
    last = section("Services and ports").strip().rpartition("In a container")[2]
    assert re.findall(r"\d{4}", last) == [
        str(port) for port in (defaults.public_port, defaults.internal_port, defaults.metrics_port)
    ]


def test_every_folder_of_the_map_is_there() -> None:
    folders = [folder for row in rows("Folders") for cell in row for folder in re.findall(r"`([\w/]+/[\w/]*)`", cell)]
    assert len(folders) > 12
    missing = [folder for folder in folders if not any((base / folder).exists() for base in (ROOT, ROOT / "protos"))]
    assert missing == []


def test_every_folder_of_the_project_is_on_the_map() -> None:
    mapped = {folder.split("/")[0] for row in rows("Folders") for folder in re.findall(r"`([\w/]+)/`", row[0])}
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    folders = {file.split("/")[0] for file in files if "/" in file and not file.startswith(".")}
    assert folders - mapped == set()


def test_links_lead_to_files() -> None:
    for page in (ROOT / "README.md", ROOT / "protos" / "README.md"):
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"

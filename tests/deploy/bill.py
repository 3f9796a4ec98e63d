"""The bill of materials that `make sbom` writes, as tests read it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]


def write_bill(path: Path) -> dict[str, Any]:
    """What `make sbom` writes to `path`."""
    # `-o`: a test installs nothing.
    command = ["make", "-s", "-o", ".venv/dev", "sbom", f"SBOM={path}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    bill: dict[str, Any] = json.loads(path.read_text())
    return bill


def named(bill: dict[str, Any]) -> dict[str, str]:
    """Version by name of each component."""
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert len(versions) == len(bill["components"])
    return versions

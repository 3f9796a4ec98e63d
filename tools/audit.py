"""Known holes in what the services run with: requirements.lock, asked of a service of advisories by pip-audit.

    .venv/bin/python tools/audit.py          exit code 0 none, 1 some, 2 not known: the advisories could not be asked

ADVISORIES names the service: `pypi` (default), `osv` or `esms`; OSV_URL an own one that answers as OSV does, where the
public ones cannot be reached. A hole that stands in tools/waivers is passed over until its last day.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
LOCK: Final = "requirements.lock"
LONGEST_WAIVER_DAYS: Final = 90
NONE, SOME, NOT_KNOWN = 0, 1, 2
_WAIVER: Final = re.compile(r"(\S+)\s+(\d{4}-\d\d-\d\d)\s+(\S.*)")


class WaiverError(ValueError):
    """A line of the waivers cannot be used; the text says what would be right."""


def waived(text: str, today: datetime.date) -> set[str]:
    """The holes that are passed over today. Raises `WaiverError`."""
    found = set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        read = _WAIVER.fullmatch(line.strip())
        if read is None:
            raise WaiverError(f"{line!r} is no waiver; expected an ID, a last day (YYYY-MM-DD) and why")
        last = datetime.date.fromisoformat(read[2])
        if (last - today).days > LONGEST_WAIVER_DAYS:
            raise WaiverError(f"the waiver of {read[1]} ends on {last}; expected {LONGEST_WAIVER_DAYS} days at most")
        if last >= today:
            found.add(read[1])
        else:
            print(f"  the waiver of {read[1]} has run out")
    return found


def asked(environ: Mapping[str, str], answer: Path) -> list[str]:
    """The command line; its answer goes to the file."""
    command = [f"{environ.get('BIN', '.venv/bin')}/pip-audit", "-r", LOCK, "--require-hashes", "--disable-pip"]
    command += ["--progress-spinner", "off", "-f", "json", "-o", str(answer)]
    command += ["-s", environ.get("ADVISORIES") or ("osv" if environ.get("OSV_URL") else "pypi")]
    return command + (["--osv-url", environ["OSV_URL"]] if environ.get("OSV_URL") else [])


def holes(dependencies: Sequence[Mapping[str, Any]], passed_over: set[str]) -> list[str]:
    """A line for each known hole that is not passed over, under any of its names."""
    return [
        f"{each['name']} {each['version']}: {hole['id']}, repaired in {', '.join(hole['fix_versions']) or 'no release'}"
        for each in dependencies
        for hole in each.get("vulns", ())
        if not passed_over & {hole["id"], *hole.get("aliases", ())}
    ]


def main() -> int:
    try:
        passed_over = waived(
            Path(os.environ.get("WAIVERS", "tools/waivers")).read_text(), datetime.datetime.now(datetime.UTC).date()
        )
    except (OSError, ValueError) as error:
        print(f"  {error}")
        return SOME
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        told = subprocess.run(asked(os.environ, answer), capture_output=True, text=True, check=False)  # noqa: S603
        try:
            dependencies = json.loads(answer.read_text())["dependencies"]
        except (OSError, ValueError, KeyError):
            last = (told.stderr or told.stdout).strip().splitlines()[-1:] or ["nothing"]
            print(f"  the advisories could not be asked; the last words were: {last[0][:300]}")
            return NOT_KNOWN
    found = holes(dependencies, passed_over)
    skipped = [each["name"] for each in dependencies if "skip_reason" in each]
    for line in found:
        print(f"  {line}")
    if skipped or not dependencies:
        print(f"  nothing is known of {len(skipped)} of {len(dependencies)} dependencies: {', '.join(skipped)[:300]}")
    return SOME if found else NOT_KNOWN if skipped or not dependencies else NONE


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())

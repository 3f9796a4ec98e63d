"""Plays scenario files: `python -m tests.scenarios FILE...`.

One line a case, `ok ID` or `FAIL ID: why`, then the sums. Ends with 1 if anything failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.scenarios.files import ScenarioFileError, Verdict, verdicts


def main(paths: list[str]) -> int:
    if not paths:
        print("usage: python -m tests.scenarios FILE...", file=sys.stderr)
        return 2
    passed = failed = 0
    for path in paths:
        for verdict in _verdicts(Path(path)):
            if verdict.why is None:
                passed += 1
                print(f"ok {verdict.id}")
            else:
                failed += 1
                print(f"FAIL {verdict.id}: {verdict.why}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _verdicts(path: Path) -> list[Verdict]:
    try:
        return list(verdicts(path))
    except ScenarioFileError as error:
        return [Verdict(path.name, str(error))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

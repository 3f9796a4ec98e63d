"""`python -m tests.benchmarks [capacity|path|engine|queue|scoring] [OPTION ...]`; without a name, all of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Final

PARTS: Final = ("capacity", "engine", "path", "queue", "scoring")
"""Each a module with `main(words)`, which answers an exit code."""


def main(words: Sequence[str]) -> int:
    """Runs the named part, or all that there are with the same options."""
    there = [part for part in PARTS if importlib.util.find_spec(f"tests.benchmarks.{part}")]
    named = list(words[:1]) if words and not words[0].startswith("-") else []
    if named and named[0] not in there:
        print(f"{named[0]!r} is not measured here; expected one of {', '.join(there)}", file=sys.stderr)
        return 2
    options = words[len(named) :]
    codes: list[int] = [importlib.import_module(f"tests.benchmarks.{part}").main(options) for part in named or there]
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

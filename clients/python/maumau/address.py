"""Where the server is, when nobody says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from maumau.errors import MaumauError

DEFAULT_ADDRESS: Final = "127.0.0.1:7700"
ADDRESS_VARIABLE: Final = "MAUMAU_ADDRESS"
_RUN_FILE: Final = Path("var") / "run.json"


def find_address(folder: Path | None = None) -> str:
    """`MAUMAU_ADDRESS`; else the server that `make run` started in `folder` (default: the current one) or in one above
    it, from the key `address` of its `var/run.json`; else 127.0.0.1:7700. A gRPC target such as `host:port`."""
    named = os.environ.get(ADDRESS_VARIABLE, "").strip()
    if named:
        return named
    start = (folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        if (place / _RUN_FILE).is_file():
            return _read_address(place / _RUN_FILE)
    return DEFAULT_ADDRESS


def _read_address(path: Path) -> str:
    try:
        address = json.loads(path.read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MaumauError(f"{path} should hold a JSON object with the key `address`: {error!r}") from error
    if not isinstance(address, str) or not address:
        raise MaumauError(f"{path}: `address` should be text such as {DEFAULT_ADDRESS}, not {address!r}")
    return address

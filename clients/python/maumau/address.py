"""Where the server is, when nobody says."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from maumau.errors import MaumauError

DEFAULT_ADDRESS: Final = "127.0.0.1:7700"
ADDRESS_VARIABLE: Final = "MAUMAU_ADDRESS"
_RUN_FILE: Final = Path("var") / "run.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is: one public address (`host:port`, or any gRPC target), and for servers that run without a proxy
    in front the addresses of each gRPC service by its full name; `tls` where it is spoken to in TLS."""

    address: str
    routes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tls: bool = False


def place_of(address: str) -> Place:
    """The place of an address that somebody typed: `host:port` or a gRPC target, in the clear; `https://host` or
    `https://host:port` in TLS, at port 443 unless another is named. Raises MaumauError for an address with a path."""
    scheme, there, rest = address.strip().partition("://")
    if not there or scheme not in ("http", "https"):
        return Place(address.strip())
    host = rest.rstrip("/")
    if not host or "/" in host:
        raise MaumauError(f"the address {address!r} should be {scheme}://host or {scheme}://host:port, without a path")
    named = host.rpartition(":")[2].isdigit() and not host.endswith("]")
    port = "443" if scheme == "https" else "80"
    return Place(host if named else f"{host}:{port}", tls=scheme == "https")


def find_place(folder: Path | None = None) -> Place:
    """`MAUMAU_ADDRESS`; else the server that `make run` started in `folder` (default: the current one) or in one above
    it, from its `var/run.json`; else 127.0.0.1:7700. Raises MaumauError for a file without an address."""
    named = os.environ.get(ADDRESS_VARIABLE, "").strip()
    if named:
        return place_of(named)
    start = (folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        if (place / _RUN_FILE).is_file():
            return _read_place(place / _RUN_FILE)
    return Place(DEFAULT_ADDRESS)


def _read_place(path: Path) -> Place:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        address, routes = content["address"], content.get("routes", {})
        known = {service: tuple(map(str, addresses)) for service, addresses in routes.items() if addresses}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MaumauError(f"{path} should hold a JSON object with the key `address`: {error!r}") from error
    return Place(_checked(path, address), known)


def _checked(path: Path, address: Any) -> str:
    if not isinstance(address, str) or not address:
        raise MaumauError(f"{path}: `address` should be text such as {DEFAULT_ADDRESS}, not {address!r}")
    return address

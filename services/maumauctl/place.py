"""Where the services are, and with which credential the operator goes to them.

Settings are read as every process reads them. Where they say nothing of targets and keys, and `make run` is running
here, its `run.json` says where everything is.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from services.runtime.auth import operator_credential
from services.runtime.key_folder import OPERATOR_FILE, OPERATORS, KeyFolderError
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, SCORING, SERVICES
from services.runtime.settings import Settings, read_settings

_TARGETS: Final = {
    MATCHMAKING: "matchmaking_target",
    GAME_AUTHORITY: "game_authority_target",
    SCORING: "scoring_target",
}


class Address(NamedTuple):
    """One process: `host:port` of its internal port, and the name that its certificate has if it is another."""

    service: str
    text: str
    server_name: str | None


def find_settings() -> Settings:
    """Raises `SettingsError`."""
    settings = read_settings()
    if settings.model_fields_set & {*_TARGETS.values(), "keys_dir"}:
        return settings
    return read_settings(**_of_run_file(settings.var_dir / "run.json", settings.model_fields_set))


def _of_run_file(path: Path, known: set[str]) -> Mapping[str, Any]:
    try:
        operated = json.loads(path.read_text())["operated"]
    except (OSError, ValueError, KeyError):
        return {}
    return {name: value for name, value in operated.items() if name not in known}


def target_of(settings: Settings, service: str) -> str:
    """The gRPC target of a service's internal ports."""
    return str(getattr(settings, _TARGETS[service]))


def credential(settings: Settings, file: Path | None) -> tuple[str, str]:
    """The metadata that the operator shows: of this file, or else of the key folder, where the first credential of
    `operators/` stands in for a missing `operator.secret`. Raises `KeyFolderError`."""
    if file is not None:
        return operator_credential(settings.model_copy(update={"keys_dir": file.parent}), file.name)
    if not (settings.keys_dir / OPERATOR_FILE).exists():
        own = sorted((settings.keys_dir / OPERATORS).glob("*.secret"))
        if own:
            return operator_credential(settings, f"{OPERATORS}/{own[0].name}")
        raise KeyFolderError(f"{settings.keys_dir / OPERATOR_FILE} is missing; name another with --credential")
    return operator_credential(settings)


def addresses(settings: Settings) -> list[Address]:
    """Every process of every service, as the targets name them."""
    return [address for service in SERVICES for address in _resolved(service, target_of(settings, service))]


def _resolved(service: str, target: str) -> Iterator[Address]:
    scheme, _, rest = target.partition(":")
    if scheme in ("ipv4", "ipv6"):
        yield from (Address(service, each, None) for each in rest.split(","))
    elif scheme == "unix":
        yield Address(service, target, None)
    else:
        host, _, port = target.removeprefix("dns:").rpartition("/")[2].rpartition(":")
        yield from _looked_up(service, host, port)


def _looked_up(service: str, host: str, port: str) -> Iterator[Address]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError:
        yield Address(service, f"{host}:{port}", None)  # so that it is told that nobody answers there
        return
    for ip in sorted({str(entry[4][0]) for entry in found}):
        shown = f"[{ip}]" if ":" in ip else ip
        yield Address(service, f"{shown}:{port}", None if ip == host else host)

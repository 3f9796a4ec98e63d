"""Which process serves which public gRPC service: the one table behind Envoy's routes and public reflection."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MATCHMAKING: Final = "matchmaking"
GAME_AUTHORITY: Final = "game-authority"
SCORING: Final = "scoring"

SERVICES: Final = (MATCHMAKING, GAME_AUTHORITY, SCORING)
"""Names of the services, as in images and labels; the module is `services.` + the name with an underscore."""

PUBLIC: Final[Mapping[str, str]] = MappingProxyType(
    {
        "maumau.v1.IdentityService": MATCHMAKING,
        "maumau.v1.MatchmakingService": MATCHMAKING,
        "maumau.v1.GameAuthorityService": GAME_AUTHORITY,
        "maumau.v1.ScoringService": SCORING,
    }
)

STREAMING: Final = (
    "/maumau.v1.GameAuthorityService/Play",
    "/maumau.v1.GameAuthorityService/Watch",
    "/maumau.v1.MatchmakingService/WatchTicket",
)
"""Methods whose calls have no end of their own."""

LONG_POLLS: Final = ("/maumau.v1.GameAuthorityService/GetRoom", "/maumau.v1.MatchmakingService/GetTicket")
"""Methods whose calls may wait for something new; while open they count as streams do."""


def module_of(service: str) -> str:
    """The module that `python -m` starts: `game-authority` is `services.game_authority`."""
    return "services." + service.replace("-", "_")


def load_contract(package: str = "maumau.v1") -> None:
    """Imports all message modules of a proto package, so that their descriptors are in the default pool."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if found.name.endswith("_pb2"):
            importlib.import_module(f"{package}.{found.name}")

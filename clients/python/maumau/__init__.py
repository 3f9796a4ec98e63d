"""Client of the Maumau card-game server.

    import asyncio, contextlib, maumau, random

    async def main() -> None:
        async with maumau.connect(name="Ana") as client:
            async with await client.create_room("mau-mau-32", seats=2) as room:
                await room.add_bot()
                await room.ready()
                await room.start()
                async for event in room.events():
                    if room.legal:
                        with contextlib.suppress(maumau.Refused):  # somebody was faster
                            await room.act(random.choice(room.legal))
                    if room.view.HasField("outcome"):
                        break

    asyncio.run(main())

`connect` finds the server by itself (`MAUMAU_ADDRESS`, `var/run.json`, else 127.0.0.1:7700). A `Room` follows the
server through lost connections and restarts; what the server refuses is raised as a `MaumauError` with its reason.
Messages of the contract are in `maumau.v1`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from maumau import actions
    from maumau.client import Client, connect
    from maumau.errors import (
        Closed,
        HistoryChanged,
        MaumauError,
        RateLimited,
        Refused,
        SignInNeeded,
        Stale,
        TakenOver,
        Unavailable,
        Unreadable,
    )
    from maumau.follower import RoomChat, RoomEvent, RoomSnapshot, RoomUpdate, SnapshotCause
    from maumau.room import Room
    from maumau.rulesets import make_ruleset
    from maumau.scoring import Scoring
    from maumau.session import TokenSource

__all__ = [
    "Client",
    "Closed",
    "HistoryChanged",
    "MaumauError",
    "RateLimited",
    "Refused",
    "Room",
    "RoomChat",
    "RoomEvent",
    "RoomSnapshot",
    "RoomUpdate",
    "Scoring",
    "SignInNeeded",
    "SnapshotCause",
    "Stale",
    "TakenOver",
    "TokenSource",
    "Unavailable",
    "Unreadable",
    "actions",
    "connect",
    "make_ruleset",
]

_HOMES: Final = {
    "client": ("Client", "connect"),
    "errors": (
        *("Closed", "HistoryChanged", "MaumauError", "RateLimited", "Refused"),
        *("SignInNeeded", "Stale", "TakenOver", "Unavailable", "Unreadable"),
    ),
    "follower": ("RoomChat", "RoomEvent", "RoomSnapshot", "RoomUpdate", "SnapshotCause"),
    "room": ("Room",),
    "rulesets": ("make_ruleset",),
    "scoring": ("Scoring",),
    "session": ("TokenSource",),
}
"""Where the names above are from. They are loaded when they are asked for: whoever needs the messages of `maumau.v1`
alone, as a server does, does not wait for the client."""

if not TYPE_CHECKING:  # a type checker knows the names from the imports above, and every other one is an error

    def __getattr__(name: str) -> object:
        if name == "actions":
            return import_module("maumau.actions")
        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"maumau.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

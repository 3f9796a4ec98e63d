"""The control for kills of scoring: an authority that takes a result out of the outbox before scoring has answered."""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.game_authority.relay import Relay
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.outbox import OutboxEntry

_relay = Relay._relay


async def _forget_and_relay(relay: Relay, entry: OutboxEntry) -> None:
    await relay._store.outbox.done(entry.room, entry.id)
    await _relay(relay, entry)


if __name__ == "__main__":
    Relay._relay = _forget_and_relay  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)

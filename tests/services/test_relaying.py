"""What becomes of a result that scoring does not take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from grpc_status import rpc_status

from services.game_authority.relay import Relay
from services.runtime.errors import status
from services.store.assembly import Store
from services.store.keys import RoomId
from services.store.outbox import OutboxEntry

ENTRY = OutboxEntry("1-0", RoomId("r"), 9, b"")


class Refusing:
    """Scoring that refuses everything for one reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def ReportResult(self, report: Any, timeout: float) -> Any:  # noqa: N802
        told: Any = rpc_status.to_status(status(self._reason))
        raise grpc.aio.AioRpcError(
            told.code, grpc.aio.Metadata(), grpc.aio.Metadata(*told.trailing_metadata), told.details
        )


@pytest.mark.parametrize(("reason", "counts"), [("SERVER_FULL", 0), ("STORE_UNAVAILABLE", 0), ("INVALID_FIELD", 1)])
async def test_a_result_is_not_given_up_for_what_passes_by_itself(
    monkeypatch: pytest.MonkeyPatch, reason: str, counts: int
) -> None:
    """Ten refusals, and nobody but the operator looks at it again."""
    refusals: list[str] = []

    async def refused(entry: OutboxEntry, why: str) -> bool:
        refusals.append(why)
        return False

    async def nothing(*_: Any) -> None:
        return None

    store = cast(Store, SimpleNamespace(outbox=SimpleNamespace(refused=refused)))
    relay = Relay.__new__(Relay)
    relay._store, relay._limit_seconds, relay.scoring = store, 1.0, cast(Any, Refusing(reason))
    for reads in ("_reader", "_report", "_log_of_match"):
        monkeypatch.setattr(relay, reads, nothing)
    await relay._relay(ENTRY)
    assert refusals == [reason] * counts

"""`python -m services.scoring`: one scoring process."""

from __future__ import annotations

import time

from maumau.internal.v1.operator_pb2_grpc import add_OperatorServiceServicer_to_server
from maumau.internal.v1.ratings_pb2_grpc import add_RatingLookupServiceServicer_to_server
from maumau.internal.v1.result_intake_pb2_grpc import add_ResultIntakeServiceServicer_to_server
from maumau.v1.scoring_pb2_grpc import add_ScoringServiceServicer_to_server

from services.rules.registry import GAMES
from services.runtime.lifecycle import Runtime, run_service
from services.runtime.routes import SCORING
from services.runtime.store_metrics import measure_store
from services.runtime.stores import can_write, open_store
from services.runtime.trust import Trust
from services.runtime.unoffered import offer
from services.scoring.audit import Auditor
from services.scoring.desk import Desk
from services.scoring.handlers import ScoringService
from services.scoring.histories import Histories
from services.scoring.intake import ResultIntakeService
from services.scoring.lookups import RatingLookupService
from services.scoring.operator import OperatorService
from services.scoring.rebuilding import Rebuilder
from services.scoring.standing_boards import StandingBoards
from services.store.archive import ArchiveStore
from services.store.assembly import Store
from services.store.boards import Boards
from services.store.ledgers import Ledgers
from services.store.players import PlayerStore
from services.store.rebuilds import Rebuilds
from services.store.scoring import ScoringStore


class Scoring:
    """What the process asks of its service. No call outlives its deadline, so there is nothing to drain."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ready(self) -> bool:
        return await can_write(self._store)

    async def drain(self) -> None:
        return None

    async def resume(self) -> None:
        return None

    async def close(self) -> None:
        await self._store.aclose()


async def bind(runtime: Runtime) -> Scoring:
    """Opens the store and puts the services on their ports."""
    settings = runtime.settings
    store = open_store(settings)
    Trust(runtime, store.pipelines)
    families = tuple(GAMES)
    results, ledgers = ScoringStore(store.pipelines, settings.history_days), Ledgers(store.pipelines)
    desk = Desk(results, PlayerStore(store.pipelines, settings.guest_days), families)
    histories, boards = Histories(desk), StandingBoards(desk, Boards(store.pipelines), ledgers, _now_ms)
    public = ScoringService(desk, histories, boards, ledgers)
    runtime.public.add(add_ScoringServiceServicer_to_server, offer("maumau.v1.ScoringService", public))

    rebuilds = Rebuilds(store.pipelines)
    rebuilder, auditor = Rebuilder(ledgers, rebuilds, families), Auditor(ledgers, rebuilds)
    intake = ResultIntakeService(results, ArchiveStore(store.pipelines, settings.replay_days), families)
    runtime.internal.add(
        add_ResultIntakeServiceServicer_to_server, offer("maumau.internal.v1.ResultIntakeService", intake)
    )
    lookups = offer("maumau.internal.v1.RatingLookupService", RatingLookupService(desk))
    runtime.internal.add(add_RatingLookupServiceServicer_to_server, lookups)
    operator = OperatorService(desk, ledgers, rebuilder, auditor, histories, boards)
    runtime.internal.add(add_OperatorServiceServicer_to_server, offer("maumau.internal.v1.OperatorService", operator))
    runtime.spawn(rebuilder.run(), "recomputation")
    runtime.spawn(measure_store(store), "store metrics")
    return Scoring(store)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    run_service(SCORING, bind)

"""`python -m services.scoring`: one scoring process."""

from __future__ import annotations

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
from services.scoring.handlers import ScoringService
from services.scoring.intake import ResultIntakeService
from services.store.archive import ArchiveStore
from services.store.assembly import Store
from services.store.players import PlayerStore
from services.store.scoring import ScoringStore


class Scoring:
    """What the process asks of its service. No call outlives its deadline, so there is nothing to drain."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ready(self) -> bool:
        return await can_write(self._store)

    async def drain(self) -> None:
        return None

    async def close(self) -> None:
        await self._store.aclose()


async def bind(runtime: Runtime) -> Scoring:
    """Opens the store and puts the services on their ports."""
    settings = runtime.settings
    store = open_store(settings)
    results = ScoringStore(store.pipelines, settings.history_days)
    players = PlayerStore(store.pipelines, settings.guest_days)
    families = tuple(GAMES)
    Trust(runtime, store.pipelines)
    public = offer("maumau.v1.ScoringService", ScoringService(results, players, families))
    runtime.public.add(add_ScoringServiceServicer_to_server, public)
    archive = ArchiveStore(store.pipelines, settings.replay_days)
    intake = ResultIntakeService(results, archive, families)
    internal = offer("maumau.internal.v1.ResultIntakeService", intake)
    ratings = offer("maumau.internal.v1.RatingLookupService", object())
    runtime.internal.add(add_RatingLookupServiceServicer_to_server, ratings)
    runtime.internal.add(add_ResultIntakeServiceServicer_to_server, internal)
    operator = offer("maumau.internal.v1.OperatorService", object())
    runtime.internal.add(add_OperatorServiceServicer_to_server, operator)
    runtime.spawn(measure_store(store), "store metrics")
    return Scoring(store)


if __name__ == "__main__":
    run_service(SCORING, bind)

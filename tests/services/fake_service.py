"""A service without games, to test the harness and the supervisor.

`python -m tests.services.fake_service [NAME]` runs it as a process.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from maumau.v1 import scoring_pb2 as pb
from maumau.v1.scoring_pb2_grpc import ScoringServiceServicer, add_ScoringServiceServicer_to_server

from services.runtime.lifecycle import Runtime, run_service


class FakeScoring(ScoringServiceServicer):
    """Answers with what the request's fields ask for."""

    async def GetRating(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.player_id == "slow":
            await asyncio.sleep(60)
        if request.player_id == "broken":
            raise RuntimeError("the ace of spades")
        return pb.GetRatingResponse()


class FakeService:
    async def ready(self) -> bool:
        return True

    async def drain(self) -> None:
        return None

    async def close(self) -> None:
        return None


async def bind(runtime: Runtime) -> FakeService:
    runtime.public.add(add_ScoringServiceServicer_to_server, FakeScoring())  # type: ignore[abstract]
    return FakeService()


if __name__ == "__main__":
    run_service(sys.argv[1] if sys.argv[1:] else "fake", bind)

"""A server without games, for tests of the harness as a process and of the supervisor.

`python -m tests.services.fake_service [NAME]` offers all public services, of which only `GetRating` does anything.
"""

from __future__ import annotations

import sys
from typing import Any

from maumau.v1 import authority_pb2_grpc, identity_pb2_grpc, matchmaking_pb2_grpc, scoring_pb2_grpc

from services.runtime.lifecycle import Runtime, run_service
from tests.services.serving import FakeAuthority, FakeScoring, Probe


async def bind(runtime: Runtime) -> Probe:
    probe = Probe()
    rest: Any = matchmaking_pb2_grpc.MatchmakingServiceServicer, identity_pb2_grpc.IdentityServiceServicer
    matchmaking, identity = (servicer() for servicer in rest)
    runtime.public.add(matchmaking_pb2_grpc.add_MatchmakingServiceServicer_to_server, matchmaking)
    runtime.public.add(identity_pb2_grpc.add_IdentityServiceServicer_to_server, identity)
    runtime.public.add(authority_pb2_grpc.add_GameAuthorityServiceServicer_to_server, FakeAuthority.of(probe))
    runtime.public.add(scoring_pb2_grpc.add_ScoringServiceServicer_to_server, FakeScoring.of(probe))
    return probe


if __name__ == "__main__":
    run_service(sys.argv[1] if sys.argv[1:] else "fake", bind)

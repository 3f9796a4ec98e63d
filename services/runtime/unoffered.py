"""RPCs that the contract has and this server does not offer yet.

    runtime.public.add(add_ScoringServiceServicer_to_server, offer("maumau.v1.ScoringService", ScoringService(...)))

Every method that the servicer lacks answers UNIMPLEMENTED with NOT_AVAILABLE_YET and its own name. The list is read
from the descriptor, so nothing has to be written when an RPC is added to the contract.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor

from services.runtime.errors import Refused


def offer(service: str, servicer: object) -> Any:
    """The servicer with all methods of the service: its own, and refusals for the others."""
    return _Offered(service, servicer)


def missing_methods(service: str, servicer: object) -> list[str]:
    """Names of the methods that the servicer lacks, in the order of the contract."""
    return [method.name for method in _methods(service) if not hasattr(servicer, method.name)]


class _Offered:
    def __init__(self, service: str, servicer: object) -> None:
        for method in _methods(service):
            setattr(self, method.name, getattr(servicer, method.name, None) or _refusing(service, method))


def _methods(service: str) -> list[MethodDescriptor]:
    return list(descriptor_pool.Default().FindServiceByName(service).methods)


def _refusing(service: str, method: MethodDescriptor) -> Any:
    path = f"/{service}/{method.name}"

    async def refuse(request: object, context: object) -> Any:
        raise Refused("NOT_AVAILABLE_YET", method=path)

    async def refuse_stream(request: object, context: object) -> AsyncIterator[Any]:
        raise Refused("NOT_AVAILABLE_YET", method=path)
        yield

    return refuse_stream if method.server_streaming else refuse

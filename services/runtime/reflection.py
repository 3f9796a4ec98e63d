"""gRPC reflection, in its v1 and v1alpha names, over a closed list of services.

The descriptors come from a pool that holds the files of these services and what they import, nothing else: on the
public port nobody can ask for an internal message by guessing its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha import reflection_pb2_grpc
from grpc_reflection.v1alpha.reflection import ReflectionServicer, aio

V1 = "grpc.reflection.v1.ServerReflection"
V1ALPHA = "grpc.reflection.v1alpha.ServerReflection"


def pool_of(service_names: Iterable[str]) -> descriptor_pool.DescriptorPool:
    """A pool of the files that declare these services and of all that those import. Raises KeyError for an unknown
    name."""
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(file: FileDescriptor) -> None:
        if file.name in added:
            return
        added.add(file.name)
        for dependency in file.dependencies:
            add(dependency)
        pool.AddSerializedFile(file.serialized_pb)

    add(error_details_pb2.DESCRIPTOR)  # so that tools can show what a refusal carries
    for name in service_names:
        add(descriptor_pool.Default().FindServiceByName(name).file)
    return pool


def reflection_servicer(service_names: Iterable[str]) -> ReflectionServicer:
    names = sorted(service_names)
    return aio.ReflectionServicer([*names, V1, V1ALPHA], pool=pool_of([*names, V1ALPHA]))


def add_reflection_v1alpha(servicer: Any, server: grpc.aio.Server) -> None:
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)


def add_reflection_v1(servicer: Any, server: grpc.aio.Server) -> None:
    """The same service under its newer name: the messages are alike on the wire."""
    renamed = _Renaming(server)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, renamed)


class _Renaming:
    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_registered_method_handlers(self, _: str, handlers: Any) -> None:
        self._server.add_registered_method_handlers(V1, handlers)

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """The handlers come by name too."""

"""The one message of the sketches, made without generated code: room, version, payload."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE: Final = "sketch.Sketch"

_Field = descriptor_pb2.FieldDescriptorProto


def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="sketch.proto", package="sketch", syntax="proto3")
    message = file.message_type.add(name="Message")
    kinds = (("room", _Field.TYPE_STRING), ("version", _Field.TYPE_UINT64), ("payload", _Field.TYPE_BYTES))
    for number, (name, kind) in enumerate(kinds, 1):
        message.field.add(name=name, number=number, type=kind, label=_Field.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sketch.Message"))


Message: Final = _message_class()
"""`Message(room=..., version=..., payload=...)`."""


def encode(message: Any) -> bytes:
    """The serializer of all methods."""
    encoded: bytes = message.SerializeToString()
    return encoded

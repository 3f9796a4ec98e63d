"""What the processes tell each other beside the log of a room: chat, the operator's word, who opened a `Play` stream,
and that somebody came or is gone.

An aside has no version and is not kept: whoever listens hears it, whoever comes later does not.
"""

from __future__ import annotations

import msgspec


class Chat(msgspec.Struct, frozen=True, tag="chat", array_like=True):
    """A text for those in the room. `seat` is None for a spectator, whom seats hear only between matches."""

    player: str
    name: str
    seat: int | None
    text: str
    time_ms: int
    request_id: bytes


class Announced(msgspec.Struct, frozen=True, tag="announced", array_like=True):
    """The operator's word, for all who watch."""

    text: str
    time_ms: int
    request_id: bytes


class PlayOpened(msgspec.Struct, frozen=True, tag="play", array_like=True):
    """A player opened a `Play` stream; older ones of the same player end."""

    player: str
    stream: str


class PlayStands(msgspec.Struct, frozen=True, tag="stands", array_like=True):
    """A player's `Play` stream is open, said again where an announcement may have been lost. `opened_ms` is the time of
    Redis at its opening: of two, the later one stays, or that with the greater id."""

    player: str
    stream: str
    opened_ms: int


class PresenceChanged(msgspec.Struct, frozen=True, tag="presence", array_like=True):
    """The person of a seat came, or is gone: whoever watches is to be shown it before the next bookmark is due."""


Told = Chat | Announced | PlayOpened | PlayStands | PresenceChanged

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Told)


def encode_aside(aside: Told) -> bytes:
    """The bytes for the channel."""
    return _encoder.encode(aside)


def decode_aside(content: bytes) -> Told | None:
    """What was told; None for a kind that only a newer release knows."""
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError:
        return None

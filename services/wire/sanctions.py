"""Bans and mutes, as the operator gets them."""

from __future__ import annotations

from maumau.internal.v1 import operator_pb2

from services.wire.times import timestamp


def sanction_message(player: str, until_ms: int, why: str) -> operator_pb2.Sanction:
    """A player who is banned or muted until then, in ms since 1970."""
    return operator_pb2.Sanction(player_id=player, until=timestamp(until_ms), why=why)

"""Scoring as the authority sees it: it takes each result and each log, and is sometimes away."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import grpc

from tests.simulation.oracle import Oracle


class Scoring:
    """Stands behind every process's relay. `results` by match; a second, different result of a match is a violation
    unless Redis was rolled back."""

    def __init__(self, oracle: Oracle, chance: random.Random) -> None:
        self.results: dict[str, bytes] = {}
        self.logs: dict[str, list[bytes]] = {}
        self.away = False
        self.fails = 0.0
        self.may_differ = False
        self._oracle = oracle
        self._chance = chance

    async def ReportResult(self, report: Any, timeout: float) -> None:  # noqa: N802
        """Raises AioRpcError where scoring is away, before or after it took the result."""
        await asyncio.sleep(0.001 + 0.01 * self._chance.random())
        if self.away:
            raise _unavailable()
        content = report.SerializeToString(deterministic=True)
        known = self.results.setdefault(report.match.match_id, content)
        if known != content and not self.may_differ:
            self._oracle.broken("result", f"two results of one match: {report}")
        if self._chance.random() < self.fails:
            raise _unavailable()

    async def ArchiveLog(self, messages: Any, timeout: float) -> None:  # noqa: N802
        """Likewise. A log that comes again is the same, unless Redis was rolled back."""
        await asyncio.sleep(0.001 + 0.01 * self._chance.random())
        if self.away:
            raise _unavailable()
        parts = list(messages)
        content = [part.SerializeToString(deterministic=True) for part in parts]
        known = self.logs.setdefault(parts[0].match.match.match_id, content)
        if known != content and not self.may_differ:
            self._oracle.broken("archive", "two logs of one match")
        if self._chance.random() < self.fails:
            raise _unavailable()


class NoChannel:
    """What a relay closes at its end."""

    async def close(self) -> None:
        return None


def _unavailable() -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "away")

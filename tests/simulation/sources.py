"""Where the authority takes time, chance and its log from: in a simulation, from the simulation.

They are put into every module of it that imports them, by their names, and only there, for as long as a run lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import pkgutil
import random
import secrets
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple
from unittest import mock

from services.runtime.logs import log as real_log
from tests.simulation.loop import here
from tests.simulation.redis_server import EPOCH

_PACKAGES: Final = ("services.game_authority", "services.store", "services.wire")
_MODULES: Final = ("services.runtime.health",)
_SOURCES: Final = {"time": time, "secrets": secrets, "random": random, "log": real_log}


def _simulated() -> Iterator[ModuleType]:
    for package in _PACKAGES:
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            yield importlib.import_module(found.name)
    yield from map(importlib.import_module, _MODULES)


class Line(NamedTuple):
    """One line of a log."""

    at: float
    node: str
    level: str
    event: str
    fields: dict[str, Any]

    def __str__(self) -> str:
        fields = " ".join(f"{key}={value!r}" for key, value in self.fields.items())
        return f"{self.at:9.3f} {self.node:<10} {self.level:<9} {self.event} {fields}"


class Log:
    """Takes the place of structlog's logger, and of the standard library's for the store."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.lines.append(Line(asyncio.get_running_loop().time(), here().name, level, event, fields))

    def debug(self, event: str, **fields: Any) -> None:
        self.write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self.write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self.write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self.write("error", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        import traceback

        self.write("exception", event, {**fields, "traceback": traceback.format_exc()})


class _Time:
    """The `time` module as one node knows it."""

    gmtime = staticmethod(time.gmtime)
    strftime = staticmethod(time.strftime)

    def time(self) -> float:
        return EPOCH + asyncio.get_running_loop().time() + here().skew

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    perf_counter = monotonic


class _Secrets:
    """The `secrets` module, from a seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def token_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def token_hex(self, count: int) -> str:
        return self._chance.randbytes(count).hex()


class _StoreHandler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = "exception" if record.exc_info else record.levelname.lower()
        self._log.write(level, record.getMessage(), {} if not record.exc_info else {"error": repr(record.exc_info[1])})


@contextlib.contextmanager
def simulated_sources(chance: random.Random, log: Log) -> Iterator[None]:
    """While this lasts, the authority's modules know only the simulation's time, chance and log."""
    instead = {
        "time": _Time(),
        "secrets": _Secrets(random.Random(chance.random())),
        "random": random.Random(chance.random()),
        "log": log,
    }
    store = logging.getLogger("services.store")
    handler = _StoreHandler(log)
    with contextlib.ExitStack() as stack:
        for module in _simulated():
            for name, real in _SOURCES.items():
                if getattr(module, name, None) is real:
                    stack.enter_context(mock.patch.object(module, name, instead[name]))
        store.addHandler(handler)
        propagate, store.propagate = store.propagate, False
        try:
            yield
        finally:
            store.removeHandler(handler)
            store.propagate = propagate

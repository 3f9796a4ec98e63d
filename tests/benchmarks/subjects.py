"""What is measured: the whole server with one authority, and the sketches, on the same Redis."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.benchmarks.load import Spec
from tests.benchmarks.profiled_authority import FILE_VARIABLE

ROOT: Final = Path(__file__).parents[2]
AUTHORITY: Final = f"{GAME_AUTHORITY}-1"


PROFILED: Final = "tests.benchmarks.profiled_authority"
PROFILE_SECONDS: Final = 10.0


@contextlib.contextmanager
def running_stack(var_dir: Path, profile: Path | None = None) -> Iterator[Stack]:
    """The server as `make run` starts it, with one authority and without limits a player; with `profile` the
    authority's stack is sampled."""
    modules = dict(StackOptions().modules)
    environ = {"MAUMAU_RATE_LIMITS": "false"}
    if profile is not None:
        modules[GAME_AUTHORITY] = PROFILED
        environ[FILE_VARIABLE] = str(profile.resolve())
    options = StackOptions(var_dir=var_dir, port=0, authorities=1, environ=environ, modules=modules)
    with Stack(options) as stack:
        yield stack


def write_profile(stack: Stack, profile: Path) -> None:
    """Lets the authority write what it sampled so far. Raises TimeoutError where it does not."""
    profile.unlink(missing_ok=True)
    stack[AUTHORITY].kill(signal.SIGUSR1)
    end = time.monotonic() + PROFILE_SECONDS
    while not profile.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no profile in {profile} within {PROFILE_SECONDS:g} s")
        time.sleep(0.1)


@contextlib.contextmanager
def running_sketch(shape: str, redis_url: str) -> Iterator[tuple[str, int]]:
    """A sketch's address and process id."""
    command = [sys.executable, "-m", "tests.benchmarks.reference.server", shape, redis_url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield f"127.0.0.1:{process.stdout.readline().strip()}", process.pid
    finally:
        process.kill()
        process.wait()


def measure_sketch(stack: Stack, shape: str, **load: Any) -> list[dict[str, Any]]:
    """One run of a sketch's clients; the figures of each think time."""
    with running_sketch(shape, stack.redis_url) as (address, pid):
        return _run(Spec(players="sketch", shape=shape, address=address, pids=_pids(stack, pid), **load))


def measure_server(stack: Stack, players: str, shape: str, *, through_envoy: bool, **load: Any) -> list[dict[str, Any]]:
    """One run of the server's clients; the figures of each think time."""
    address = stack.address if through_envoy else stack.addresses(GAME_AUTHORITY)[0]
    pids = _pids(stack, _pid(stack, AUTHORITY))
    if through_envoy:
        pids["envoy"] = _pid(stack, "envoy")
    lobby = stack.addresses(MATCHMAKING)[0] if not through_envoy else stack.address
    return _run(Spec(players=players, shape=shape, address=address, lobby=lobby, pids=pids, **load))


def _pids(stack: Stack, server: int) -> dict[str, int]:
    return {"server": server, "redis": _pid(stack, "redis")}


def _pid(stack: Stack, name: str) -> int:
    pid = stack[name].pid
    assert pid is not None
    return pid


def _run(spec: Spec) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.benchmarks.load", msgspec.json.encode(spec).decode()]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True, timeout=300)
    figures: list[dict[str, Any]] = json.loads(done.stdout)
    return figures

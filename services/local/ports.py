"""Ports for the processes of one machine: fixed ones beside the public port, or free ones for tests."""

from __future__ import annotations

import random
import socket
from contextlib import closing
from pathlib import Path
from typing import Final

LOWEST: Final = 10_000
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen there now."""
    with closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """`count` different free ports outside the range from which the kernel takes ports for outgoing connections, so
    that one stays free while its process is started again."""
    candidates = list(_candidates())
    random.shuffle(candidates)
    found = []
    for port in candidates:
        if is_free(port, host):
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"no {count} free ports on {host} between {LOWEST} and {_first_ephemeral()}")


def _candidates() -> range:
    return range(LOWEST, _first_ephemeral())


def _first_ephemeral() -> int:
    try:
        return max(int(_EPHEMERAL.read_text().split()[0]), LOWEST + 1_000)
    except OSError:
        return 32_768

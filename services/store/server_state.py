"""What Redis says of itself: how full it is, and whether it is set up to keep what it is given."""

from __future__ import annotations

from typing import NamedTuple

from services.store.batcher import Pipelines

OLDEST_VERSION = (7, 0)


class ServerState(NamedTuple):
    """From INFO. Valkey answers with the version of Redis that it is compatible with."""

    version: tuple[int, ...]
    used_bytes: int
    limit_bytes: int
    """`maxmemory`; 0 for none."""
    policy: str
    """`maxmemory-policy`"""
    append_only: bool
    role: str
    """master or slave, in the words of INFO"""
    replicas: int = 0
    """How many are connected."""
    needs_replicas: bool = False
    """`min-replicas-to-write` and `min-replicas-max-lag` are set."""

    @property
    def fullness(self) -> float:
        """The part of `maxmemory` in use; 0 without a limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0

    def complaints(self) -> list[str]:
        """One sentence for each thing that breaks a promise of the server; empty if all is well."""
        found = []
        if self.version < OLDEST_VERSION:
            found.append(f"Redis {'.'.join(map(str, self.version))} is too old: 7.0 or Valkey is needed")
        if self.policy != "noeviction":
            found.append(f"maxmemory-policy is {self.policy}: rooms may vanish; set it to noeviction")
        if not self.append_only:
            found.append("appendonly is off: a restart of Redis loses accepted actions; set it to yes")
        if self.replicas and not self.needs_replicas:
            found.append(
                "min-replicas-to-write is 0: a primary that is cut off from its replicas goes on accepting actions, "
                "which are lost when one of them takes over; set it to 1 and min-replicas-max-lag to 10"
            )
        return found


async def server_states(pipelines: Pipelines) -> dict[str, ServerState]:
    """Ask every primary; by their names. `StoreError` if the ACL of the service does not allow INFO."""
    return {name: _state(text) for name, text in (await pipelines.reads.of_each("INFO")).items()}


def _state(text: bytes) -> ServerState:
    fields = dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)
    return ServerState(
        version=tuple(int(part) for part in fields["redis_version"].split(".")),
        used_bytes=int(fields["used_memory"]),
        limit_bytes=int(fields["maxmemory"]),
        policy=fields["maxmemory_policy"],
        append_only=fields["aof_enabled"] == "1",
        role=fields["role"],
        replicas=int(fields.get("connected_slaves", 0)),
        needs_replicas="min_slaves_good_slaves" in fields,  # told only where both are set
    )

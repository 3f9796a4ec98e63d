"""Several real servers that belong together: a primary with replicas and Sentinels, or a Cluster.

Both listen on loopback ports, form within a few seconds and are gone afterwards. Processes die with a signal only, so
each group is a context manager.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import redis

from tests.servers import Kind, Server, binary, free_port

SERVICE: Final = "rooms"
DOWN_AFTER_MS: Final = 1_000
PATIENCE_S: Final = 60.0
_REPLICATES: Final = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
_SLOTS: Final = 16_384


class Replicated:
    """A primary and its replicas. `servers[0]` is the primary at first."""

    def __init__(self, kind: Kind, replicas: int, *options: str) -> None:
        self.servers = [Server(kind, *options, *_REPLICATES, port=free_port())]
        first = ("--replicaof", f"127.0.0.1 {self.servers[0].port}")
        self.servers += [Server(kind, *options, *_REPLICATES, *first, port=free_port()) for _ in range(replicas)]

    @property
    def urls(self) -> list[str]:
        """The single servers, by port."""
        return [f"redis://127.0.0.1:{server.port}" for server in self.servers]

    def start(self) -> None:
        for server in self.servers:
            server.start()
        with contextlib.closing(self.servers[0].client()) as client:
            wait_for(lambda: self._confirm(client))

    def _confirm(self, primary: redis.Redis) -> bool:
        """Whether a write reaches all replicas; it may be refused while there are too few."""
        primary.set("first", 1)
        return bool(primary.wait(len(self.servers) - 1, 100) == len(self.servers) - 1)

    def rejoin(self, server: Server) -> None:
        """Starts a server that died, as a replica of the present primary; returns when all are up to date again."""
        primary = self.primary()
        if not server.running:
            server.start()
        with contextlib.closing(server.client()) as client:
            client.replicaof("127.0.0.1", str(primary.port))
        wait_for(self._all_confirm)

    def _all_confirm(self) -> bool:
        """The same of whoever is the primary now: on a busy machine Sentinels change it once more now and then."""
        with contextlib.closing(self.primary().client()) as client:
            return self._confirm(client)

    def primary(self) -> Server:
        """The running server that says it is the primary; the last such, since an old one may say so for a while."""
        return [server for server in self.servers if server.running and _role(server) == "master"][-1]

    def remove(self) -> None:
        for server in self.servers:
            server.remove()


def _role(server: Server) -> str:
    with contextlib.closing(server.client()) as client:
        role: str = client.info("replication")["role"]
        return role


class Sentinels(Replicated):
    """The same with Sentinels that watch over it."""

    def __init__(self, kind: Kind, *options: str, replicas: int = 2, sentinels: int = 3, password: str = "") -> None:
        super().__init__(kind, replicas, *options)
        self._kind = kind
        self._quorum = sentinels // 2 + 1
        self._password = password
        self.ports = [free_port() for _ in range(sentinels)]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        query = f"?sentinel_password={self._password}" if self._password else ""
        return f"redis+sentinel://{hosts}/{SERVICE}{query}"

    def start(self) -> None:
        super().start()
        for port in self.ports:
            self._start_sentinel(port)
        for port in self.ports:
            wait_for(lambda port=port: self._knows_all(port))  # type: ignore[misc]

    def _start_sentinel(self, port: int) -> None:
        folder = self.servers[0].folder / f"sentinel-{port}"
        folder.mkdir()
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            "logfile said",
            *([f"requirepass {self._password}", f"sentinel sentinel-pass {self._password}"] * bool(self._password)),
            f"sentinel monitor {SERVICE} 127.0.0.1 {self.servers[0].port} {self._quorum}",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 1000",  # an election that failed is held again after twice this
        ]
        file = folder / "sentinel.conf"
        file.write_text("\n".join(lines) + "\n")
        command = [binary(self._kind), str(file), "--sentinel"]
        self._processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))

    def rejoin(self, server: Server) -> None:
        super().rejoin(server)
        for port in self.ports:
            wait_for(lambda port=port: self._knows_all(port))  # type: ignore[misc]

    def named(self) -> int:
        """The port of the primary that the Sentinels name."""
        with contextlib.closing(redis.Redis(port=self.ports[0], password=self._password or None)) as client:
            found: Any = client.sentinel_get_master_addr_by_name(SERVICE)
            return int(found[1])

    def _knows_all(self, port: int) -> bool:
        with contextlib.closing(redis.Redis(port=port, password=self._password or None)) as client:
            state: Any = client.sentinel_master(SERVICE)
            others = (state["num-other-sentinels"], state["num-slaves"])
            return others == (len(self.ports) - 1, len(self.servers) - 1)

    def remove(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        super().remove()


class Clustered:
    """Primaries that share the slots evenly; `replicated` of them have a replica each."""

    def __init__(self, kind: Kind, *options: str, primaries: int = 3, replicated: int = 0) -> None:
        ours = (*options, *_REPLICATES, "--cluster-enabled", "yes", "--cluster-node-timeout", str(DOWN_AFTER_MS))
        more = ("--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0")
        self.servers = [
            Server(kind, *ours, *more, "--cluster-port", str(free_port()), port=free_port())
            for _ in range(primaries + replicated)
        ]
        self.primaries, self.replicas = self.servers[:primaries], self.servers[primaries:]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def start(self) -> None:
        for server in self.servers:
            server.start()
        clients = [server.client() for server in self.servers]
        number = len(self.primaries)
        for index, client in enumerate(clients):
            if index < number:
                command(client, "ADDSLOTSRANGE", _SLOTS * index // number, _SLOTS * (index + 1) // number - 1)
            command(client, "SET-CONFIG-EPOCH", index + 1)
            if index:
                first = self.servers[0]
                bus = first.option("--cluster-port")
                command(client, "MEET", "127.0.0.1", first.port, bus)
        for client in clients:
            wait_for(lambda client=client: self._formed(client))  # type: ignore[misc]
        for replica, client in zip(self.replicas, clients[number:], strict=True):
            followed = clients[self.replicas.index(replica)]
            command(client, "REPLICATE", command(followed, "MYID").decode())
        for client in clients:
            wait_for(lambda client=client: self._replicas_known(client))  # type: ignore[misc]
        for client in clients[: len(self.replicas)]:
            wait_for(lambda client=client: client.wait(1, 100) == 1)  # type: ignore[misc]
        for client in clients:
            client.close()

    def _formed(self, client: redis.Redis) -> bool:
        facts = dict(line.split(":") for line in command(client, "INFO").decode().split())
        known, slots = int(facts["cluster_known_nodes"]), int(facts["cluster_slots_ok"])
        return facts["cluster_state"] == "ok" and (known, slots) == (len(self.servers), _SLOTS)

    def _replicas_known(self, client: redis.Redis) -> bool:
        ranges: Any = command(client, "SLOTS")
        return sum(len(nodes) - 1 for _, _, *nodes in ranges) == len(self.replicas)

    def remove(self) -> None:
        for server in self.servers:
            server.remove()


def command(client: redis.Redis, *words: Any) -> Any:
    """One CLUSTER command, with its plain reply."""
    connection = client.connection_pool.get_connection()
    try:
        connection.send_command("CLUSTER", *words)  # type: ignore[no-untyped-call]
        return connection.read_response()
    finally:
        client.connection_pool.release(connection)


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds; an error is as good as false."""
    end = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(redis.RedisError):
            if condition():
                return
        if time.monotonic() > end:
            raise TimeoutError(f"not within {PATIENCE_S} s")
        time.sleep(0.02)


G = TypeVar("G", Replicated, Sentinels, Clustered)


@contextlib.contextmanager
def formed(group: G) -> Iterator[G]:
    """A started group, gone afterwards."""
    try:
        group.start()
        yield group
    finally:
        group.remove()

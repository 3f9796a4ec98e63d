"""Pods on this machine, as the manifests state them: command, user, environment, mounts, ports, a read-only root.

Each pod has a network namespace with an address of its own on one bridge, and a root of its own in which nothing but
its volumes may be written. The names of services are in its /etc/hosts. What a kubelet does besides (probes, preStop,
SIGTERM) tests do by hand. Needs root, `ip`, `unshare` and `chroot`.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
IMAGE_ENVIRON: Final = dict(
    re.findall(r"\b([A-Z]+(?:_[A-Z]+)*)=(\S+)", (ROOT / "deploy/Dockerfile").read_text().split("FROM")[-1])
)
"""What the last stage of the image sets."""
SYSTEM: Final = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")


@dataclass
class Volume:
    """What a pod finds at `path`: `files` by name, written by nobody when `read_only`."""

    path: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    read_only: bool = False


@dataclass
class Pod:
    """One running pod: its address, and its one process."""

    name: str
    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def terminate(self) -> int:
        """SIGTERM, as after preStop; the exit code."""
        os.kill(self._inner(), signal.SIGTERM)
        return self.process.wait(timeout=60)

    def told(self) -> str:
        return self.log.read_text(errors="replace")

    def _inner(self) -> int:
        """The container's own process: `unshare` and `chroot` became it, by exec."""
        return self.process.pid


class Cluster:
    """A bridge with pods on it. `names` resolve in every pod that is started after they were given."""

    def __init__(self, folder: Path, net: str) -> None:
        self.folder, self.net = folder, net
        self.names: dict[str, str] = {}
        self.pods: list[Pod] = []
        self._bridge = f"mb{os.getpid() % 100_000}"
        self._spaces: list[str] = []

    def __enter__(self) -> Cluster:
        # The bridge has a namespace of its own: a firewall of this machine, a container engine's for instance, would
        # stop what passes between the pods. One more link leads out of it, to whoever tests.
        _run("ip", "netns", "add", self._bridge)
        inside = ("ip", "-n", self._bridge)
        _run(*inside, "link", "add", "bridge", "type", "bridge")
        _run(*inside, "link", "set", "bridge", "up")
        _run("ip", "link", "add", self._bridge, "type", "veth", "peer", "name", "out", "netns", self._bridge)
        _run(*inside, "link", "set", "out", "master", "bridge", "up")
        _run("ip", "address", "add", f"{self.net}.1/24", "dev", self._bridge)
        _run("ip", "link", "set", self._bridge, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for pod in self.pods:
            if pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait()
        for space in (*self._spaces, self._bridge):
            _run("ip", "netns", "delete", space)

    def address(self, name: str) -> str:
        """The address that the pod of this name has, or will have."""
        return self.names.setdefault(name, f"{self.net}.{10 + len(self.names)}")

    def start(
        self, name: str, spec: Mapping[str, Any], command: list[str], environ: Mapping[str, str], volumes: list[Volume]
    ) -> Pod:
        """Starts a pod. `spec` is that of its template; `command` is what the image and the manifest make it."""
        space = f"{self._bridge}-{len(self._spaces)}"
        self._connect(space, self.address(name))
        work = self.folder / name
        work.mkdir()
        script = work / "start"
        script.write_text(self._script(work, spec, command, environ, volumes))
        log = work / "log"
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, "unshare", "--mount", "--propagation", "private", "sh", "-e", str(script)],
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        pod = Pod(name, self.address(name), process, log)
        self.pods.append(pod)
        return pod

    def _connect(self, space: str, address: str) -> None:
        here, there = f"pod{len(self._spaces)}", "eth0"
        _run("ip", "netns", "add", space)
        self._spaces.append(space)
        bridge = ("ip", "-n", self._bridge)
        _run(*bridge, "link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
        _run(*bridge, "link", "set", here, "master", "bridge", "up")
        inside = ("ip", "-n", space)
        _run(*inside, "address", "add", f"{address}/24", "dev", there)
        _run(*inside, "link", "set", there, "up")
        _run(*inside, "link", "set", "lo", "up")

    def _script(
        self, work: Path, spec: Mapping[str, Any], command: list[str], environ: Mapping[str, str], volumes: list[Volume]
    ) -> str:
        """Builds the pod's root in a mount namespace of its own and becomes the command in it."""
        (work / "hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.names.items())
        )
        (work / "resolv.conf").write_text("")
        root, user = work / "root", spec["securityContext"]
        root.mkdir()
        lines = [f"mount -t tmpfs -o mode=755 tmpfs {root}", f"cd {root}"]
        shared = [f"/{each}" for each in SYSTEM if Path("/", each).exists()]
        shared += ["/etc/alternatives", "/dev", "/proc"]
        lines += [_link_or_bind(path) for path in shared]
        lines += [f"mkdir -p opt/maumau && mount --bind {ROOT / '.venv'} opt/maumau"]
        lines.append(f"cp {work}/hosts {work}/resolv.conf /etc/ld.so.cache /etc/nsswitch.conf etc")
        for number, volume in enumerate(volumes):
            lines += _volume(work / f"volume-{number}", volume, user)
        # After the volumes: either may lie below /tmp.
        lines += [_link_or_bind(path) for path in dict.fromkeys((sys.base_prefix, str(ROOT)))]
        lines.append("mount -o remount,ro,bind .")
        variables = " ".join(shlex.quote(f"{name}={value}") for name, value in environ.items())
        ids = f"--userspec={user['runAsUser']}:{user['runAsGroup']} --groups={user.get('fsGroup', user['runAsGroup'])}"
        lines.append(f"exec chroot {ids} {root} /usr/bin/env -i {variables} {shlex.join(command)}")
        return "\n".join(lines) + "\n"


def _link_or_bind(path: str) -> str:
    inside = path.lstrip("/")
    if Path(path).is_symlink():
        return f"ln -s {Path(path).readlink()} {inside}"
    return f"mkdir -p {inside} && mount --rbind -o ro {path} {inside}"


def _volume(work: Path, volume: Volume, user: Mapping[str, Any]) -> list[str]:
    """A volume as a memory of its own, its files readable for the pod's group; one file alone is bound as one."""
    inside, group = volume.path.lstrip("/"), user.get("fsGroup", user["runAsGroup"])
    work.mkdir()
    for name, content in volume.files.items():
        (work / name).write_bytes(content)
        os.chown(work / name, 0, group)
        (work / name).chmod(0o440)
    if list(volume.files) == [Path(volume.path).name]:
        return [f"touch {inside}", f"mount --bind -o ro {work / Path(volume.path).name} {inside}"]
    os.chown(work, 0, group)
    work.chmod(0o2775)
    bind = f"mkdir -p {inside} && mount --bind {work} {inside}"
    return [f"{bind} && mount -o remount,ro,bind {inside}" if volume.read_only else bind]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def cluster(net: str = "10.197.0") -> Iterator[Cluster]:
    """A cluster on the network `net`.0/24 of this machine alone."""
    with tempfile.TemporaryDirectory(prefix="pods-") as folder:
        Path(folder).chmod(0o755)  # the pods' users come through here
        with Cluster(Path(folder), net) as started:
            yield started

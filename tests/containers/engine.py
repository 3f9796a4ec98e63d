"""A Docker engine for the tests, and the few things they ask of it.

An engine that answers is used as it is; otherwise one is started on a folder of its own and stopped at the end. Nothing
is pulled: `base_images` makes what the Dockerfile and the compose file start from. Needs root.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
COMPOSE: Final[Mapping[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
PYTHON_IMAGE: Final = "python:3.12-slim-bookworm"
KEPT: Final = ROOT / "var" / "containers"
"""What takes long to make stays here for the next run."""
PYTHON: Final = str(ROOT / ".venv/bin/python")
START_SECONDS: Final = 60.0


class Engine:
    """A Docker engine at `host`."""

    def __init__(self, host: str) -> None:
        # What is set here for another project is not for this one.
        passed = {name: value for name, value in os.environ.items() if not name.startswith(("COMPOSE_", "MAUMAU_"))}
        self.environ = {**passed, "DOCKER_HOST": host, "DOCKER_BUILDKIT": "0"}

    def run(self, *command: str | Path, timeout: float = 600, check: bool = True, **environ: str) -> str:
        """What a command says; it sees this engine. Raises AssertionError with its words when it fails."""
        ended = subprocess.run(
            command,
            env={**self.environ, **environ},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not check or ended.returncode == 0, f"{command}: {ended.stdout[-2_000:]}{ended.stderr[-4_000:]}"
        return ended.stdout

    def docker(self, *arguments: str | Path, **more: Any) -> str:
        return self.run("docker", *arguments, **more)

    def make_base_images(self) -> None:
        """The images that ours and the compose file start from, under the names that they ask for."""
        asked = [COMPOSE["services"][name]["image"] for name in ("redis", "envoy", "prometheus")]
        made = set(self.docker("images", "--format", "{{.Repository}}:{{.Tag}}").split())
        if not {PYTHON_IMAGE, *asked} <= made:
            self.run(ROOT / "tests/containers/base_images", KEPT, PYTHON_IMAGE, *asked, timeout=1_500)

    def build(self, tag: str, wheels: Wheels, *options: str) -> None:
        """Builds our image of this tree."""
        index = ("--network", "host", "--build-arg", f"PIP_INDEX_URL={wheels.url}")
        self.docker("build", "-q", "-f", "deploy/Dockerfile", *index, "-t", tag, *options, ".", timeout=1_200)


class Wheels:
    """What the lock file names, downloaded once and served on this machine in the form of a package index."""

    def __init__(self, url: str) -> None:
        self.url = url


@contextmanager
def wheels(python: str) -> Iterator[Wheels]:
    """An index for images with this Python (`3.11.2`), with the files of requirements.lock."""
    folder = KEPT / f"wheels-{python}"
    _download(folder, python)
    server = subprocess.Popen(
        [PYTHON, "-m", "http.server", "--bind", "127.0.0.1", "--directory", folder, "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().split("port ")[1].split()[0]
        yield Wheels(f"http://127.0.0.1:{port}/")
    finally:
        server.terminate()
        server.wait()


def _download(folder: Path, python: str) -> None:
    lock = ROOT / "requirements.lock"
    made = folder / "made"
    if made.exists() and made.stat().st_mtime > lock.stat().st_mtime:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as fetched:
        # Markers would be judged by this Python, which is not the image's.
        every = Path(fetched, "every.lock")
        every.write_text(re.sub(r" ;.* \\\n", " \\\n", lock.read_text()))
        subprocess.run(
            [
                *(PYTHON, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "--only-binary", ":all:"),
                *("--python-version", python, "-d", fetched, "-r", str(every)),
            ],
            check=True,
            timeout=900,
        )
        every.unlink()
        for wheel in Path(fetched).iterdir():
            name = wheel.name.split("-")[0].replace("_", "-").replace(".", "-").lower()
            (folder / name).mkdir(exist_ok=True)
            wheel.replace(folder / name / wheel.name)
    made.touch()


@contextmanager
def engine() -> Iterator[Engine]:
    """The engine that answers, or one of our own."""
    if subprocess.run(["docker", "info"], capture_output=True).returncode == 0:
        yield Engine(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
        return
    with tempfile.TemporaryDirectory(prefix="docker-") as folder:
        own = Engine(f"unix://{folder}/docker.sock")
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *("dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"),
                    *("--pidfile", f"{folder}/pid", "-H", own.environ["DOCKER_HOST"]),
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        try:
            end = time.monotonic() + START_SECONDS
            while subprocess.run(["docker", "info"], env=own.environ, capture_output=True).returncode:
                assert process.poll() is None, Path(folder, "log").read_text()[-3_000:]
                assert time.monotonic() < end, "the engine does not start"
                time.sleep(0.2)
            yield own
        finally:
            process.terminate()
            process.wait(timeout=60)
            _unmount(Path(folder))


def _unmount(folder: Path) -> None:
    """An engine that has stopped leaves the name of a network namespace mounted."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for path in reversed(mounted):
        if path.startswith(f"{folder}/"):
            subprocess.run(["umount", path], check=True)

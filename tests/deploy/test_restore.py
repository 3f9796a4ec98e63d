"""The restore drill of deploy/README.md: a copy is taken while people play, the data is lost, the copy is brought back;
whoever had seen more is told so, and everybody plays on."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from maumau.v1 import room_pb2

from services.local.stack import Stack
from tests.e2e.calls import channel_to, duel, read_to
from tests.e2e.stacks import complaints, options
from tests.servers import Server, running

pytestmark = pytest.mark.needs("redis-server", "redis-cli")

REDIS = Path(__file__).parents[2] / "deploy" / "redis"
BEFORE, LOST, AFTER = 6, 4, 6
"""Turns before the copy, between the copy and the loss, and afterwards."""


def drill(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([REDIS / script, *arguments], capture_output=True, text=True, timeout=60)


def empty(server: Server) -> None:
    server.kill()
    for path in server.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


async def test_a_backup_is_brought_back_and_everybody_is_told(tmp_path: Path) -> None:
    with running("redis") as server, Stack(options(tmp_path / "var", redis_url=server.url)) as stack:
        async with channel_to(stack.address) as channel:
            pair = await duel(channel)
            await pair.start()
            copied = [await pair.turn() for _ in range(BEFORE)][-1]
            taken = await asyncio.to_thread(drill, "backup", tmp_path / "copy", "-s", server.folder / "socket")
            assert taken.returncode == 0, taken.stderr
            for _ in range(LOST):
                await pair.turn()
            gone = await pair.bo.get_room(pair.room)
            empty(server)
            brought = await asyncio.to_thread(drill, "restore", tmp_path / "copy", server.folder)
            assert brought.returncode == 0, brought.stderr
            server.start()
            await asyncio.to_thread(stack.wait_ready)
            stream = pair.bo.watch(pair.room, gone.resume_token)
            (message,) = await read_to(stream, 1)
            stream.cancel()
            assert message.snapshot.reason == room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
            assert message.snapshot.room.version >= copied
            assert [await pair.turn() for _ in range(AFTER)][-1] >= copied + AFTER
        assert complaints(stack) == []


def test_the_copy_alone_is_not_read_by_a_server_with_an_append_only_file(tmp_path: Path) -> None:
    """The trap that `restore` is there for, and its control."""
    with running("redis") as server:
        server.client().set("a", "b")
        assert drill("backup", tmp_path / "copy", "-s", server.folder / "socket").returncode == 0
        empty(server)
        shutil.copy(tmp_path / "copy", server.folder / "dump.rdb")
        server.start()
        assert keys(server) == 0
        empty(server)
        assert drill("restore", tmp_path / "copy", server.folder).returncode == 0
        server.start()
        assert keys(server) == 1
        server.kill()
        server.start()
        assert keys(server) == 1


def test_a_copy_is_taken_by_whatever_command_reaches_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: the command runs elsewhere and hands the copy over by its output alone."""
    with running("redis") as server:
        server.client().set("a", "b")
        (tmp_path / "elsewhere").mkdir(mode=0o500)
        reached = f"env -C {tmp_path / 'elsewhere'} redis-cli -s {server.folder / 'socket'}"
        monkeypatch.setenv("REDIS_CLI", reached)
        taken = drill("backup", tmp_path / "copy")
        assert taken.returncode == 0, taken.stderr
        assert (tmp_path / "copy").read_bytes().startswith(b"REDIS")
        monkeypatch.setenv("REDIS_CLI", "false")
        assert drill("backup", tmp_path / "none").returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "elsewhere"]


def test_the_command_of_the_guide_reaches_the_redis_of_the_compose_file() -> None:
    (command,) = re.findall(r'REDIS_CLI="docker compose exec -T (.+)"', (REDIS.parent / "README.md").read_text())
    service, *cli = command.split()
    stated = yaml.safe_load((REDIS.parents[1] / "docker-compose.yml").read_text())["services"][service]
    assert cli == [*stated["healthcheck"]["test"][1:2]]
    assert "ports" not in stated


def keys(server: Server) -> Any:
    return server.client().dbsize()


def test_what_cannot_be_done_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    nobody = drill("backup", tmp_path / "copy", "-s", tmp_path / "nobody")
    assert nobody.returncode != 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").write_text("kept")
    (tmp_path / "copy").write_bytes(b"REDIS0010")
    full = drill("restore", tmp_path / "copy", tmp_path / "data")
    assert (full.returncode, full.stderr) == (1, f"restore: {tmp_path / 'data'} is not empty\n")
    broken = drill("restore", tmp_path / "copy", tmp_path / "other")
    assert broken.returncode != 0
    assert (tmp_path / "data" / "mine").read_text() == "kept"

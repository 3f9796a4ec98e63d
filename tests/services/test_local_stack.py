"""The supervisor of one machine: what it starts, keeps running, refuses and ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from services.local import redis_server
from services.local.plan import PortTakenError, StackOptions
from services.local.ports import free_ports
from services.local.redis_server import DataFolder, RedisServer, RedisServerError, find_server
from services.local.stack import Stack, StackError
from services.runtime.routes import SERVICES
from services.runtime.settings import Settings

ROOT = Path(__file__).parents[2]
FAKES = dict.fromkeys(SERVICES, "tests.services.fake_service")
VALKEY = RedisServer("valkey", "9.1.2", Path("/nowhere"))


def options(var_dir: Path, **changed: Any) -> StackOptions:
    """A small stack on free ports without Envoy."""
    return StackOptions(
        **{"var_dir": var_dir, "port": 0, "authorities": 1, "envoy": False, "modules": FAKES, **changed}
    )


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Polls until the condition holds and returns what it gave."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within 60 s: {what}")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def told_pid_is(stack: Stack, name: str, pid: int) -> bool:
    return bool(json.loads((stack.var_dir / "run.json").read_text())["pids"][name] == pid)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"), authorities=2)) as running:
        yield running


def test_everything_is_ready_when_the_start_returns(stack: Stack) -> None:
    assert list(stack.children) == ["redis", "matchmaking", "game-authority-1", "game-authority-2", "scoring"]
    assert all(child.ready for child in stack.children.values())
    assert "maumau_ready 1.0" in stack.metrics("scoring")


def test_run_json_says_where_everything_is(stack: Stack) -> None:
    found = json.loads((stack.var_dir / "run.json").read_text())
    assert found["address"] == stack.address == stack.addresses("matchmaking")[0]
    assert found["pid"] == os.getpid()
    assert found["routes"]["maumau.v1.GameAuthorityService"] == stack.addresses("game-authority")
    assert found["pids"] == {name: child.pid for name, child in stack.children.items()}
    assert [found["services"][f"game-authority-{n}"]["address"] for n in (1, 2)] == stack.addresses("game-authority")


def test_keys_are_made_on_the_first_start(stack: Stack) -> None:
    assert list((stack.var_dir / "keys" / "sessions").glob("*.pem"))


def test_a_child_that_is_killed_is_started_again_on_its_ports(stack: Stack) -> None:
    for name in ("game-authority-1", "redis"):
        before = stack[name].pid
        stack[name].kill()
        stack.wait_ready()
        assert stack[name].pid != before
        wait_for(partial(told_pid_is, stack, name, stack[name].pid), "run.json tells the new process")


def test_children_are_looked_after_also_while_nothing_can_be_written(stack: Stack) -> None:
    """A full disk, for instance. Children are tied to the thread that starts them: if it ended they would all die."""
    in_the_way = stack.var_dir / "run.json.new"
    in_the_way.mkdir()
    others = {name: child.pid for name, child in stack.children.items() if name != "scoring"}
    before = stack["scoring"].pid
    stack["scoring"].kill()
    wait_for(lambda: stack["scoring"].pid != before, "it is started again")
    stack.wait_ready()
    assert {name: stack[name].pid for name in others} == others
    in_the_way.rmdir()
    wait_for(partial(told_pid_is, stack, "scoring", stack["scoring"].pid), "run.json is made up for")


def test_a_child_stays_away_while_its_restart_is_off(stack: Stack) -> None:
    child = stack["game-authority-2"]
    child.restart = False
    starts = child.starts
    child.kill()
    assert child.wait_ended(60) == -signal.SIGKILL
    stack.wait_ready()
    assert (child.running, child.starts) == (False, starts)
    child.restart = True
    stack.wait_ready()
    assert child.starts == starts + 1


def test_a_paused_child_is_not_ready_until_it_is_resumed(stack: Stack) -> None:
    child = stack["game-authority-2"]
    child.pause()
    wait_for(lambda: not child.ready, "a frozen process answers nothing")
    child.resume()
    stack.wait_ready()


def test_redis_is_durable_private_and_never_evicts(stack: Stack) -> None:
    path = stack.redis_url.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        replies = line.makefile("rb")
        found = {}
        for name in ("appendonly", "appendfsync", "maxmemory-policy", "port", "save"):
            line.sendall(f"CONFIG GET {name}\r\n".encode())
            values = [replies.readline() for _ in range(5)]
            found[name] = values[4].strip().decode()
    assert found == {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "port": "0",
        "save": "",
    }
    assert Path(path).stat().st_mode & 0o077 == 0


def test_a_second_server_on_one_folder_is_refused(stack: Stack) -> None:
    second = Stack(options(stack.var_dir))
    with pytest.raises(RedisServerError, match="in use by another server"):
        second.start()
    assert second.children == {}
    stack.wait_ready()


def test_data_outlives_a_stop_and_the_stop_is_bounded(tmp_path: Path) -> None:
    first = Stack(options(tmp_path))
    first.start()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(first.redis_url.removeprefix("unix://"))
        line.sendall(b"SET kept yes\r\n")
        assert line.recv(16) == b"+OK\r\n"
    pids = [child.pid for child in first.children.values()]
    first["scoring"].pause()
    began = time.monotonic()
    first.stop()
    assert time.monotonic() - began < 60, "a frozen child does not hold it up"
    assert not any(map(is_alive, pids))
    assert not (tmp_path / "run.json").exists()
    assert '"event":"stopped"' in first["matchmaking"].log(), "services end in order"
    assert "ready to exit" in first["redis"].log(), "so does Redis"
    with Stack(options(tmp_path)) as second, socket.socket(socket.AF_UNIX) as line:
        line.connect(second.redis_url.removeprefix("unix://"))
        line.sendall(b"GET kept\r\n")
        assert line.recv(16) == b"$3\r\nyes\r\n"


def test_a_service_that_cannot_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    stack = Stack(options(tmp_path, environ_of={"scoring": {"MAUMAU_NONSENSE": "1"}}))
    with pytest.raises(StackError, match="scoring ended with code 2") as caught:
        stack.start()
    assert "MAUMAU_NONSENSE is no setting of this server" in str(caught.value)
    assert not any(child.running for child in stack.children.values())


def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        stack = Stack(options(tmp_path, port=port))
        with pytest.raises(PortTakenError, match=f"Port {port} .* Set MAUMAU_PORT"):
            stack.start()
    assert stack.children == {}


def test_a_running_redis_is_used_when_its_url_is_set(tmp_path: Path) -> None:
    stack = Stack(options(tmp_path), Settings(redis_url="redis://127.0.0.1:1"))
    with stack:
        assert "redis" not in stack.children
        assert stack["scoring"].environ["MAUMAU_REDIS_URL"] == "redis://127.0.0.1:1"


@pytest.mark.parametrize("kind", ["redis", "valkey"])
def test_both_servers_are_found_and_have_folders_of_their_own(kind: str) -> None:
    server = find_server(kind)
    assert re.fullmatch(kind + r"-\d+", server.label)


def test_a_folder_of_another_server_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "SERVER").write_text("redis-7\n")
    (tmp_path / "appendonlydir").mkdir()
    with pytest.raises(RedisServerError, match="was written by redis-7, not by valkey-9"):
        DataFolder(tmp_path, VALKEY)
    assert (tmp_path / "SERVER").read_text() == "redis-7\n"
    assert {entry.name for entry in tmp_path.iterdir()} == {"SERVER", "appendonlydir", "lock"}


def test_a_folder_that_nobody_signed_is_refused_when_it_holds_data(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"REDIS0011")
    with pytest.raises(RedisServerError, match="was written by an unknown server"):
        DataFolder(tmp_path, VALKEY)


def test_the_lock_of_a_folder_lives_as_long_as_the_server_that_inherits_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, VALKEY)
    heir = subprocess.Popen(["sleep", "60"], pass_fds=(folder.lock,))
    folder.release()
    with pytest.raises(RedisServerError, match="in use"):
        DataFolder(tmp_path, VALKEY)
    heir.kill()
    heir.wait()
    DataFolder(tmp_path, VALKEY).release()


def test_a_socket_path_is_never_longer_than_the_kernel_takes(tmp_path: Path) -> None:
    assert redis_server.socket_path(tmp_path / "x") == tmp_path / "x" / "redis.sock"
    long = redis_server.socket_path(tmp_path / ("d" * 120))
    assert len(str(long)) <= redis_server.LONGEST_SOCKET_PATH
    long.parent.rmdir()


def test_free_ports_are_different_and_not_the_kernels_own() -> None:
    ports = free_ports(20)
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert len(set(ports)) == 20
    assert max(ports) < low


# `make run` as a process


@contextlib.contextmanager
def supervisor(var_dir: Path) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "MAUMAU_VAR_DIR": str(var_dir), "MAUMAU_PORT": "0", "MAUMAU_AUTHORITIES": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.services.fake_supervisor"],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"it never said {text!r}: {lines}")


def test_the_start_ends_with_what_to_do_next_and_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with supervisor(tmp_path) as process:
        said = read_until(process, "make play")
        pids = json.loads((tmp_path / "run.json").read_text())["pids"]
        assert any(line.startswith("Ready after") for line in said)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
        assert process.returncode == 0
        assert rest.endswith("Stopped.\n")
        assert not any(map(is_alive, pids.values()))


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    with supervisor(tmp_path) as process:
        read_until(process, "make play")
        pids = json.loads((tmp_path / "run.json").read_text())["pids"]
        assert all(map(is_alive, pids.values()))
        process.kill()
        process.wait()
        wait_for(lambda: not any(map(is_alive, pids.values())), "all children are dead")


def test_what_was_started_can_be_asked_over_http(stack: Stack) -> None:
    port = stack.process("matchmaking").metrics_port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=10) as alive:
        assert alive.status == 200

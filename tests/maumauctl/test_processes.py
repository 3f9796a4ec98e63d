"""Taking processes out of service and back, while people play."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import grpc
import pytest
from maumau.v1 import room_pb2

from services.local.stack import Stack
from tests.maumauctl.running import Command, audited, duel, eventually, heard, watched
from tests.services.world import Caller

LONG_ENOUGH = "match.target=rounds:5"
"""For a match to run still when somebody has looked where it is played."""
PLAYED_SECONDS = 300


def internal(stack: Stack, name: str) -> str:
    return f"127.0.0.1:{stack.process(name).internal_port}"


@pytest.fixture(autouse=True)
def _all_serve_again(ctl: Command) -> Iterator[None]:
    yield
    ctl.done("resume", "--all")


def states(ctl: Command) -> dict[str, str]:
    return {line["address"]: line["state"] for line in ctl.done("processes")}


def is_ready(stack: Stack, name: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{stack.process(name).metrics_port}/readyz", timeout=5):
            return True
    except urllib.error.HTTPError:
        return False


def test_every_process_of_every_service_is_listed(ctl: Command, stack: Stack) -> None:
    listed = {line["address"]: line for line in ctl.done("processes")}
    assert set(listed) == {internal(stack, process.name) for process in stack.processes}
    for process in stack.processes:
        line = listed[internal(stack, process.name)]
        assert (line["service"], line["state"], line["pid"]) == (process.service, "serving", stack[process.name].pid)


def test_a_drained_process_sends_its_streams_on_and_makes_no_rooms_until_it_is_resumed(
    ctl: Command, stack: Stack, ana: Caller, bo: Caller
) -> None:
    room, name = duel(ana, bo), "game-authority-1"
    with grpc.insecure_channel(stack.process(name).address) as own:
        stream = watched(ana, room, own)
        [line] = ctl.done("drain", internal(stack, name), "--why", "a disk", "--wait", "20", "--yes")
        assert (line["state"], line["streams"]) == ("drained", 0)
        assert heard(stream, "go_away").reason == room_pb2.GO_AWAY_REASON_STOPPING
        late = watched(ana, room, own)
        assert heard(late, "go_away").reason == room_pb2.GO_AWAY_REASON_STOPPING, "who comes late is sent on as well"
    assert not is_ready(stack, name)
    assert stack[name].running
    assert audited(stack, "drain")[-1]["why"] == "a disk"
    before = rooms_made(stack, name)
    for _ in range(6):
        assert ana.create()
    assert rooms_made(stack, name) == before
    stream = watched(ana, room)
    assert states(ctl)[internal(stack, "game-authority-2")] == "serving"
    assert ctl.done("resume", internal(stack, name))[0]["state"] == "serving"
    assert is_ready(stack, name)
    with grpc.insecure_channel(stack.process(name).address) as own:
        assert heard(watched(ana, room, own), "bookmark")
    stream.cancel()


def rooms_made(stack: Stack, name: str) -> float:
    lines = stack.metrics(name).splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("maumau_rooms_created_total{"))


def test_a_drained_process_may_be_stopped_as_any_other(ctl: Command, stack: Stack) -> None:
    name = "game-authority-2"
    ctl.done("drain", internal(stack, name), "--why", "an update", "--yes")
    child = stack[name]
    old = child.pid
    child.terminate()
    eventually(lambda: child.pid != old and child.ready, "another run of it serves")
    assert states(ctl)[internal(stack, name)] == "serving"


def test_the_last_process_of_a_service_is_drained_with_all_alone(ctl: Command, stack: Stack, ana: Caller) -> None:
    assert ctl.refused("drain", internal(stack, "scoring"), "--why", "x", "--yes") == "LAST_PROCESS"
    both = [internal(stack, f"game-authority-{number}") for number in (1, 2)]
    assert ctl.refused("drain", *both, "--why", "x", "--yes") == "LAST_PROCESS"
    assert set(states(ctl).values()) == {"serving"}
    assert {line["state"] for line in ctl.done("drain", "--all", "--why", "the end", "--yes")} == {"drained"}
    ctl.done("resume", "--all")
    assert set(states(ctl).values()) == {"serving"}
    stack.wait_ready()
    assert ana.create(), "rooms are made again"


def test_what_is_no_process_is_refused(ctl: Command, stack: Stack) -> None:
    assert ctl.refused("drain", "127.0.0.1:1", "--why", "x", "--yes") == "PROCESS_NOT_FOUND"
    assert ctl.refused("resume", "127.0.0.1:1") == "PROCESS_NOT_FOUND"
    assert ctl.refused("drain", "--why", "x", "--yes") == "INVALID_FIELD"
    assert ctl.refused("drain", "--all", "127.0.0.1:1", "--why", "x", "--yes") == "INVALID_FIELD"
    assert ctl.refused("drain", internal(stack, "game-authority-1"), "--why", "", "--yes") == "INVALID_FIELD"
    ran = ctl("drain", internal(stack, "game-authority-1"), "--why", "x")
    assert (ran.code, ran.reason) == (5, "NOT_CONFIRMED")
    assert set(states(ctl).values()) == {"serving"}


def test_a_process_that_does_not_answer_is_listed_as_such(ctl: Command, stack: Stack) -> None:
    scoring = internal(stack, "scoring")
    command = Command({**ctl.environ, "MAUMAU_KEYS_DIR": str(stack.keys_dir)})
    for service in ("matchmaking", "game_authority"):
        command.environ[f"MAUMAU_{service.upper()}_TARGET"] = "127.0.0.1:1"
    command.environ["MAUMAU_SCORING_TARGET"] = f"ipv4:{scoring}"
    assert [(line["service"], line["state"]) for line in command.done("processes")] == [
        ("matchmaking", "unreachable"),
        ("game-authority", "unreachable"),
        ("scoring", "serving"),
    ]


@pytest.mark.timeout(PLAYED_SECONDS + 60)
def test_people_play_on_while_an_authority_is_drained(ctl: Command, stack: Stack) -> None:
    """Bots of the SDK, over the public address: each match ends with a result, and no version is missed or doubled."""
    words = ["bots", "--seats", "2", "--matches", "2", "--tables", "2", "--json", "--address", stack.address]
    command = [sys.executable, "-c", "from maumau.cli import main; main()", *words, "--option", LONG_ENOUGH]
    before = playing(ctl)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as players:
        eventually(lambda: bool(playing(ctl) - before), "a match runs")
        name = played_at(ctl, stack)[0]
        sent = sent_away(stack, name)
        ctl.done("drain", internal(stack, name), "--why", "a test", "--wait", "30", "--yes")
        assert sent_away(stack, name) > sent, "people were there"
        out, _ = players.communicate(timeout=PLAYED_SECONDS)
    reports = [json.loads(line) for line in out.splitlines()]
    assert [(report["error"], report["ok"], report["unknown"]) for report in reports] == [("", True, 0)] * 2
    versions = [seat["versions"] for report in reports for seat in report["seats"]]
    assert [(seen["holes"], seen["repeats"], seen["changed"]) for seen in versions] == [(0, 0, 0)] * 4


def playing(ctl: Command) -> set[str]:
    """The rooms in which a match runs."""
    return {line["room"] for line in ctl.done("rooms", "--state", "playing")}


def sent_away(stack: Stack, name: str) -> float:
    """How many streams this process has asked to move."""
    lines = stack.metrics(name).splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("maumau_go_aways_total "))


def played_at(ctl: Command, stack: Stack) -> list[str]:
    """The authorities that have streams; which room goes where is a matter of chance."""
    return [name for name in ("game-authority-1", "game-authority-2") if open_streams(ctl, stack, name)]


def open_streams(ctl: Command, stack: Stack, name: str) -> int:
    return sum(line["streams"] for line in ctl.done("processes") if line["address"] == internal(stack, name))

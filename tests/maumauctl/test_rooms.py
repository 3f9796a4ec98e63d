"""Rooms as the operator sees and ends them; players see that it was the operator."""

from __future__ import annotations

import json

import grpc
import pytest
from maumau.v1 import events_pb2, room_pb2

from services.local.stack import Stack
from tests.maumauctl.running import Command, audited, duel, heard, reason_of, sign_in, watched
from tests.services.world import Caller


def test_every_room_is_listed_hidden_ones_too_and_no_card(ctl: Command, ana: Caller, bo: Caller) -> None:
    playing, waiting = duel(ana, bo), ana.create(3, public=True)
    listed = {line["room"]: line for line in ctl.done("rooms")}
    assert listed[playing]["state"] == "playing"
    assert listed[playing]["hidden"]
    assert listed[playing]["people"] == 2
    assert listed[playing]["match"] == ana.view(playing).match_id
    assert (listed[waiting]["state"], listed[waiting]["hidden"], listed[waiting]["free"]) == ("open", False, 2)
    assert listed[waiting]["deadline"] > listed[waiting]["created"] > "2020"
    assert set(listed[playing]) == {
        *("room", "state", "ruleset", "seats", "free", "people", "hidden"),
        *("version", "match", "deadline", "created", "title"),
    }


def test_rooms_are_listed_by_state_and_preset_and_page_by_page(
    ctl: Command, channel: grpc.Channel, ana: Caller, bo: Caller
) -> None:
    playing, waiting = duel(ana, bo), ana.create()
    of_state = {line["room"] for line in ctl.done("rooms", "--state", "playing")}
    assert playing in of_state
    assert waiting not in of_state
    assert ctl.done("rooms", "--preset", "uno") == []
    assert len(ctl.done("rooms", "--limit", "1")) == 1
    hosts = [sign_in(channel, f"Host {number}") for number in range(21)]
    more = [host.create() for host in hosts for _ in range(5)]
    assert set(more) <= {line["room"] for line in ctl.done("rooms", "--preset", "mau-mau-32")}


def test_the_table_has_a_line_for_each_room_under_its_heads(ctl: Command, ana: Caller) -> None:
    room = ana.create()
    ran = ctl("rooms")
    heads, *lines = ran.out.splitlines()
    assert heads.split()[:3] == ["room", "state", "ruleset"]
    assert any(line.split()[:3] == [room, "open", "custom"] for line in lines)
    assert ctl("rooms", "--preset", "uno").out == "There are no such rooms.\n"


@pytest.mark.parametrize("words", [("rooms", "--state", "lost"), ("rooms", "--limit", "0"), ("room",), ("nonsense",)])
def test_what_is_not_understood_ends_with_code_2(ctl: Command, words: tuple[str, ...]) -> None:
    ran = ctl(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_a_room_is_shown_as_a_spectator_sees_it(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo)
    shown = ctl.done("room", room)
    assert shown["room_id"] == room
    assert shown["shedding"]["hand_sizes"] == list(ana.view(room).shedding.hand_sizes)
    assert "hand" not in shown["shedding"]
    assert not {"invite_code", "legal", "own_seat", "seed"} & set(shown)
    assert json.loads(ctl("room", room).out)["room_id"] == room, "people read the same"


def test_a_room_that_is_none_is_not_shown(ctl: Command) -> None:
    assert ctl.refused("room", "r_nowhere") == "ROOM_NOT_FOUND"
    assert ctl.refused("room", "no room") == "INVALID_FIELD"


def test_ending_a_match_leaves_the_room_and_counts_for_nobody(
    ctl: Command, stack: Stack, ana: Caller, bo: Caller
) -> None:
    room = duel(ana, bo)
    stream = watched(bo, room)
    ended = ctl.done("end-match", room, "--why", "a fault", "--yes")
    update = heard(stream, "update")
    assert update.version == int(ended["version"])
    assert update.actor.kind == events_pb2.Actor.KIND_OPERATOR
    assert [event.WhichOneof("event") for event in update.events] == ["match_ended", "match_finished"]
    view = ana.view(room)
    assert view.state == room_pb2.ROOM_STATE_FINISHED
    assert view.unrated
    [line] = [line for line in audited(stack, "end match") if line["room"] == room]
    assert (line["operator"], line["why"], line["level"]) == ("operator", "a fault", "info")
    assert ctl.refused("end-match", room, "--why", "again", "--yes") == "MATCH_OVER"


def test_ending_what_does_not_run_is_refused(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo, started=False)
    assert ctl.refused("end-match", room, "--why", "x", "--yes") == "MATCH_NOT_RUNNING"
    assert ctl.refused("end-match", "r_nowhere", "--why", "x", "--yes") == "ROOM_NOT_FOUND"
    assert ctl.refused("end-room", "r_nowhere", "--why", "x", "--yes") == "ROOM_NOT_FOUND"
    assert ctl.refused("end-room", room, "--why", "", "--yes") == "INVALID_FIELD"
    assert ctl.refused("end-room", room, "--why", "x" * 201, "--yes") == "INVALID_FIELD"
    assert ctl("end-room", room).code == 2, "a reason is asked for"
    assert ana.view(room).state == room_pb2.ROOM_STATE_OPEN


def test_nothing_ends_unless_somebody_agrees(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo)
    for words in (("end-match", room, "--why", "x"), ("end-room", room, "--why", "x"), ("announce", "hear")):
        ran = ctl(*words)
        assert (ran.code, ran.reason, ran.out) == (5, "NOT_CONFIRMED", "")
    assert ana.view(room).state == room_pb2.ROOM_STATE_PLAYING


def test_ending_a_room_tells_its_people_why_and_ends_their_streams(
    ctl: Command, stack: Stack, ana: Caller, bo: Caller
) -> None:
    room = duel(ana, bo)
    stream = watched(ana, room)
    ctl.done("end-room", room, "--why", "not this room", "--yes")
    update = heard(stream, "update")
    closed = [event.room_closed for event in update.events if event.HasField("room_closed")]
    assert [event.why for event in closed] == ["not this room"]
    assert heard(stream, "go_away").reason == room_pb2.GO_AWAY_REASON_ROOM_CLOSED
    assert list(stream) == []
    assert audited(stack, "end room")[-1]["room"] == room
    assert ctl.refused("end-room", room, "--why", "again", "--yes") == "ROOM_CLOSED"
    assert room not in {line["room"] for line in ctl.done("rooms")}


def test_an_announcement_reaches_every_room_once(
    ctl: Command, stack: Stack, channel: grpc.Channel, ana: Caller, bo: Caller
) -> None:
    rooms = [duel(ana, bo), ana.create()]
    streams = []
    for address in stack.addresses("game-authority"):
        with_one = grpc.insecure_channel(address)
        streams += [watched(ana, room, with_one) for room in rooms]
    said = ctl.done("announce", "The server stops at ten.", "--yes")
    assert said["rooms"] >= 2
    for stream in streams:
        announcement = heard(stream, "announcement")
        assert announcement.text == "The server stops at ten."
        assert announcement.time.seconds
        assert heard(stream, "bookmark"), "nothing is said twice"
        stream.cancel()
    assert audited(stack, "announce")[-1]["text"] == "The server stops at ten."


@pytest.mark.parametrize("text", ["", "a" * 301, "two\nlines"])
def test_what_nobody_could_read_is_not_announced(ctl: Command, text: str) -> None:
    assert ctl.refused("announce", text, "--yes") == "INVALID_FIELD"


def test_refusals_are_json_where_that_was_asked_for(ctl: Command) -> None:
    ran = ctl("--json", "room", "no room")
    assert ran.code == 1
    said = json.loads(ran.err)
    assert (said["refused"], said["metadata"]["field"]) == ("INVALID_FIELD", "room_id")


def test_players_still_see_nothing_of_a_hidden_room(
    ctl: Command, channel: grpc.Channel, ana: Caller, bo: Caller
) -> None:
    """The control: the operator's eye opens no door for others."""
    room = ana.create()
    assert ctl.done("room", room)["room_id"] == room
    assert reason_of(lambda: bo.view(room)) == "ROOM_NOT_FOUND"

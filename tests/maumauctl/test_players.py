"""Players whom the operator keeps quiet or away, and what they report of each other."""

from __future__ import annotations

from typing import Any

import pytest
from maumau.v1 import authority_pb2

from services.local.stack import Stack
from tests.maumauctl.running import Command, audited, chat, duel, eventually, reason_of
from tests.services.world import AUTHORITY, Caller, Refused, new_id

SPAM = authority_pb2.REPORT_REASON_SPAM


def test_a_muted_player_is_not_heard_until_it_is_lifted(ctl: Command, stack: Stack, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo, started=False)
    ctl.done("mute", bo.id, "--for", "1h", "--why", "flood")
    assert chat(bo, room) == "MUTED"
    assert chat(ana, room) == "", "the others are heard"
    [line] = [line for line in ctl.done("mutes") if line["player"] == bo.id]
    assert line["why"] == "flood"
    assert line["until"].endswith("Z")
    ctl.done("unmute", bo.id)
    assert chat(bo, room) == ""
    assert bo.id not in {line["player"] for line in ctl.done("mutes")}
    assert audited(stack, "mute")[-1]["player"] == audited(stack, "unmute")[-1]["player"] == bo.id


def test_a_mute_ends_by_itself(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo, started=False)
    ctl.done("mute", bo.id, "--for", "2s")
    eventually(lambda: chat(bo, room) == "", "the mute is over")


def test_a_muted_player_learns_until_when(ctl: Command, ana: Caller) -> None:
    room = ana.create()
    ctl.done("mute", ana.id, "--for", "1h")
    request = authority_pb2.SendChatRequest(room_id=room, text="hello", request_id=new_id())
    with pytest.raises(Exception) as caught:  # noqa: PT011 - a gRPC error, read below
        ana.call(AUTHORITY + "SendChat", request)
    until = Refused(caught.value).metadata["until"]
    assert until == next(line["until"] for line in ctl.done("mutes") if line["player"] == ana.id)


def test_a_banned_player_is_let_in_again_when_it_is_lifted(ctl: Command, stack: Stack, ana: Caller) -> None:
    room = ana.create()
    ctl.done("ban", ana.id, "--for", "7d", "--why", "cheats")
    eventually(lambda: reason_of(lambda: ana.view(room)) == "PLAYER_BANNED", "the ban is known everywhere")
    [line] = [line for line in ctl.done("bans") if line["player"] == ana.id]
    assert line["why"] == "cheats"
    ctl.done("unban", ana.id)
    eventually(lambda: reason_of(lambda: ana.view(room)) == "", "the ban is lifted everywhere")
    assert ana.id not in {line["player"] for line in ctl.done("bans")}
    assert audited(stack, "ban")[-1]["why"] == "cheats"
    assert audited(stack, "unban")[-1]["player"] == ana.id


@pytest.mark.parametrize("command", ["mute", "ban"])
def test_a_player_who_cannot_be_or_a_time_that_is_none_is_refused(ctl: Command, command: str) -> None:
    assert ctl.refused(command, "", "--for", "1h") == "INVALID_FIELD"
    assert ctl.refused(command, "p" * 129, "--for", "1h") == "INVALID_FIELD"
    assert ctl.refused(command, "p_x", "--for", "1h", "--why", "w" * 201) == "INVALID_FIELD"
    assert ctl.refused(command, "p_x", "--for", "99999999d") == "INVALID_FIELD"
    for time in ("soon", "-1h", "0s", "1.5h", ""):
        assert ctl(command, "p_x", "--for", time).code == 2
    assert ctl(command, "p_x").code == 2, "without a time"


def report(who: Caller, room: str, about: str, text: str = "", request_id: bytes = b"") -> str:
    request = authority_pb2.ReportPlayerRequest(
        room_id=room, player_id=about, reason=SPAM, text=text, request_id=request_id or new_id()
    )
    return str(who.call(AUTHORITY + "ReportPlayer", request).report_id)


def test_a_report_reaches_the_operator_and_is_closed_once(ctl: Command, stack: Stack, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo, started=False)
    same = new_id()
    made = report(ana, room, bo.id, "sells shoes", same)
    assert report(ana, room, bo.id, "sells shoes", same) == made, "a repeat is the same report"
    other = report(bo, room, ana.id)
    [line] = ctl.done("reports", "--about", bo.id)
    assert {"report": made, "player": bo.id, "name": "Bo", "by": ana.id, "room": room}.items() <= line.items()
    assert (line["reason"], line["text"], line["closed"]) == ("spam", "sells shoes", "")
    assert [each["report"] for each in ctl.done("reports")][:2] == [other, made], "the newest first"
    assert ctl.done("close-report", made, "warned")["verdict"] == "warned"
    again = ctl.done("close-report", made, "banned")
    assert (again["verdict"], again["closed by"]) == ("warned", "operator"), "the first note stands"
    still = {each["report"] for each in ctl.done("reports", "--open")}
    assert other in still
    assert made not in still
    assert audited(stack, "close report")[0]["report"] == made


def test_somebody_without_a_seat_can_be_reported(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = ana.create()
    report(ana, room, bo.id)
    [line] = ctl.done("reports", "--about", bo.id)
    assert line["name"] == ""


def test_what_is_no_report_is_refused(ctl: Command) -> None:
    assert ctl.refused("close-report", "c_none", "?") == "REPORT_NOT_FOUND"
    assert ctl.refused("close-report", "c_none", "") == "INVALID_FIELD"
    assert ctl.refused("reports", "--about", "p" * 129) == "INVALID_FIELD"
    assert ctl.done("reports", "--about", "p_nobody") == []


def test_nobody_in_the_room_hears_of_a_report(ctl: Command, ana: Caller, bo: Caller) -> None:
    room = duel(ana, bo)
    before: Any = bo.view(room)
    report(ana, room, bo.id)
    assert bo.view(room).version == before.version

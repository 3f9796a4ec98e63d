"""A player asks what is kept, and then that nothing is."""

from __future__ import annotations

import json
from typing import Any

import grpc
from maumau.v1 import authority_pb2, identity_pb2, matchmaking_pb2, scoring_pb2

from services.local.stack import Stack
from tests.maumauctl.running import Action, Command, audited, duel, eventually, reason_of, sign_in
from tests.services.world import AUTHORITY, IDENTITY, MATCHMAKING, SCORING, Caller, new_id, ruleset


def parts_of(ctl: Command, player: str) -> dict[str, list[Any]]:
    """What is exported, by kind."""
    ran = ctl("export-player", player)
    assert ran.code == 0, ran
    found: dict[str, list[Any]] = {}
    for line in ran.out.splitlines():
        for kind, value in json.loads(line).items():
            found.setdefault(kind, []).append(value)
    return found


def someone_with_everything(channel: grpc.Channel, ana: Caller, bo: Caller) -> tuple[identity_pb2.Session, Caller, str]:
    """Session, caller and room of a guest of whom every kind of thing is kept."""
    request = identity_pb2.SignInAsGuestRequest(display_name="Zoe")
    session = Caller(channel).call(IDENTITY + "SignInAsGuest", request).session
    zoe = Caller(channel, session.token, session.player_id)
    room = duel(zoe, bo, started=False)
    report = authority_pb2.ReportPlayerRequest(
        room_id=room, player_id=bo.id, reason=authority_pb2.REPORT_REASON_SPAM, request_id=new_id()
    )
    zoe.call(AUTHORITY + "ReportPlayer", report)
    zoe.call(MATCHMAKING + "BlockPlayer", matchmaking_pb2.BlockPlayerRequest(player_id=ana.id))
    wish = matchmaking_pb2.TicketRequest(ruleset=ruleset(), seats=4)
    zoe.call(MATCHMAKING + "CreateTicket", matchmaking_pb2.CreateTicketRequest(request=wish))
    return session, zoe, room


def test_all_that_is_kept_of_a_player_is_exported(ctl: Command, channel: grpc.Channel, ana: Caller, bo: Caller) -> None:
    _, zoe, room = someone_with_everything(channel, ana, bo)
    ctl.done("mute", zoe.id, "--for", "1h", "--why", "loud")
    kept = parts_of(ctl, zoe.id)
    assert kept["profile"] == [{"player_id": zoe.id, "display_name": "Zoe", "guest": True}]
    assert len(kept["session_id"]) == 1
    assert kept["room_id"] == [room]
    assert kept["blocked_player_id"] == [ana.id]
    assert [report["player_id"] for report in kept["report"]] == [bo.id]
    assert [mute["why"] for mute in kept["mute"]] == ["loud"]
    assert len(kept["ticket"]) == 1
    assert "report" not in parts_of(ctl, bo.id), "who reported somebody is not told to them"


def test_a_deleted_player_is_signed_out_and_nothing_is_left(
    ctl: Command, stack: Stack, channel: grpc.Channel, ana: Caller, bo: Caller
) -> None:
    session, zoe, room = someone_with_everything(channel, ana, bo)
    done = ctl.done("delete-player", zoe.id, "--yes")
    assert set(done["parts"]) == {"ticket", "blocks", "profile", "session", "room", "report"}
    assert not done["again"]
    assert parts_of(ctl, zoe.id) == {} or set(parts_of(ctl, zoe.id)) == {"ticket"}, "an ended ticket for an hour"
    eventually(lambda: reason_of(lambda: zoe.view(room)) == "SESSION_ENDED", "the token is worth nothing any more")
    refresh = identity_pb2.RefreshSessionRequest(refresh_token=session.refresh_token)
    assert reason_of(lambda: zoe.call(IDENTITY + "RefreshSession", refresh)) == "BAD_REFRESH_TOKEN"
    asked = identity_pb2.GetPlayerRequest(player_id=zoe.id)
    assert reason_of(lambda: bo.call(IDENTITY + "GetPlayer", asked)) == "PLAYER_NOT_FOUND"
    assert all(seat.player_id != zoe.id for seat in bo.view(room).seats)
    assert {line["player"] for line in audited(stack, "delete player") if line["player"] == zoe.id}
    again = ctl.done("delete-player", zoe.id, "--yes")
    assert again["parts"] == [] or again["parts"] == ["ticket"]


def test_the_result_of_a_match_that_a_deleted_player_leaves_names_nobody(
    ctl: Command, channel: grpc.Channel, bo: Caller
) -> None:
    """With two players the match ends by that, and its result is on its way while scoring forgets."""
    zoe = sign_in(channel, "Zoe")
    match = bo.view(duel(zoe, bo)).match_id
    assert not ctl.done("delete-player", zoe.id, "--yes")["again"]

    def others() -> list[str]:
        asked = scoring_pb2.GetMatchRequest(match_id=match)
        return [seat.player_id for seat in bo.call(SCORING + "GetMatch", asked).match.seats if seat.player_id != bo.id]

    eventually(lambda: reason_of(others) == "", "the match is counted")
    assert [other.startswith("deleted-") for other in others()] == [True]
    assert "match" not in parts_of(ctl, zoe.id)


def test_a_match_that_goes_on_without_a_deleted_player_is_told_of(
    ctl: Command, channel: grpc.Channel, ana: Caller, bo: Caller
) -> None:
    zoe = sign_in(channel, "Zoe")
    room = zoe.create(3)
    for guest in (ana, bo):
        guest.join(room)
        guest.act(room, Action(set_ready=Action.SetReady(ready=True)))
    zoe.act(room, Action(start=Action.Start()))
    for _ in range(2):
        done = ctl.done("delete-player", zoe.id, "--wait", "0", "--yes")
        assert done["again"]
        assert "repeat this when it has ended" in done["done"]
    ctl.done("end-match", room, "--why", "a test", "--yes")
    assert not ctl.done("delete-player", zoe.id, "--yes")["again"]


def test_a_ban_outlives_the_player(ctl: Command, channel: grpc.Channel) -> None:
    zoe = sign_in(channel, "Zoe")
    ctl.done("ban", zoe.id, "--for", "1h", "--why", "cheats")
    ctl.done("delete-player", zoe.id, "--yes")
    assert [ban["why"] for ban in parts_of(ctl, zoe.id)["ban"]] == ["cheats"]


def test_of_nobody_nothing_is_kept_and_bad_ids_are_refused(ctl: Command) -> None:
    assert parts_of(ctl, "p_never_was") == {}
    assert ctl.done("delete-player", "p_never_was", "--yes")["parts"] == []
    assert ctl.refused("export-player", "") == "INVALID_FIELD"
    assert ctl.refused("delete-player", "p" * 129, "--yes") == "INVALID_FIELD"
    ran = ctl("delete-player", "p_never_was")
    assert (ran.code, ran.reason) == (5, "NOT_CONFIRMED")

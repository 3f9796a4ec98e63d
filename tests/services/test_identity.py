"""Guests over real sockets: sign in, stay signed in, names, and what a call without a good session gets."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import jwt
import pytest
from google.protobuf import descriptor_pool
from maumau.v1 import identity_pb2 as pb
from maumau.v1 import matchmaking_pb2, scoring_pb2
from maumau.v1.identity_pb2_grpc import IdentityServiceStub
from maumau.v1.matchmaking_pb2_grpc import MatchmakingServiceStub
from maumau.v1.scoring_pb2_grpc import ScoringServiceStub

from services.runtime.key_folder import SESSION_KEYS
from services.runtime.policy import POLICY, Access
from services.runtime.routes import PUBLIC, load_contract
from services.runtime.tokens import SESSION_TYPE
from services.runtime.unoffered import missing_methods, offer
from tests.services.rig import Player, Rig, raw_call, refused, sign_in

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED

load_contract()
load_contract("maumau.internal.v1")


async def test_a_guest_is_known_by_name_to_all_processes(rig: Rig) -> None:
    first, second = await rig.matchmaking(), await rig.matchmaking()
    ana = await sign_in(first, "Ana")
    seen = await IdentityServiceStub(second).GetPlayer(pb.GetPlayerRequest(), metadata=ana.metadata)
    assert seen.player == pb.Player(player_id=ana.id, display_name="Ana", guest=True)
    ben = await sign_in(second, "Ben")
    seen = await IdentityServiceStub(first).GetPlayer(pb.GetPlayerRequest(player_id=ana.id), metadata=ben.metadata)
    assert seen.player.display_name == "Ana"
    assert ana.id != ben.id


async def test_a_guest_without_a_name_gets_one(rig: Rig) -> None:
    guest = await sign_in(await rig.matchmaking(), "")
    assert 2 <= len(guest.name) <= 24


@pytest.mark.parametrize("name", ["A", "x" * 25, "A\u202eB", "A\nB", "  ", "A\u200bB", "\u3164\u3164"])
async def test_a_bad_name_is_refused_with_its_field_and_changes_nothing(rig: Rig, name: str) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    code, reason, metadata = await refused(identity.SignInAsGuest(pb.SignInAsGuestRequest(display_name=name)))
    assert (code, reason, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "display_name")
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest(display_name="Ana")))
    call = identity.SetDisplayName(pb.SetDisplayNameRequest(display_name=name), metadata=ana.metadata)
    assert (await refused(call))[1] == "INVALID_FIELD"
    seen = await identity.GetPlayer(pb.GetPlayerRequest(), metadata=ana.metadata)
    assert seen.player.display_name == "Ana"


async def test_a_name_can_be_changed_and_is_kept_in_one_form(rig: Rig) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest(display_name="Ana")))
    decomposed = pb.SetDisplayNameRequest(display_name="Zoe\u0308")
    changed = await identity.SetDisplayName(decomposed, metadata=ana.metadata)
    seen = await identity.GetPlayer(pb.GetPlayerRequest(), metadata=ana.metadata)
    assert changed.player.display_name == seen.player.display_name == "Zo\u00eb"
    assert seen.player.guest


async def test_an_unknown_player_is_not_found(rig: Rig) -> None:
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    call = IdentityServiceStub(channel).GetPlayer(pb.GetPlayerRequest(player_id="p_nobody"), metadata=ana.metadata)
    assert (await refused(call))[:2] == (grpc.StatusCode.NOT_FOUND, "PLAYER_NOT_FOUND")


async def test_a_refresh_token_gives_a_session_that_works_and_dies_with_the_use_of_the_next(rig: Rig) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest(display_name="Ana")))
    fresh = await identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=ana.refresh_token))
    assert fresh.session.player_id == ana.id
    metadata = (("authorization", f"Bearer {fresh.session.token}"),)
    seen = await identity.GetPlayer(pb.GetPlayerRequest(), metadata=metadata)
    assert seen.player.player_id == ana.id
    assert (await identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=fresh.session.refresh_token))).session
    for used in (ana.refresh_token, ana.refresh_token):
        again = identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=used))
        assert (await refused(again))[:2] == (UNAUTHENTICATED, "BAD_REFRESH_TOKEN")


async def test_who_lost_the_answer_to_a_refresh_gets_the_same_next_token_again(rig: Rig) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest()))
    lost, repeated = [
        (await identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=ana.refresh_token))).session
        for _ in range(2)
    ]
    assert repeated.refresh_token == lost.refresh_token
    assert repeated.player_id == ana.id
    assert (await identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=lost.refresh_token))).session.token


async def test_twenty_uses_of_a_refresh_token_at_two_processes_lead_to_one_next_token(rig: Rig) -> None:
    stubs = [IdentityServiceStub(await rig.matchmaking()) for _ in range(2)]
    ana = Player(await stubs[0].SignInAsGuest(pb.SignInAsGuestRequest()))
    request = pb.RefreshSessionRequest(refresh_token=ana.refresh_token)
    tries: list[Any] = [stubs[turn % 2].RefreshSession(request) for turn in range(20)]
    answers = await asyncio.gather(*tries)
    assert len({answer.session.refresh_token for answer in answers}) == 1


async def test_a_refresh_token_that_never_was_is_refused(rig: Rig) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest()))
    player, session, secret = ana.refresh_token.split(".")
    forged = [
        f"{player}.{session}.{secret[:-1]}",
        f"{player}..{secret}",
        f"p_x.{session}.{secret}",
        f"{'p' * 129}.{session}.{secret}",
        f"{player}.{'s' * 200}.x",
        secret,
        "",
        "..",
        "é.ü.ß",
    ]
    for token in [*forged, "x" * 10_000]:
        call = identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=token))
        assert (await refused(call))[1] == "BAD_REFRESH_TOKEN"
    assert (await identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=ana.refresh_token))).session.token


async def test_after_sign_out_the_session_cannot_be_refreshed(rig: Rig) -> None:
    identity = IdentityServiceStub(await rig.matchmaking())
    ana = Player(await identity.SignInAsGuest(pb.SignInAsGuestRequest()))
    await identity.SignOut(pb.SignOutRequest(), metadata=ana.metadata)
    call = identity.RefreshSession(pb.RefreshSessionRequest(refresh_token=ana.refresh_token))
    assert (await refused(call))[1] == "BAD_REFRESH_TOKEN"


def _expired(rig: Rig, player: Player) -> str:
    claims = jwt.decode(player.token, options={"verify_signature": False})
    pem = (rig.settings.keys_dir / SESSION_KEYS / "1.pem").read_bytes()
    claims |= {"iat": claims["iat"] - 2_000, "exp": claims["exp"] - 2_000}
    return jwt.encode(claims, pem, algorithm="EdDSA", headers={"kid": "1", "typ": SESSION_TYPE})


def _of_another_kind(rig: Rig, player: Player) -> str:
    claims = jwt.decode(player.token, options={"verify_signature": False})
    pem = (rig.settings.keys_dir / SESSION_KEYS / "1.pem").read_bytes()
    return jwt.encode(claims, pem, algorithm="EdDSA", headers={"kid": "1", "typ": "maumau-operator+jwt"})


async def test_a_call_says_what_is_wrong_with_its_session(rig: Rig) -> None:
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    cases: dict[str, list[tuple[tuple[str, str], ...]]] = {
        "NOT_SIGNED_IN": [()],
        "TOKEN_EXPIRED": [_bearer(_expired(rig, ana))],
        "BAD_TOKEN": [
            _bearer(ana.token[:-5]),
            _bearer(_of_another_kind(rig, ana)),
            _bearer(""),
            (("authorization", ana.token),),
            (("authorization", f"Service {ana.token}"),),
            (*ana.metadata, *ana.metadata),
        ],
    }
    for expected, tries in cases.items():
        for metadata in tries:
            call = IdentityServiceStub(channel).GetPlayer(pb.GetPlayerRequest(), metadata=metadata)
            assert (await refused(call))[:2] == (UNAUTHENTICATED, expected), metadata
    assert await IdentityServiceStub(channel).GetPlayer(pb.GetPlayerRequest(), metadata=ana.metadata)


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


async def test_a_session_is_good_at_every_service(rig: Rig) -> None:
    ana = await sign_in(await rig.matchmaking())
    public, _ = await rig.scoring()
    answer = await ScoringServiceStub(public).GetStatistics(scoring_pb2.GetStatisticsRequest(), metadata=ana.metadata)
    assert answer.statistics.player_id == ana.id


async def test_server_info_and_signing_in_need_no_session_and_mind_no_old_one(rig: Rig) -> None:
    channel = await rig.matchmaking()
    matchmaking: Any = MatchmakingServiceStub(channel)
    info = await matchmaking.GetServerInfo(matchmaking_pb2.GetServerInfoRequest(), metadata=_bearer("old"))
    assert info.limits.max_display_name_characters == 24
    rulesets = await matchmaking.ListRulesets(matchmaking_pb2.ListRulesetsRequest())
    assert [preset.ruleset.preset for preset in rulesets.presets] == list(info.presets)


def _contract() -> set[str]:
    """Every RPC of both packages, from their descriptors."""
    pool = descriptor_pool.Default()
    internal = ("RoomControlService", "RatingLookupService", "ResultIntakeService", "OperatorService", "ProcessService")
    services = [*PUBLIC, *(f"maumau.internal.v1.{name}" for name in internal)]
    return {f"/{service}/{method.name}" for service in services for method in pool.FindServiceByName(service).methods}


def test_every_rpc_has_a_line_in_the_policy_and_no_line_is_left_over() -> None:
    assert set(POLICY) == _contract()


def test_no_internal_rpc_is_open_to_players_and_few_to_strangers() -> None:
    internal = {path for path in POLICY if path.startswith("/maumau.internal.")}
    assert not {path for path in internal if POLICY[path] in (Access.ANYONE, Access.PLAYER)}
    assert {path.rpartition("/")[2] for path, access in POLICY.items() if access is Access.ANYONE} == {
        "SignInAsGuest",
        "RefreshSession",
        "GetServerInfo",
        "ListRulesets",
    }


async def test_every_rpc_that_needs_a_session_refuses_a_stranger(rig: Rig) -> None:
    """Over the wire, for whatever the descriptors hold."""
    matchmaking = await rig.matchmaking()
    scoring, _ = await rig.scoring()
    channels = {"maumau.v1.IdentityService": matchmaking, "maumau.v1.MatchmakingService": matchmaking}
    channels["maumau.v1.ScoringService"] = scoring
    for path, access in POLICY.items():
        service = path.split("/")[1]
        if access is not Access.PLAYER or service not in channels:
            continue
        assert (await refused(raw_call(channels[service], path)))[1] == "NOT_SIGNED_IN", path


def test_what_a_servicer_lacks_is_read_from_the_contract() -> None:
    class Partly:
        async def SignOut(self, request: Any, context: Any) -> None:  # noqa: N802
            return None

    service = "maumau.v1.IdentityService"
    assert missing_methods(service, Partly()) == ["SignInAsGuest", "RefreshSession", "GetPlayer", "SetDisplayName"]
    assert missing_methods(service, offer(service, Partly())) == []

"""Sessions that end: by sign-out, ban and time. Streams end with them, in every process, and can be renewed."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from typing import Any

import grpc
import jwt
import maumau
import pytest
from maumau.internal.v1 import operator_pb2
from maumau.internal.v1.operator_pb2_grpc import OperatorServiceStub
from maumau.v1 import authority_pb2, identity_pb2, identity_pb2_grpc, matchmaking_pb2, rules_pb2

from services.local.stack import Stack
from services.runtime.auth import operator_credential
from services.runtime.revocations import Revocations
from services.runtime.settings import Settings
from services.runtime.tokens import Session, TokenSigner, TokenVerifier
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import PlayerId, RoomId
from services.store.revocations import RevocationStore
from tests.e2e.calls import LIMIT_SECONDS, Duel, Guest, channel_to, next_message, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.security.forging import Workshop
from tests.services.rig import Rig

LIVES = (3, 12, 48)
"""Seconds that a short token may have: longer where the machine took too long to use the shorter ones."""


async def table(channel: grpc.aio.Channel) -> Duel:
    ana, bo = await sign_in(channel, "Ana"), await sign_in(channel, "Bo")
    room = await ana.create_room(2)
    await bo.join(room)
    return Duel(ana, bo, room)


async def sign_out(guest: Guest, channel: grpc.aio.Channel) -> None:
    identity = identity_pb2_grpc.IdentityServiceStub(channel)
    await identity.SignOut(identity_pb2.SignOutRequest(), metadata=guest.metadata(), timeout=LIMIT_SECONDS)


async def streams_at_every_process(stack: Stack, guest: Guest, room: str) -> list[Any]:
    """A `Watch` at each authority and a `Play`, all open and at rest."""
    calls: list[Any] = []
    for address in stack.addresses("game-authority"):
        channel = grpc.aio.insecure_channel(address)
        guest.rooms = type(guest.rooms)(channel)
        calls.append(guest.watch(room))
    calls.append(await guest.play(room))
    for call in calls:
        assert (await next_message(call)).HasField("snapshot")
    return calls


async def ending(call: Any) -> tuple[str, dict[str, str]]:
    """With which reason a stream ends."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _read_to_the_end(call)
    return reason_of(caught.value)


async def _read_to_the_end(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


async def all_end(calls: list[Any]) -> set[str]:
    async with asyncio.timeout(LIMIT_SECONDS):
        return {reason for reason, _ in await asyncio.gather(*map(ending, calls))}


async def test_signing_out_ends_the_streams_of_the_session_at_every_process(
    stack: Stack, channel: grpc.aio.Channel
) -> None:
    duel = await table(channel)
    calls = await streams_at_every_process(stack, duel.bo, duel.room)
    other = duel.ana.watch(duel.room)
    assert (await next_message(other)).HasField("snapshot")
    await sign_out(duel.bo, channel)
    assert await all_end(calls) == {"SESSION_ENDED"}
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await duel.bo.get_room(duel.room)
    assert reason_of(caught.value)[0] == "SESSION_ENDED"
    assert (await duel.ana.get_room(duel.room)).room.version
    assert not other.done()
    other.cancel()


async def test_another_session_of_the_same_player_lives_on(stack: Stack, channel: grpc.aio.Channel) -> None:
    answer = await identity_pb2_grpc.IdentityServiceStub(channel).SignInAsGuest(identity_pb2.SignInAsGuestRequest())
    shop = Workshop(stack.var_dir / "keys", answer.session.token, answer.session.refresh_token)
    first, second = Guest(answer.session, channel), Guest(answer.session, channel)
    second.token = shop.signed(sid="another", jti="another")
    room = await first.create_room(2)
    await sign_out(first, channel)
    assert (await second.get_room(room)).room.version


async def test_signing_out_ends_a_watched_ticket(channel: grpc.aio.Channel) -> None:
    guest = await sign_in(channel, "Ana")
    wish = matchmaking_pb2.TicketRequest(ruleset=rules_pb2.Ruleset(preset="uno"), seats=4)
    made = await guest.matchmaking.CreateTicket(
        matchmaking_pb2.CreateTicketRequest(request=wish), metadata=guest.metadata(), timeout=LIMIT_SECONDS
    )
    call = guest.matchmaking.WatchTicket(
        matchmaking_pb2.WatchTicketRequest(ticket_id=made.ticket.ticket_id), metadata=guest.metadata()
    )
    await next_message(call)
    await sign_out(guest, channel)
    assert await all_end([call]) == {"SESSION_ENDED"}


async def test_a_ban_ends_the_players_streams_and_holds_until_it_is_lifted(
    stack: Stack, channel: grpc.aio.Channel
) -> None:
    answer = await identity_pb2_grpc.IdentityServiceStub(channel).SignInAsGuest(identity_pb2.SignInAsGuestRequest())
    bo = Guest(answer.session, channel)
    room = await bo.create_room(2)
    calls = await streams_at_every_process(stack, bo, room)
    bo.rooms = type(bo.rooms)(channel)
    credential = operator_credential(Settings(keys_dir=stack.var_dir / "keys"))
    async with channel_to(f"127.0.0.1:{stack.process('matchmaking').internal_port}") as internal:
        operator = OperatorServiceStub(internal)

        async def ban(seconds: int) -> None:
            request = operator_pb2.BanPlayerRequest(player_id=bo.id, seconds=seconds, why="a test")
            await operator.BanPlayer(request, metadata=(credential,), timeout=LIMIT_SECONDS)

        await ban(3_600)
        assert await all_end(calls) == {"PLAYER_BANNED"}
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await bo.get_room(room)
        reason, metadata = reason_of(caught.value)
        assert reason == "PLAYER_BANNED"
        until = time.mktime(time.strptime(metadata["until"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
        assert until == pytest.approx(time.time() + 3_600, abs=60)
        refresh = identity_pb2.RefreshSessionRequest(refresh_token=answer.session.refresh_token)
        identity = identity_pb2_grpc.IdentityServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await identity.RefreshSession(refresh, timeout=LIMIT_SECONDS)
        assert reason_of(caught.value)[0] == "PLAYER_BANNED"
        guessed = identity_pb2.RefreshSessionRequest(refresh_token=f"{bo.id}.session.secret")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await identity.RefreshSession(guessed, timeout=LIMIT_SECONDS)
        assert reason_of(caught.value)[0] == "BAD_REFRESH_TOKEN", "strangers do not learn of it"
        await ban(0)

        async def served() -> bool:
            try:
                return bool((await bo.get_room(room)).room.version)
            except grpc.aio.AioRpcError:
                return False

        await eventually(served, "the ban is lifted everywhere")
        assert (await identity.RefreshSession(refresh, timeout=LIMIT_SECONDS)).session.token


async def test_a_watch_ends_with_its_token_and_says_where_to_go_on(stack: Stack, channel: grpc.aio.Channel) -> None:
    guest, shop = await guest_and_shop(stack, channel)
    room = await guest.create_room(2)
    call = await watch_under_a_short_token(guest, shop, room)
    async with asyncio.timeout(max(LIVES) + LIMIT_SECONDS):
        reason, metadata = await ending(call)
    assert reason == "TOKEN_EXPIRED"
    guest.token = shop.signed()
    text = metadata["resume_token"]
    again = guest.watch(room, base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    assert (await next_message(again)).HasField("bookmark"), "nothing was missed"
    again.cancel()


async def watch_under_a_short_token(guest: Guest, shop: Workshop, room: str) -> Any:
    """A `Watch` that was told to renew, since less than a minute is left, before it ended."""
    for life in LIVES:
        guest.token = shop.signed(exp=int(time.time()) + life, jti="short")
        call = guest.watch(room)
        assert (await next_message(call)).HasField("snapshot")
        try:
            while not (await next_message(call)).HasField("renew"):
                pass
        except grpc.aio.AioRpcError as error:
            if reason_of(error)[0] != "TOKEN_EXPIRED":
                raise
        else:
            return call
    raise AssertionError(f"no stream was told to renew in the last {max(LIVES)} s of its token")


async def test_a_play_stream_goes_on_under_a_fresh_token_of_the_same_player_alone(
    stack: Stack, channel: grpc.aio.Channel
) -> None:
    guest, shop = await guest_and_shop(stack, channel)
    room = await guest.create_room(2)
    call = await play_beyond_a_short_token(guest, shop, room)
    assert await acted(call, ready=False)
    stranger = await sign_in(channel, "Eve")
    await call.write(authority_pb2.PlayRequest(renewal=authority_pb2.PlayRequest.Renewal(token=stranger.token)))
    assert (await ending(call))[0] == "BAD_TOKEN"


async def play_beyond_a_short_token(guest: Guest, shop: Workshop, room: str) -> Any:
    """A `Play` that was renewed before its token was over, which it now is: a `Watch` under the same one has ended."""
    for life in LIVES:
        ends = int(time.time()) + life
        good, guest.token = shop.signed(jti="fresh"), shop.signed(exp=ends, jti="short")
        call, control = await guest.play(room), guest.watch(room)
        await call.write(authority_pb2.PlayRequest(renewal=authority_pb2.PlayRequest.Renewal(token=good)))
        try:
            assert await acted(call, ready=True), "what came before this act on the stream was heard"
        except grpc.aio.AioRpcError as error:
            if reason_of(error)[0] != "TOKEN_EXPIRED" or time.time() < ends:
                raise
            continue
        async with asyncio.timeout(life + LIMIT_SECONDS):
            assert (await ending(control))[0] == "TOKEN_EXPIRED"
        return call
    raise AssertionError(f"no stream could be renewed in the last {max(LIVES)} s of its token")


async def acted(call: Any, *, ready: bool) -> bool:
    """Whether an act on the stream was carried out."""
    action = maumau.actions.set_ready(ready)
    act = authority_pb2.PlayRequest.Act(request_id=os.urandom(16), action=action)
    await call.write(authority_pb2.PlayRequest(act=act))
    while not (message := await next_message(call)).HasField("answer"):
        pass
    return not message.answer.HasField("refusal")


async def guest_and_shop(stack: Stack, channel: grpc.aio.Channel) -> tuple[Guest, Workshop]:
    answer = await identity_pb2_grpc.IdentityServiceStub(channel).SignInAsGuest(identity_pb2.SignInAsGuestRequest())
    shop = Workshop(stack.var_dir / "keys", answer.session.token, answer.session.refresh_token)
    return Guest(answer.session, channel), shop


async def test_what_was_revoked_is_read_once_and_forgotten_with_the_last_token(stack: Stack) -> None:
    async with Store(StoreSettings(url=stack.redis_url, prefix="revocations")) as store:
        short, long = (RevocationStore(store.pipelines, life) for life in (1, 60_000))
        await long.end_session(PlayerId("p_ana\n"), "s1")
        seen = await long.changes(0, -1)
        assert [(ended.player, ended.session) for ended in seen.ended] == [("p_ana\n", "s1")]
        assert seen.bans == {}
        await long.bans.put(PlayerId("p_bo"), seen.now_ms + 60_000)
        again = await long.changes(seen.now_ms + 1, seen.bans_count)
        assert (again.ended, again.bans) == ((), {"p_bo": seen.now_ms + 60_000})
        assert (await long.changes(seen.now_ms + 1, again.bans_count)).bans is None
        await asyncio.sleep(0.01)
        await short.end_session(PlayerId("p_bo"), "s2")
        assert {ended.session for ended in (await long.changes(0, again.bans_count)).ended} <= {"s2"}


async def test_a_session_that_ends_while_its_stream_is_being_opened_takes_the_stream_along(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, authority = await rig.real_authority()
    bo = await sign_in(await rig.matchmaking(), "Bo", rooms=channel)
    room = await bo.create_room(2)
    revocations, look = authority.streams._revocations, authority.presence.look
    assert revocations is not None
    session = jwt.decode(bo.token, options={"verify_signature": False})["sid"]

    async def ended_meanwhile(*asked: Any) -> None:
        await look(*asked)
        await revocations.end(PlayerId(bo.id), session)

    monkeypatch.setattr(authority.presence, "look", ended_meanwhile)
    assert await all_end([bo.watch(room)]) == {"SESSION_ENDED"}


async def test_a_sign_out_is_heard_of_although_another_redis_with_a_clock_behind_took_over(rig: Rig) -> None:
    async with Store(StoreSettings(url=rig.settings.redis_url, prefix=rig.settings.redis_prefix)) as store:
        revocations = Revocations(rig.settings, store.pipelines)
        await revocations.look()
        seconds, _ = await store.pipelines.reads.command("TIME")
        earlier_ms = (int(seconds) - 20) * 1000
        await store.pipelines.writes.command("ZADD", store.pipelines.keys.ended_sessions, earlier_ms, "s\np_ana")
        await revocations.look()
        assert revocations.refusal(Session("p_ana", "Ana", "s", "t", 0, 0)) is not None


async def test_a_long_poll_of_a_session_that_ends_meanwhile_shows_nothing_more(rig: Rig) -> None:
    channel, authority = await rig.real_authority()
    bo = await sign_in(await rig.matchmaking(), "Bo", rooms=channel)
    room, revocations = await bo.create_room(2), authority.streams._revocations
    assert revocations is not None
    asked = authority_pb2.GetRoomRequest(room_id=room, since_version=1, wait_milliseconds=1_000)
    poll = bo.rooms.GetRoom(asked, metadata=bo.metadata(room), timeout=LIMIT_SECONDS)
    await eventually(lambda: (live := authority.rooms.cached(RoomId(room))) and live.waiters, "it waits")
    await revocations.end(PlayerId(bo.id), jwt.decode(bo.token, options={"verify_signature": False})["sid"])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await poll
    assert reason_of(caught.value)[0] == "SESSION_ENDED"


async def test_a_sign_out_is_known_for_as_long_as_the_token_would_be_good(rig: Rig) -> None:
    """Also of a token that a process made whose clock is ahead by all that is allowed."""
    leeway = rig.settings.clock_leeway_seconds
    signer = TokenSigner(rig.settings, clock=lambda: time.time() + leeway - 1)
    session = TokenVerifier(rig.settings).verify(signer.sign("p_ana", "Ana", "s1")[0])
    good_for = session.expires + leeway - time.time()
    async with Store(StoreSettings(url=rig.settings.redis_url, prefix=rig.settings.redis_prefix)) as store:
        await Revocations(rig.settings, store.pipelines).sign_out(session)
        kept_ms = await store.pipelines.reads.command("PTTL", store.pipelines.keys.ended_sessions)
    assert kept_ms / 1000 >= good_for - 10

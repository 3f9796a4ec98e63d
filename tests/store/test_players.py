"""Profiles, sessions with refresh tokens that work once, and the index of invite codes."""

from __future__ import annotations

import asyncio

import pytest
import redis

from services.store.assembly import Store
from services.store.errors import BadArgument
from services.store.keys import PlayerId, RoomId
from services.store.players import Invite, InviteIndex, PlayerStore, Profile

ANA = PlayerId("p_ana")
DAY_MS = 24 * 3_600_000


@pytest.fixture
def players(store: Store) -> PlayerStore:
    return PlayerStore(store.pipelines, guest_days=90)


async def test_a_profile_is_kept_and_can_be_renamed(players: PlayerStore) -> None:
    assert await players.profile(ANA) is None
    assert await players.put(Profile(ANA, "Ana", True))
    assert not await players.put(Profile(ANA, "Ana Þ", True))
    assert await players.profile(ANA) == Profile(ANA, "Ana Þ", True)


async def test_a_refresh_token_works_once_also_when_shown_twenty_times_at_once(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", b"first")
    tries = [players.rotate_session(ANA, "s1", b"first", b"next %d" % number) for number in range(20)]
    answers = await asyncio.gather(*tries)
    assert answers.count(True) == 1
    assert await players.rotate_session(ANA, "s1", b"next %d" % answers.index(True), b"third")


async def test_a_refresh_token_of_another_session_or_player_is_refused(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", b"first")
    assert not await players.rotate_session(ANA, "s2", b"first", b"next")
    assert not await players.rotate_session(PlayerId("p_eve"), "s1", b"first", b"next")
    assert await players.rotate_session(ANA, "s1", b"first", b"next")


async def test_an_ended_session_cannot_be_continued(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", b"first")
    assert await players.close_session(ANA, "s1")
    assert not await players.close_session(ANA, "s1")
    assert not await players.rotate_session(ANA, "s1", b"first", b"next")


async def test_use_keeps_a_guest_for_another_ninety_days(players: PlayerStore, store: Store, raw: redis.Redis) -> None:
    keys = store.pipelines.keys
    await players.put(Profile(ANA, "Ana", True))
    await players.open_session(ANA, "s1", b"first")
    for key in (keys.profile(ANA), keys.session(ANA, "s1")):
        raw.pexpire(key, 1_000_000)
    assert await players.rotate_session(ANA, "s1", b"first", b"next")
    for key in (keys.profile(ANA), keys.session(ANA, "s1")):
        assert 90 * DAY_MS - 60_000 < int(raw.pttl(key)) <= 90 * DAY_MS


async def test_an_invite_is_found_by_the_hash_of_its_code(store: Store) -> None:
    invites = InviteIndex(store.pipelines)
    await invites.put("hash", Invite(RoomId("r_1"), 3))
    assert await invites.find("hash") == Invite(RoomId("r_1"), 3)
    assert await invites.find("other") is None


async def test_an_invite_for_a_room_that_is_no_id_is_refused(store: Store) -> None:
    with pytest.raises(BadArgument, match="room: 'a b' is not 1 to 64"):
        await InviteIndex(store.pipelines).put("hash", Invite(RoomId("a b"), 1))

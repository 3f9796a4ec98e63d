"""Profiles, sessions with refresh tokens that work once, and the index of invite codes."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
import redis

from services.store.assembly import Store
from services.store.errors import BadArgument
from services.store.keys import PlayerId, RoomId
from services.store.players import REPEAT_MS, Invite, InviteIndex, PlayerStore, Profile

ANA = PlayerId("p_ana")
DAY_MS = 24 * 3_600_000


def _hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


FIRST, NEXT = _hash(b"first"), _hash(b"next")


@pytest.fixture
def players(store: Store) -> PlayerStore:
    return PlayerStore(store.pipelines, guest_days=90)


async def test_a_profile_is_kept_and_can_be_renamed(players: PlayerStore) -> None:
    assert await players.profile(ANA) is None
    assert await players.put(Profile(ANA, "Ana", True))
    assert not await players.put(Profile(ANA, "Ana Þ", True))
    assert await players.profile(ANA) == Profile(ANA, "Ana Þ", True)


async def test_the_sessions_of_a_player_are_known_and_go_with_the_player(players: PlayerStore) -> None:
    await players.put(Profile(ANA, "Ana", True))
    for session in ("s2", "s1", "s3"):
        await players.open_session(ANA, session, FIRST)
    await players.close_session(ANA, "s3")
    assert await players.sessions(ANA) == ["s1", "s2"]
    assert await players.forget(ANA, ["s1", "s2"])
    assert await players.sessions(ANA) == []
    assert await players.profile(ANA) is None
    assert not await players.rotate_session(ANA, "s1", FIRST, NEXT)
    assert not await players.forget(ANA, [])


async def test_a_session_that_is_used_keeps_the_index_of_sessions(
    players: PlayerStore, store: Store, raw: redis.Redis
) -> None:
    await players.open_session(ANA, "s1", FIRST)
    raw.pexpire(store.pipelines.keys.sessions(ANA), 1_000)
    await players.rotate_session(ANA, "s1", FIRST, NEXT)
    assert int(raw.pttl(store.pipelines.keys.sessions(ANA))) > 80 * DAY_MS


async def test_a_refresh_token_works_once_also_when_shown_twenty_times_at_once(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", FIRST)
    tries = [players.rotate_session(ANA, "s1", FIRST, _hash(b"next %d" % number)) for number in range(20)]
    answers = await asyncio.gather(*tries)
    assert answers.count(True) == 1
    assert await players.rotate_session(ANA, "s1", _hash(b"next %d" % answers.index(True)), _hash(b"third"))


async def test_the_same_exchange_may_be_repeated_while_the_next_token_is_unused(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", FIRST)
    for _ in range(3):
        assert await players.rotate_session(ANA, "s1", FIRST, NEXT)
    assert not await players.rotate_session(ANA, "s1", FIRST, _hash(b"another"))
    assert await players.rotate_session(ANA, "s1", NEXT, _hash(b"third"))
    assert not await players.rotate_session(ANA, "s1", FIRST, NEXT)


async def test_a_repeated_exchange_is_refused_when_its_time_is_over(
    players: PlayerStore, store: Store, raw: redis.Redis
) -> None:
    await players.open_session(ANA, "s1", FIRST)
    assert await players.rotate_session(ANA, "s1", FIRST, NEXT)
    key = store.pipelines.keys.session(ANA, "s1")
    stored: Any = raw.get(key)
    long_ago = int(stored[64:]) - REPEAT_MS - 1
    raw.set(key, stored[:64] + b"%d" % long_ago)
    assert not await players.rotate_session(ANA, "s1", FIRST, NEXT)
    assert await players.rotate_session(ANA, "s1", NEXT, _hash(b"third"))


async def test_a_refresh_token_of_another_session_or_player_is_refused(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", FIRST)
    assert not await players.rotate_session(ANA, "s2", FIRST, NEXT)
    assert not await players.rotate_session(PlayerId("p_eve"), "s1", FIRST, NEXT)
    assert await players.rotate_session(ANA, "s1", FIRST, NEXT)


async def test_an_ended_session_cannot_be_continued(players: PlayerStore) -> None:
    await players.open_session(ANA, "s1", FIRST)
    assert await players.close_session(ANA, "s1")
    assert not await players.close_session(ANA, "s1")
    assert not await players.rotate_session(ANA, "s1", FIRST, NEXT)


async def test_use_keeps_a_guest_for_another_ninety_days(players: PlayerStore, store: Store, raw: redis.Redis) -> None:
    keys = store.pipelines.keys
    await players.put(Profile(ANA, "Ana", True))
    await players.open_session(ANA, "s1", FIRST)
    for key in (keys.profile(ANA), keys.session(ANA, "s1")):
        raw.pexpire(key, 1_000_000)
    assert await players.rotate_session(ANA, "s1", FIRST, NEXT)
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

"""Every key is declared, and all that one commit touches lies in one slot."""

from __future__ import annotations

import re
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from services.store.assembly import Store
from services.store.errors import BadArgument
from services.store.keys import CHANNEL, FAMILIES, PARTITIONS, Keys, PlayerId, ProcessId, RoomId, StreamId, partition_of
from services.store.outbox import OutboxEntry
from services.store.presence import Entry
from tests.store.making import made, new_room, silence, turn

KINDS = {"zset": "zset", "hash": "hash", "stream": "stream", "set": "set"}


@pytest.mark.parametrize(("room", "partition"), [("123456789", 0x26), ("a", 67), ("room-1", 6), ("Zz_09-", 247)])
def test_the_partition_of_a_room_never_changes(room: str, partition: int) -> None:
    """These are part of the stored form: another answer loses every stored room."""
    assert partition_of(RoomId(room)) == partition


def test_rooms_spread_over_all_partitions() -> None:
    counts = [0] * PARTITIONS
    for number in range(25_600):
        counts[partition_of(RoomId(f"{number:x}"))] += 1
    assert min(counts) > 50
    assert max(counts) < 200


def test_all_keys_of_a_room_lie_in_the_slot_of_its_partition() -> None:
    keys = Keys().room(RoomId("room-1"))
    named = [*keys[:4], *keys.partition]
    assert len({key_slot(key.encode()) for key in named}) == 1
    assert keys.room == keys.channel == "maumau:{6}:room:room-1"


def test_installations_on_one_server_share_no_key() -> None:
    ours, theirs = Keys("ours"), Keys("theirs")
    assert not {*ours.room(RoomId("a"))[:4]} & {*theirs.room(RoomId("a"))[:4]}
    assert ours.player_rooms(PlayerId("p")) != theirs.player_rooms(PlayerId("p"))


@pytest.mark.parametrize("player", ["a", "a}b{c", "auth0|ü", "p" * 128])
def test_any_player_id_makes_a_key_with_a_tag_of_its_own(player: str) -> None:
    key = Keys().player_rooms(PlayerId(player))
    assert re.fullmatch(r"maumau:\{player:[^{}]+\}:rooms", key)


@pytest.mark.parametrize(("prefix", "player", "room"), [("a{b", "p", "r"), ("a", "", "r"), ("a", "p", "r r")])
def test_what_would_break_a_key_is_refused(prefix: str, player: str, room: str) -> None:
    def use() -> None:
        keys = Keys(prefix)
        keys.player_rooms(PlayerId(player))
        keys.room(RoomId(room))

    with pytest.raises(BadArgument):
        use()


async def test_every_key_in_redis_is_declared_with_its_type(store: Store, raw: redis.Redis, prefix: str) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(30_000), outbox=b"x", listing=b"y")
    assert first.outbox_id is not None
    await store.rooms.add_player_room(PlayerId("anna"), room)
    await store.presence.enter(room, Entry(PlayerId("anna"), StreamId("s"), ProcessId("p")))
    await store.fleet.announce(ProcessId("p"), b"about")
    silence(raw, store.pipelines.keys, room, 10_000)
    await store.sweep.sweep()
    await store.outbox.refused(OutboxEntry(first.outbox_id, room, 1, b"x"), "INTERNAL")
    other = new_room()
    refused = await made(store.rooms, other, outbox=b"x")
    for _ in range(10):
        await store.outbox.refused(OutboxEntry(str(refused.outbox_id), other, 1, b"x"), "INTERNAL")
    found: Any = raw.keys(f"{prefix}:*")
    seen = {family.form for key in found for family in FAMILIES if matches(family.form, key.decode(), prefix)}
    for key in found:
        [family] = [family for family in FAMILIES if family != CHANNEL and matches(family.form, key.decode(), prefix)]
        assert raw.type(key) == KINDS[family.kind].encode()
    assert seen >= {family.form for family in FAMILIES if family.form.startswith("{partition}")}


def matches(form: str, key: str, prefix: str) -> bool:
    pattern = re.sub(r"<\w+>", "[^:]+", re.escape(form).replace(r"\{partition\}", r"\{\d+\}"))
    return re.fullmatch(f"{prefix}:{pattern}", key) is not None

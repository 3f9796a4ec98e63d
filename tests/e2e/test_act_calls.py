"""What `Act` promises: a repeat takes effect once, a late action is stale, a refusal leaves everything as it was."""

from __future__ import annotations

import os

import grpc
import maumau
import msgspec
import pytest
from maumau.v1 import actions_pb2, cards_pb2, settings_pb2

from services.store.assembly import Store
from services.store.keys import RoomId
from services.store.records import Snapshot
from tests.e2e.calls import Duel, Guest, duel, reason_of, sign_in

Action = actions_pb2.Action
DRAW = Action(draw=Action.Draw())


async def refused(guest: Guest, room: str, action: Action, version: int, request_id: bytes = b"") -> tuple[str, str]:
    """Code and reason of a refusal."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await guest.act(room, action, version, request_id=request_id)
    return caught.value.code().name, reason_of(caught.value)[0]


async def stored(store: Store, room: str) -> Snapshot:
    """Everything that is kept of the room, but for the time of the reading."""
    found = await store.rooms.read(RoomId(room))
    assert found is not None
    return found._replace(clock=msgspec.structs.replace(found.clock, now=0))


@pytest.fixture
async def playing(channel: grpc.aio.Channel) -> Duel:
    pair = await duel(channel)
    await pair.start()
    return pair


async def test_a_repeated_request_takes_effect_once_and_gets_its_version_again(playing: Duel, store: Store) -> None:
    guest, _, view = await playing.on_turn()
    request_id = os.urandom(16)
    action = view.legal.actions[0]
    first = await guest.act(playing.room, action, view.version, request_id=request_id)
    await playing.turn()
    after = await stored(store, playing.room)
    again = await guest.act(playing.room, action, view.version, request_id=request_id)
    assert again.version == first.version == view.version + 1
    assert again.room.version == after.head.version, "the view is the present one"
    assert (await stored(store, playing.room)).head == after.head


async def test_a_request_id_is_not_lent_to_another_action(playing: Duel, store: Store) -> None:
    request_id = os.urandom(16)
    guest, _, view = await playing.on_turn()
    await guest.act(playing.room, view.legal.actions[0], view.version, request_id=request_id)
    before = await stored(store, playing.room)
    other = maumau.actions.set_ready(False)
    assert await refused(guest, playing.room, other, 0, request_id) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    assert (await stored(store, playing.room)).head == before.head


async def test_request_ids_of_two_players_are_two_requests(channel: grpc.aio.Channel) -> None:
    pair = await duel(channel)
    request_id = os.urandom(16)
    ready = maumau.actions.set_ready(True)
    versions = [(await guest.act(pair.room, ready, 0, request_id=request_id)).version for guest in (pair.ana, pair.bo)]
    assert versions[1] == versions[0] + 1


async def test_an_action_decided_before_the_turn_began_is_stale(playing: Duel) -> None:
    for _ in range(2):
        await playing.turn()
    guest, _, view = await playing.on_turn()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await guest.act(playing.room, view.legal.actions[0], 1)
    reason, metadata = reason_of(caught.value)
    assert (caught.value.code().name, reason) == ("ABORTED", "STALE")
    assert metadata["version"] == "1"
    assert 1 < int(metadata["began"]) <= view.version


async def test_an_action_decided_on_a_version_that_never_was_is_stale(playing: Duel) -> None:
    """Whoever saw more than there is has seen a history that was rolled back."""
    guest, _, view = await playing.on_turn()
    stale = ("ABORTED", "STALE")
    assert await refused(guest, playing.room, view.legal.actions[0], view.version + 1_000) == stale


async def test_what_is_refused_changes_nothing(playing: Duel, channel: grpc.aio.Channel, store: Store) -> None:
    on_turn, waiting, view = await playing.on_turn()
    stranger = await sign_in(channel, "Stranger")
    foreign = Action(play=Action.Play(card=cards_pb2.Card(suit=cards_pb2.SUIT_RED, rank=cards_pb2.RANK_SKIP)))
    before = await stored(store, playing.room)
    now = view.version
    attempts: list[tuple[Guest, Action, int, bytes, tuple[str, str]]] = [
        (waiting, DRAW, now, b"", ("FAILED_PRECONDITION", "NOT_YOUR_TURN")),
        (on_turn, foreign, now, b"", ("FAILED_PRECONDITION", "CARD_NOT_IN_HAND")),
        (on_turn, Action(), now, b"", ("INVALID_ARGUMENT", "INVALID_FIELD")),
        (on_turn, DRAW, -1, b"", ("INVALID_ARGUMENT", "INVALID_FIELD")),
        (on_turn, DRAW, now, b"short", ("INVALID_ARGUMENT", "INVALID_FIELD")),
        (on_turn, maumau.actions.ready_for_round(), now, b"", ("FAILED_PRECONDITION", "NOT_BETWEEN_ROUNDS")),
        (playing.ana, maumau.actions.start(), now, b"", ("FAILED_PRECONDITION", "MATCH_RUNNING")),
        (playing.bo, maumau.actions.remove_seat(0), now, b"", ("PERMISSION_DENIED", "NOT_HOST")),
        (playing.ana, maumau.actions.rematch(), now, b"", ("FAILED_PRECONDITION", "MATCH_NOT_FINISHED")),
        (stranger, DRAW, now, b"", ("NOT_FOUND", "ROOM_NOT_FOUND")),
    ]
    for guest, action, version, request_id, expected in attempts:
        assert await refused(guest, playing.room, action, version, request_id) == expected, action
        assert await stored(store, playing.room) == before
    assert (await playing.on_turn())[2].version == now


async def test_a_room_that_does_not_exist_and_one_that_is_hidden_look_the_same(
    playing: Duel, channel: grpc.aio.Channel
) -> None:
    stranger = await sign_in(channel, "Stranger")
    told = []
    for room in (playing.room, "r_aaaaaaaaaaaaaaaaaaaa"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stranger.get_room(room)
        told.append((caught.value.code(), caught.value.details(), reason_of(caught.value)))
    assert told[0] == told[1]
    assert told[0][2][0] == "ROOM_NOT_FOUND"


async def test_what_the_lobby_refuses_changes_nothing(channel: grpc.aio.Channel, store: Store) -> None:
    pair = await duel(channel)
    before = await stored(store, pair.room)
    level = settings_pb2.BOT_LEVEL_RANDOM
    attempts: list[tuple[Guest, Action, tuple[str, str]]] = [
        (pair.ana, maumau.actions.start(), ("FAILED_PRECONDITION", "NOT_READY")),
        (pair.ana, maumau.actions.add_bot(level), ("FAILED_PRECONDITION", "ROOM_FULL")),
        (pair.bo, maumau.actions.add_bot(level), ("PERMISSION_DENIED", "NOT_HOST")),
        (pair.ana, maumau.actions.take_seat(7), ("INVALID_ARGUMENT", "NO_SUCH_SEAT")),
        (pair.ana, maumau.actions.take_seat(1), ("FAILED_PRECONDITION", "SEAT_TAKEN")),
        (pair.bo, maumau.actions.set_ready(True, b"x" * 33), ("INVALID_ARGUMENT", "CONTRIBUTION_TOO_LONG")),
        (pair.bo, DRAW, ("FAILED_PRECONDITION", "MATCH_NOT_RUNNING")),
    ]
    for guest, action, expected in attempts:
        assert await refused(guest, pair.room, action, before.head.version) == expected, action
        assert await stored(store, pair.room) == before

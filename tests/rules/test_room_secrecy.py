"""Two rooms that differ only in cards hidden from a viewer are the same room for that viewer, for its bot and for the
clock."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from services.rules import engine
from services.rules.cards import Card
from services.rules.room.due import bot_choice
from services.rules.room.settings import DEFAULT_TIMES
from services.rules.room.state import Room, RoomPhase
from services.rules.room.timers import pending
from services.rules.room.views import room_view
from tests.rules.rooms import Stage

NOBODY: frozenset[int] = frozenset()


def with_hidden_cards_exchanged(room: Room, seat: int) -> Room | None:
    """The room with a card of this seat's hand and the lowest other card of the stock exchanged."""
    match = room.match
    assert match is not None
    state = engine.copy(match.state)
    hand, stock = state.hands[seat], state.stock
    places = [(i, j) for i in range(len(hand)) for j in range(len(stock)) if hand[i] is not stock[j]]
    if not places:
        return None
    i, j = places[0]
    hand[i], stock[j] = stock[j], hand[i]
    return replace(room, match=replace(match, state=state))


def sent(room: Room, viewer: int | None) -> bytes:
    return msgspec.msgpack.encode(room_view(room, viewer), enc_hook=Card.text)


@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno", "uno-casa", "tranca"])
def test_what_is_hidden_from_a_viewer_changes_nothing_for_it(preset: str) -> None:
    stage = Stage(preset, "ann bob", bots=2).start()
    compared = 0
    for _ in range(80):
        if stage.now.phase is not RoomPhase.PLAYING:
            break
        for seat in range(4):
            other = with_hidden_cards_exchanged(stage.now, seat)
            if other is None:
                continue
            assert sent(stage.now, seat) != sent(other, seat), "nothing was exchanged"
            for viewer in {None, 0, 1, 2, 3} - {seat}:
                assert sent(stage.now, viewer) == sent(other, viewer)
                compared += 1
            if stage.turn != seat:
                assert bot_choice(stage.now, stage.turn) == bot_choice(other, stage.turn)
        stage.advance()
    assert compared > 100


@pytest.mark.parametrize("preset", ["mau-mau-32", "uno", "tranca"])
def test_how_long_a_bot_waits_says_nothing_about_its_hand(preset: str) -> None:
    stage = Stage(preset, "ann bob", bots=2).start()
    compared = 0
    while stage.now.phase is RoomPhase.PLAYING and compared < 30:
        other = with_hidden_cards_exchanged(stage.now, stage.turn)
        if other is not None and stage.turn > 1:
            assert pending(stage.now, NOBODY, DEFAULT_TIMES) == pending(other, NOBODY, DEFAULT_TIMES)
            compared += 1
        stage.advance()
    assert compared > 5

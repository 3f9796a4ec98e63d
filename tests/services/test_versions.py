"""Which view of a version a viewer gets."""

from __future__ import annotations

import pytest

from services.game_authority.versions import in_play
from tests.rules.rooms import Stage


@pytest.mark.parametrize("seat", [None, 9])
def test_a_seat_that_the_room_no_longer_has_sees_what_spectators_see(seat: int | None) -> None:
    room = Stage().room
    assert room is not None
    assert in_play(room, seat) is None
    assert in_play(room, 0) == 0

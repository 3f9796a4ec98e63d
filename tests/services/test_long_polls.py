"""Whoever asks for a room and waits is there as long as the call lasts."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.game_authority.handlers import LONGEST_WAIT_MS, GameAuthorityService
from services.game_authority.live_room import LiveRoom
from services.game_authority.presence import Presence
from services.game_authority.rooms import Rooms
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.keys import PlayerId, ProcessId, RoomId
from services.store.presence import Entry

ROOM, PLAYER = RoomId("r"), PlayerId("ana")
NOTHING: Any = None


class Hours:
    """A clock that moves while somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.dismissals = 0

    async def wait_above(self, live: LiveRoom, version: int, seconds: float) -> None:
        self.now += seconds

    async def refresh(self, live: LiveRoom) -> bool:
        return False


async def test_who_waits_as_long_as_one_may_is_there_all_the_while(monkeypatch: pytest.MonkeyPatch) -> None:
    hours, entered = Hours(), list[float]()

    async def enter(room: RoomId, entry: Entry) -> bool:
        entered.append(hours.now)
        return True

    monkeypatch.setattr(time, "monotonic", lambda: hours.now)
    presence = Presence(cast(Store, SimpleNamespace(presence=SimpleNamespace(enter=enter))), ProcessId("p"), 0, 0)
    rooms = cast(Rooms, SimpleNamespace(delivery=hours, refresh=hours.refresh))
    service = GameAuthorityService(NOTHING, rooms, NOTHING, presence, *[NOTHING] * 6)
    await presence.polled(ROOM, PLAYER)
    hours.now += 7.9  # a version came, and the next call follows at once
    await service._wait_for_news(cast(LiveRoom, SimpleNamespace(id=ROOM, version=5)), PLAYER, 5, LONGEST_WAIT_MS / 1000)
    assert hours.now == pytest.approx(1_000 + 7.9 + LONGEST_WAIT_MS / 1000)
    ends = [*entered[1:], hours.now]
    lasts = Settings.model_fields["presence_seconds"].default
    assert max(later - earlier for earlier, later in zip(entered, ends, strict=True)) < lasts

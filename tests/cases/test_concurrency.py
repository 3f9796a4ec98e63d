"""What happens in the same instant has one outcome."""

from __future__ import annotations

import asyncio

import maumau
from maumau.v1 import events_pb2, settings_pb2

from tests.e2e.lounge import Lounge

RACES = 25


async def test_a_seat_goes_to_the_person_or_to_the_bot_and_the_loser_still_watches(hall: Lounge) -> None:
    """Entry 76."""
    ana, bo = await hall.clients("Ana", "Bo")
    winners = set()
    for _ in range(RACES):
        host = await hall.create(ana, seats=2, visibility=settings_pb2.VISIBILITY_PUBLIC)
        watching = await hall.watch(bo, host)
        bot = maumau.actions.add_bot(settings_pb2.BOT_LEVEL_RANDOM, 1)
        results = await asyncio.gather(bo.join_room(host.id, seat=1), host.act(bot), return_exceptions=True)
        refused = [result.reason for result in results if isinstance(result, maumau.Refused)]
        assert refused == ["SEAT_TAKEN"]
        view = await bo.get_room(host.id)
        winners.add(view.seats[1].kind)
        sits = view.seats[1].kind == events_pb2.SEAT_KIND_PERSON
        assert view.HasField("own_seat") is sits
        assert not watching.over
        await host.leave()
        if sits:
            await (await hall.enter(bo.room(host.id))).leave()
    assert winners

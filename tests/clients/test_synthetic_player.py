"""The synthetic player goes on by itself, whatever becomes of its server."""

from __future__ import annotations

import asyncio

from maumau.bots.synthetic import Signs, SyntheticPlayer, SyntheticRun

from tests.clients.eventually import eventually
from tests.clients.fake_server import FakeServer, status_of


async def test_it_signs_in_anew_when_the_server_does_not_know_it_any_more(fake: FakeServer) -> None:
    """An older copy of Redis was restored, say: its alert would have fired for ever, and said that nobody can play."""
    fake.refuse_creates = [status_of("SERVER_FULL")] * 1_000
    run = SyntheticRun(fake.address, pause_seconds=0.01)
    playing = asyncio.create_task(SyntheticPlayer(run, Signs()).play())
    try:
        await eventually(lambda: len(fake.refuse_creates) < 1_000)
        fake.players.clear()
        await eventually(lambda: len(fake.names) > 1)
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)

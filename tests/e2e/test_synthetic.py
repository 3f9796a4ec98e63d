"""The synthetic player plays, says whether it could, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib

import maumau
import pytest
from maumau.bots.synthetic import Signs, SyntheticPlayer, SyntheticRun
from maumau.v1 import events_pb2

from services.local.stack import Stack
from tests.e2e.eventually import eventually
from tests.e2e.scraping import read_samples

OK, FAILED = 'maumau_synthetic_moves_total{outcome="ok"}', 'maumau_synthetic_moves_total{outcome="failed"}'


async def test_it_plays_and_shows_it(stack: Stack) -> None:
    signs = Signs()
    port = signs.serve("127.0.0.1", 0)
    run = SyntheticRun(stack.address, moves=3, pause_seconds=0)
    playing = asyncio.create_task(SyntheticPlayer(run, signs).play())
    try:
        await eventually(lambda: read_samples(f"127.0.0.1:{port}")[OK] > 6, "more moves than one match has")
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
    shown = read_samples(f"127.0.0.1:{port}")
    assert shown[FAILED] == 0
    assert shown["maumau_synthetic_move_seconds_count"] == shown[OK]
    assert shown["maumau_synthetic_last_success_timestamp_seconds"] > 0


async def test_its_match_has_no_result_and_its_room_is_closed(stack: Stack) -> None:
    async with maumau.connect(stack.address, name="Synthetic") as client:
        await SyntheticPlayer(SyntheticRun(stack.address, moves=2), Signs()).play_match(client)
        assert [room async for room in client.my_rooms()] == []
        me = (await client.player()).player_id

        async def record() -> events_pb2.MatchEndCause.ValueType | None:
            async for match in client.scoring.matches(me):
                return match.cause
            return None

        assert await eventually(record, "its match is reported") == events_pb2.MATCH_END_CAUSE_ABORTED


async def test_it_says_which_step_failed(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    signs = Signs()
    async with maumau.connect(stack.address, name="Synthetic") as client:
        with pytest.raises(maumau.MaumauError):
            await SyntheticPlayer(SyntheticRun(stack.address, ruleset="no-such-game"), signs).play_match(client)
    assert signs.registry.get_sample_value("maumau_synthetic_failures_total", {"step": "room"}) == 1
    assert signs.registry.get_sample_value("maumau_synthetic_moves_total", {"outcome": "failed"}) == 1
    assert capsys.readouterr().err.startswith("room failed: ")

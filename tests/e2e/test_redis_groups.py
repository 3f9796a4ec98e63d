"""Whole matches on Redis behind Sentinel and on a Cluster, by configuration alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.playing import Match
from tests.e2e.stacks import complaints, options
from tests.e2e.test_whole_matches import check_versions, whole_match
from tests.faults.history import History, read_records
from tests.groups import Clustered, Sentinels, formed
from tests.servers import kinds

SHORT = {"match.target": "single"}
MATCHES = (Match(2, options=SHORT), Match(1, 1, options=SHORT), Match(3, options=SHORT))


@pytest.mark.parametrize("set_up", ["sentinel", "cluster"])
async def test_whole_matches_on_a_group_end_in_agreement_and_are_counted(
    set_up: str, tmp_path: Path, history: History
) -> None:
    group: Any = Sentinels(kinds()[0], replicas=1, sentinels=1) if set_up == "sentinel" else Clustered(kinds()[-1])
    replicas = {"MAUMAU_REDIS_WAIT_REPLICAS": "1" if set_up == "sentinel" else "0"}
    with formed(group), Stack(options(tmp_path, redis_url=group.url, environ=replicas)) as stack:
        async with Store(StoreSettings(url=group.url)) as store:
            played = await asyncio.gather(
                *(whole_match(stack, store, history, f"G{number}", match) for number, match in enumerate(MATCHES))
            )
            records = read_records([history.path])
            for players, _ in played:
                await check_versions(store, players, records)
        assert complaints(stack) == []

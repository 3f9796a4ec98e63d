"""At what CPU one process matches so many tickets a second.

The tickets come on a clock of their own, a thousand in each of its seconds, a round of the real matching follows every
tenth of a second, and only the CPU time that this process uses in the rounds counts: reading the queue, matching,
claiming, telling the tickets, looking whether matches began. So the figure does not depend on what else the machine
does. Opening tickets is left out, as are the calls to the authority, which is a stand-in here."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any, Final

from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.benchmarks.queueing.arrivals import Arrival
from tests.benchmarks.queueing.day import Day

PRESETS: Final = ("mau-mau-32", "uno", "uno-mattel", "tranca")
ROUND_MS: Final = 100
MOST_CORES: Final = 1.0
LEAST_SHARE: Final = 0.9
"""Of the tickets, matched when the last have just come; the others wait for somebody like them."""


def measure_speed(url: str, keys_dir: Path, per_second: int, seconds: float) -> dict[str, Any]:
    """So many tickets a second for so long."""
    return asyncio.run(_measure(url, keys_dir, _coming(per_second, seconds)))


def _coming(per_second: int, seconds: float) -> list[Arrival]:
    chance = random.Random(1)
    return [
        Arrival(
            at_ms=number * 1000 // per_second,
            players=(f"player {number}",),
            ratings=(chance.gauss(25.0, 6.0),),
            preset=chance.choice(PRESETS),
            seats=4,
            region="",
            pace=0,
            patience_ms=60_000,
            gives_up_ms=0,
        )
        for number in range(round(per_second * seconds))
    ]


async def _measure(url: str, keys_dir: Path, coming: list[Arrival]) -> dict[str, Any]:
    async with Store(StoreSettings(url=url, prefix="speed")) as store:
        day = Day(store, keys_dir, coming, ROUND_MS)
        used, number = 0.0, 0
        for now in range(0, coming[-1].at_ms + ROUND_MS + 1, ROUND_MS):
            number = await day.admit(now, number)
            began = time.process_time()
            await day.match()
            used += time.process_time() - began
    matched = sum(len(each.waits_ms) for each in day.outcome.formed)
    seconds = (coming[-1].at_ms + ROUND_MS) / 1000
    cores = used / seconds
    sentence = f"{matched} of {len(coming)} tickets were matched in {seconds:.0f} s on {cores:.2f} cores"
    return {
        "opened": len(coming),
        "matched": matched,
        "seconds": round(seconds, 1),
        "per_second": round(matched / seconds),
        "cores": round(cores, 2),
        "missed": [sentence] if cores > MOST_CORES or matched < LEAST_SHARE * len(coming) else [],
    }

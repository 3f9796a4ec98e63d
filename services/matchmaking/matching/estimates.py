"""How long somebody will wait, said only where the latest waits for the same allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LEAST_SAMPLES: Final = 5
SHARE: Final = 0.75
"""Of those who waited at least as long as this one by now, how many waited no longer than the estimate."""


def estimate_ms(waits_ms: Sequence[int], waited_ms: int, patience_ms: int) -> int | None:
    """The whole wait of one who has waited for `waited_ms`, in whole seconds, from the latest whole waits for the same.
    Bots come when the patience is over, so it is never above that. None where too few waited as long as this one."""
    longer = sorted(wait for wait in waits_ms if wait >= waited_ms)
    if len(longer) < LEAST_SAMPLES or waited_ms >= patience_ms:
        return None
    likely = longer[min(len(longer) - 1, int(SHARE * len(longer)))]
    return min(-(-likely // 1000) * 1000, patience_ms)

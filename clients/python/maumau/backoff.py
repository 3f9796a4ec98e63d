"""How long to wait before trying again."""

from __future__ import annotations

import random
from typing import Final

FIRST_SECONDS: Final = 0.4
CAP_SECONDS: Final = 5.0


class Backoff:
    """Full jitter: each wait is drawn evenly from zero to a bound that doubles up to a cap, so that many clients which
    lost a server at once do not come back at once."""

    def __init__(self) -> None:
        self.attempts = 0

    def reset(self) -> None:
        """The connection works: the next wait is short again."""
        self.attempts = 0

    def next_wait(self, at_least: float | None = None) -> float:
        """Seconds to wait now; `at_least` is what the server asked for."""
        bound = min(CAP_SECONDS, FIRST_SECONDS * 2 ** min(self.attempts, 16))
        self.attempts += 1
        return (at_least or 0.0) + random.uniform(0.0, bound)

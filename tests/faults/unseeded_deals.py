"""The control for replays: an authority that shuffles by chance and not by the seed that it committed to."""

from __future__ import annotations

import random
from collections.abc import Sequence

from services.game_authority.__main__ import bind
from services.rules.cards import Card
from services.rules.fairness import FairShuffler
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY


def _by_chance(shuffler: FairShuffler, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
    return random.sample(list(cards), len(cards))


if __name__ == "__main__":
    FairShuffler.shuffle = _by_chance  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)

"""Protections of the server that a run may switch off, so that the simulation shows that it would notice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final
from unittest import mock

from services.game_authority.catching_up import CatchingUp
from services.game_authority.rooms import Rooms
from services.rules.room import apply as judging
from tests.simulation.scripts import Checks


class Protection(Enum):
    """What each is for. The values are the names on the command line."""

    MARK_COMPARE = "mark-compare"  # a stale cache loses after Redis was rolled back
    EARLY_REFUSED = "early-refused"  # Redis decides when a deadline has passed
    OUTAGES_CREDITED = "outages-credited"  # our outage costs nobody time
    REFRESH = "refresh"  # a refusal is judged on the newest state
    GAPS = "gaps"  # after a gap the log is read
    REQUEST_IDS = "request-ids"  # a repeat takes effect once
    MARKS_TOLD = "marks-told"  # a viewer of a lost history is told


_IN_REDIS = {
    Protection.MARK_COMPARE: Checks(mark_compare=False),
    Protection.EARLY_REFUSED: Checks(early_refused=False),
    Protection.OUTAGES_CREDITED: Checks(outages_credited=False),
}

PROVOKED: Final[dict[Protection, tuple[str, ...]]] = {
    Protection.MARK_COMPARE: ("lose_writes", "cut_lines", "deafen_lines", "freeze"),
    Protection.EARLY_REFUSED: ("turn_clock", "freeze"),
    Protection.GAPS: ("cut_lines", "deafen_lines"),
    Protection.MARKS_TOLD: ("lose_writes",),
    Protection.OUTAGES_CREDITED: ("stall_redis", "kill_all"),
    Protection.REQUEST_IDS: ("drop_client", "kill"),
}
"""What has to go wrong, so that a protection is missed soon."""


def checks_without(protection: Protection | None) -> Checks:
    """What the scripts of Redis still check."""
    return Checks() if protection is None else _IN_REDIS.get(protection, Checks())


async def _believe(rooms: Rooms, live: object) -> bool:
    return False


def _ignore(*_: Any) -> None:
    return None


_IN_PROCESSES: dict[Protection, tuple[object, str, Callable[..., Any]]] = {
    Protection.REFRESH: (Rooms, "refresh", _believe),
    Protection.GAPS: (CatchingUp, "catch_up", _ignore),
    Protection.REQUEST_IDS: (judging, "refuse_repeat", _ignore),
    Protection.MARKS_TOLD: (CatchingUp, "history_changed", _ignore),
}


@contextlib.contextmanager
def without(protection: Protection | None) -> Iterator[None]:
    """While this lasts, the processes do without that protection."""
    if protection is None or protection not in _IN_PROCESSES:
        yield
        return
    where, name, instead = _IN_PROCESSES[protection]
    with mock.patch.object(where, name, instead):
        yield

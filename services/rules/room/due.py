"""What is committed when a deadline comes."""

from __future__ import annotations

import random
from typing import NamedTuple

from services.rules import engine
from services.rules.actions import Action
from services.rules.bots import choose
from services.rules.bots.levels import BotLevel
from services.rules.room.actions import Act, Actor, Bot, Clock, RoomAction, Timeout
from services.rules.room.clock import TimerKind
from services.rules.room.settings import DEFAULT_TIMES, ServerTimes
from services.rules.room.state import Room
from services.rules.room.timers import pending

_STAND_IN = BotLevel.HEURISTIC
"""Plays for people who are away or left."""


class Due(NamedTuple):
    """Who attempts what; pass it to `apply`."""

    actor: Actor
    action: RoomAction


def due(
    room: Room, kind: TimerKind, absent: frozenset[int] = frozenset(), times: ServerTimes = DEFAULT_TIMES
) -> Due | None:
    """What the deadline of this kind is for, None if no such timer runs: then `timers.pending` says what to wait for.
    Of several bots, the one whose timer is the shortest."""
    running = [timer for timer in pending(room, absent, times) if timer.kind is kind]
    if not running:
        return None
    timer = min(running, key=lambda candidate: candidate.after_ms)
    if kind is not TimerKind.BOT:
        return Due(Clock(), Timeout(kind, timer.seat, timer.seat in absent))
    assert timer.seat is not None
    return Due(Bot(timer.seat), Act(bot_choice(room, timer.seat)))


def bot_choice(room: Room, seat: int) -> Action:
    """What the bot on this seat does now. It sees what a person there would see, and draws from the match's seed."""
    match, taken = room.match, room.seats[seat]
    assert match is not None
    assert taken is not None
    chance = match.shuffler.stream("bot", match.round, room.version * 256 + seat)
    return choose(
        taken.level or _STAND_IN,
        engine.view(match.state, seat),
        engine.legal_actions(match.state, seat),
        seat,
        room.ruleset,
        random.Random(chance.below(1 << 32)),
    )

"""Actions by name, for those that no list of legal actions offers. Anything of `Room.legal` can be sent as it is."""

from __future__ import annotations

from maumau.v1 import actions_pb2, settings_pb2

Action = actions_pb2.Action


def take_seat(seat: int | None = None) -> Action:
    """A seat from 0, or any free one."""
    return Action(take_seat=Action.TakeSeat(seat=seat))


def leave_seat() -> Action:
    return Action(leave_seat=Action.LeaveSeat())


def set_ready(ready: bool, contribution: bytes = b"") -> Action:
    """Up to 32 bytes of one's own go into the shuffles of the match."""
    return Action(set_ready=Action.SetReady(ready=ready, contribution=contribution))


def add_bot(level: settings_pb2.BotLevel.ValueType, seat: int | None = None) -> Action:
    return Action(add_bot=Action.AddBot(level=level, seat=seat))


def remove_seat(seat: int, *, ban: bool = False) -> Action:
    return Action(remove_seat=Action.RemoveSeat(seat=seat, ban=ban))


def start() -> Action:
    return Action(start=Action.Start())


def ready_for_round() -> Action:
    return Action(ready_for_round=Action.ReadyForRound())


def rematch() -> Action:
    return Action(rematch=Action.Rematch())


def take_back() -> Action:
    """One's own seat back from the bot that plays it."""
    return Action(take_back=Action.TakeBack())


def name_of(action: Action) -> str:
    """The name of the kind of action, for instance `play` or `draw_stock`."""
    return action.WhichOneof("action") or ""

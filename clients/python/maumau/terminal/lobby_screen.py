"""A room before a match."""

from __future__ import annotations

from rich.text import Text

from maumau.rulesets import text_of
from maumau.terminal.names import given_name, is_me
from maumau.v1 import events_pb2, room_pb2, settings_pb2

View = room_pb2.RoomView
_OPTION_LINES = 4
_LEVELS = {
    settings_pb2.BOT_LEVEL_RANDOM: "bot, any legal action",
    settings_pb2.BOT_LEVEL_HEURISTIC: "bot",
    settings_pb2.BOT_LEVEL_SEARCH: "bot, strong",
}


def lobby_lines(view: View) -> list[Text]:
    """Who is here and who is ready, how others come, and which rules differ from the preset."""
    lines = [_seat(view, number) for number in range(len(view.seats))]
    if view.invite_code:
        lines += [Text(), Text(f"  Invite code {view.invite_code}"), Text("  maumau play --invite CODE", style="dim")]
    changed = [f"{key}={text_of(value)}" for key, value in sorted(view.ruleset.options.items())]
    lines += [Text(f"  {option}", style="dim") for option in changed[:_OPTION_LINES]]
    return lines


def _seat(view: View, number: int) -> Text:
    seat = view.seats[number]
    line = Text(f"  Seat {number + 1:>2}  ")
    if seat.kind == events_pb2.SEAT_KIND_FREE:
        return line.append("free", style="dim")
    line.append(given_name(view, number), style="bold" if is_me(view, number) else "")
    if seat.kind == events_pb2.SEAT_KIND_BOT:
        return line.append(f"  {_LEVELS.get(seat.bot_level, 'bot')}", style="dim")
    if seat.player_id == view.host_player_id:
        line.append("  host", style="dim")
    return line.append("  ready", style="green") if seat.ready else line.append("  not ready", style="dim")

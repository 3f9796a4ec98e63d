"""One screen of 80 by 24 for whatever state the room is in."""

from __future__ import annotations

from rich.text import Text

from maumau.terminal.choices import choices
from maumau.terminal.layout import HEIGHT, Showing, columns, ends, fit, rule, screen
from maumau.terminal.lobby_screen import lobby_lines
from maumau.terminal.names import is_me, ruleset_title, seat_name
from maumau.terminal.score_screen import score_lines
from maumau.terminal.seats import turn_of
from maumau.terminal.shedding_screen import shedding_lines
from maumau.terminal.tranca_screen import tranca_lines
from maumau.v1 import room_pb2

View = room_pb2.RoomView
_FEWEST_EVENTS = 2
_MOST_EVENTS = 6
_WIDEST_CHOICE = 38
_RULES_LINES = HEIGHT - 3


def draw(view: View, showing: Showing) -> list[Text]:
    """At most 24 lines of at most 80 cells; the last one is the prompt."""
    top = [_header(view), *_body(view)]
    foot = [_status(view, showing), _prompt(showing)]
    room_left = HEIGHT - len(top) - len(foot)
    offered, pages = _choices(view, max(1, room_left - 1 - _FEWEST_EVENTS), showing.page)
    told = _happened(showing, room_left - len(offered) - 1)
    heading = rule(f"choices, page {showing.page % pages + 1} of {pages}: n for the next") if pages > 1 else rule()
    low = [heading, *offered, *foot]
    high = [*top, *told][: HEIGHT - len(low)]
    blank = [Text()] * (HEIGHT - len(high) - len(low))  # so that status and prompt keep their place
    return screen([*high, *blank, *low])


def rules_screen(showing: Showing, page: int) -> list[Text]:
    """A page of the rules of this room, from 0."""
    here = showing.rules[page * _RULES_LINES : (page + 1) * _RULES_LINES]
    heading = Text("Rules of this room", style="bold")
    keys = Text(f"page {page + 1} of {rules_pages(showing)}   Enter next   b back   q table", style="dim")
    blank = [Text()] * (_RULES_LINES - len(here))
    return screen([ends(heading, keys), rule(), *here, *blank, _prompt(showing)])


def rules_pages(showing: Showing) -> int:
    """How many pages the rules take."""
    return max(1, -(-len(showing.rules) // _RULES_LINES))


def _header(view: View) -> Text:
    title = Text(ruleset_title(view), style="bold")
    if view.HasField("shedding") or view.HasField("tranca"):
        game = view.tranca if view.HasField("tranca") else view.shedding
        title.append(f"   round {game.round}", style="")
    title.append(f"   room {view.room_id}", style="dim")
    return ends(title, Text("h rules   q leave", style="dim"))


def _body(view: View) -> list[Text]:
    if view.state in (room_pb2.ROOM_STATE_OPEN, room_pb2.ROOM_STATE_READY_CHECK):
        return [rule(), *lobby_lines(view)]
    if view.state in (room_pb2.ROOM_STATE_PAUSE, room_pb2.ROOM_STATE_FINISHED):
        return [rule(), *score_lines(view)]
    if view.HasField("tranca"):
        return [rule(), *tranca_lines(view)]
    return [rule(), *shedding_lines(view)] if view.HasField("shedding") else [rule()]


def _choices(view: View, rows: int, page: int) -> tuple[list[Text], int]:
    """The lines of one page of numbered choices, and how many pages there are."""
    numbered = []
    for number, (label, _) in enumerate(choices(view), 1):
        numbered.append(fit(Text(f"{number:>3} ", style="bold").append(label), _WIDEST_CHOICE))
    pages = columns(numbered, rows, widest=_WIDEST_CHOICE)
    return (pages[page % len(pages)], len(pages)) if pages else ([], 1)


def _happened(showing: Showing, room_left: int) -> list[Text]:
    lines = min(_MOST_EVENTS, max(0, room_left - 1), len(showing.happened))
    if lines <= 0:
        return []
    return [rule("what happened"), *(Text("  ").append(line) for line in list(showing.happened)[-lines:])]


def _status(view: View, showing: Showing) -> Text:
    if showing.asked:
        return Text(showing.asked, style="bold yellow")
    left = Text()
    if not showing.online:
        left = Text("The server does not answer; trying again …", style="bold red")
    elif showing.note:
        left = Text(showing.note, style="bold red")
    else:
        left = _whose_turn(view)
    clock = Text() if showing.seconds_left is None else Text(f"{showing.seconds_left} s ", style="bold")
    return ends(left, clock)


def _whose_turn(view: View) -> Text:
    turn = turn_of(view)
    if choices(view):
        mine = turn is not None and is_me(view, turn)
        return Text("Your turn: type a number." if mine else "You may type a number.", style="bold green")
    if turn is not None:
        return Text(f"Waiting for {seat_name(view, turn)} …")
    if view.state == room_pb2.ROOM_STATE_PAUSE:
        return Text("Waiting for the next round …")
    return Text("Waiting …")


def _prompt(showing: Showing) -> Text:
    return Text("> ").append(showing.typed)

"""The score table: after each round, and with places at the end of a match."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from maumau.terminal.faces import cards_text
from maumau.terminal.layout import pad, rule
from maumau.terminal.names import given_name, is_me, seat_name
from maumau.v1 import events_pb2, room_pb2

View = room_pb2.RoomView
_ROUNDS_SHOWN, _ROUNDS_BESIDE_PLACES = 6, 4
"""The last ones of a match: as many as leave room for the sum, and at its end for the place."""
_NAME_CELLS = 22
_CAUSES = {
    events_pb2.ROUND_END_CAUSE_HAND_EMPTY: "the last card was played",
    events_pb2.ROUND_END_CAUSE_BLOCKED: "nobody could play",
    events_pb2.ROUND_END_CAUSE_CLOSED: "the deal was closed",
    events_pb2.ROUND_END_CAUSE_STOCK_OUT: "the stock ran out",
}
_MATCH_CAUSES = {
    events_pb2.MATCH_END_CAUSE_VERSION_LIMIT: "The match was too long.",
    events_pb2.MATCH_END_CAUSE_ABORTED: "The match was aborted.",
    events_pb2.MATCH_END_CAUSE_DESERTED: "The others left.",
}


def score_lines(view: View) -> list[Text]:
    """How the round or match ended, the scores by round, and the hands as far as they fit."""
    finished = view.HasField("outcome")
    lines = [_headline(view, finished), Text(), _columns(view), rule()]
    lines += [_row(view, number, finished) for number in range(len(_sides(view)))]
    return [*lines, Text(), *_hands(view)]


def winners(view: View) -> str:
    """Who won the match, in words."""
    won = list(view.outcome.winners)
    if not won:
        return "Nobody won."
    if any(is_me(view, seat) for seat in won):
        others = [given_name(view, seat) for seat in won if not is_me(view, seat)]
        return f"You won, with {_and(others)}!" if others else "You won!"
    return f"{_and([given_name(view, seat) for seat in won])} won."


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _headline(view: View, finished: bool) -> Text:
    if finished:
        cause = _MATCH_CAUSES.get(view.outcome.cause, "")
        return Text(f"  The match is over. {winners(view)} {cause}".rstrip(), style="bold")
    last = _last_round(view)
    number = view.rounds[-1].round if view.rounds else 0
    who = f", by {_side_name(view, last.winner)}" if last.HasField("winner") else ""
    return Text(f"  Round {number} is over: {_CAUSES.get(last.cause, 'it ended')}{who}.", style="bold")


def _last_round(view: View) -> room_pb2.LastRound:
    return view.tranca.last_round if view.WhichOneof("game") == "tranca" else view.shedding.last_round


def _sides(view: View) -> list[tuple[list[int], int]]:
    """Who scores together, and the sum of each."""
    if view.WhichOneof("game") == "tranca":
        return [(list(side.seats), side.score) for side in view.tranca.partnerships]
    return [([seat], score) for seat, score in enumerate(view.shedding.scores)]


def _side_name(view: View, number: int) -> str:
    seats = _sides(view)[number][0] if number < len(_sides(view)) else [number]
    return " & ".join(seat_name(view, seat) for seat in seats)


def _rounds(view: View) -> Sequence[room_pb2.RoundPoints]:
    return view.rounds[-(_ROUNDS_BESIDE_PLACES if view.HasField("outcome") else _ROUNDS_SHOWN) :]


def _columns(view: View) -> Text:
    line = pad(Text("  "), _NAME_CELLS + 2)
    for entry in _rounds(view):
        line.append(f"{'round ' + str(entry.round) if entry.round < 100 else entry.round:>8}", style="dim")
    return line.append(f"{'sum':>8}", style="bold")


def _row(view: View, number: int, finished: bool) -> Text:
    seats, score = _sides(view)[number]
    mine = any(is_me(view, seat) for seat in seats)
    line = pad(Text("  " + _side_name(view, number), style="bold" if mine else ""), _NAME_CELLS + 2)
    for entry in _rounds(view):
        line.append(f"{entry.points[number] if number < len(entry.points) else 0:>8}")
    line.append(f"{score:>8}", style="bold")
    if finished and seats[0] < len(view.outcome.places):
        won = seats[0] in view.outcome.winners
        line.append(f"  place {view.outcome.places[seats[0]]}", style="bold yellow" if won else "")
    return line


def _hands(view: View) -> list[Text]:
    """What everybody held when the round ended."""
    held = _last_round(view).hands
    return [
        pad(Text(f"  {seat_name(view, seat)}"), _NAME_CELLS + 2).append(
            cards_text(hand.cards) if hand.cards else Text("no cards", style="dim")
        )
        for seat, hand in enumerate(held)
    ]

"""Events in words, for the lines that tell what happened last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich.text import Text

from maumau.terminal.faces import card_text, cards_text, suit_text
from maumau.terminal.labels import WORDS
from maumau.terminal.names import is_me, seat_name
from maumau.v1 import events_pb2, room_pb2

Event = events_pb2.Event
View = room_pb2.RoomView

DRAW_CAUSES: Final = {
    events_pb2.DRAW_CAUSE_DEBT: "owed",
    events_pb2.DRAW_CAUSE_CARD_EFFECT: "the card says so",
    events_pb2.DRAW_CAUSE_CALL_MISSED: "call missed",
    events_pb2.DRAW_CAUSE_CALL_FALSE: "false call",
    events_pb2.DRAW_CAUSE_ACCUSE_FALSE: "false accusation",
    events_pb2.DRAW_CAUSE_CHALLENGE_LOST: "challenge lost",
    events_pb2.DRAW_CAUSE_CHALLENGE_WON_AGAINST: "challenged rightly",
    events_pb2.DRAW_CAUSE_LAST_TO_REACT: "last to react",
    events_pb2.DRAW_CAUSE_SPOKE: "spoke",
    events_pb2.DRAW_CAUSE_ILLEGAL_PLAY: "illegal play",
    events_pb2.DRAW_CAUSE_RED_THREE: "for red threes",
    events_pb2.DRAW_CAUSE_FINISH_ANSWERED: "the finish was answered",
}


def event_words(view: View, event: Event) -> Text | None:
    """A line for the event as the viewer knows it; None for one that the table itself shows."""
    kind = event.WhichOneof("event") or ""
    if kind in _PLAIN:
        return Text(_PLAIN[kind])
    if kind in _BY_SEAT:
        told = getattr(event, kind)
        mine, other = _BY_SEAT[kind]
        return Text(f"You {mine}" if is_me(view, told.seat) else f"{seat_name(view, told.seat)} {other}")
    write = _WRITERS.get(kind)
    return write(view, getattr(event, kind)) if write else None


_PLAIN: Final = {
    "debt_lapsed": "Nothing is owed any more",
    "silence_ended": "Talking is free again",
    "options_changed": "The rules of the room were changed",
    "invite_rotated": "The invite code was changed",
    "time_credited": "The server was away; the clock goes on where it was",
    "room_closed": "The room was closed",
}

_BY_SEAT: Final = {
    "turn_passed": ("passed", "passed"),
    "seat_skipped": ("were skipped", "was skipped"),
    "left_exposed": ("did not call!", "did not call!"),
    "accepted": ("accepted the wild+4", "accepted the wild+4"),
    "contest_opened": ("played the last card", "played the last card"),
    "conceded": ("do not contest", "does not contest"),
    "reaction_opened": ("opened a reaction: slap!", "opened a reaction: slap!"),
    "reacted": ("reacted", "reacted"),
    "spoke": ("spoke", "spoke"),
    "silence_began": ("began the silence", "began the silence"),
    "kept_last": ("kept the last card", "kept the last card"),
    "seat_left": ("left", "left"),
    "seat_handed_to_bot": ("are away: a bot plays", "is away: a bot plays"),
    "seat_taken_back": ("are back", "is back"),
    "rematch_offered": ("offered a rematch", "offers a rematch"),
    "timed_out": ("ran out of time", "ran out of time"),
}


def _who(view: View, seat: int) -> Text:
    return Text("You" if is_me(view, seat) else seat_name(view, seat))


def _played(view: View, event: Event.CardsPlayed) -> Text:
    line = _who(view, event.seat).append(" jumped in with " if event.jumped_in else " played ")
    line.append(cards_text(event.cards))
    if event.wish:
        line.append(", wish ").append(suit_text(event.wish))
    return line


def _drew(view: View, event: Event.CardsDrawn) -> Text:
    line = _who(view, event.seat).append(" drew ")
    if event.cards:
        line.append(cards_text(event.cards))
    else:
        line.append("nothing" if event.count == 0 else "a card" if event.count == 1 else f"{event.count} cards")
    cause = DRAW_CAUSES.get(event.cause)
    return line.append(f" ({cause})") if cause else line


def _round_started(view: View, event: Event.RoundStarted) -> Text:
    line = Text(f"Round {event.round}: {seat_name(view, event.dealer)} dealt")
    return line.append(", start card ").append(card_text(event.top)) if event.HasField("top") else line


def _start_card_returned(view: View, event: Event.StartCardReturned) -> Text:
    return card_text(event.returned).append(" went back; start card ").append(card_text(event.top))


def _suit_chosen(view: View, event: Event.SuitChosen) -> Text:
    return _who(view, event.seat).append(" chose ").append(suit_text(event.suit))


def _debt_raised(view: View, event: Event.DebtRaised) -> Text:
    verb = " owe" if is_me(view, event.seat) else " owes"
    return _who(view, event.seat).append(f"{verb} {event.amount} cards")


def _direction(view: View, event: Event.DirectionReversed) -> Text:
    return Text(f"Play runs {'clockwise' if event.direction > 0 else 'the other way'}")


def _reshuffled(view: View, event: Event.PileReshuffled) -> Text:
    return Text(f"The pile became the stock ({event.stock_size} cards)")


def _called(view: View, event: Event.Called) -> Text:
    return _who(view, event.seat).append(f' called "{WORDS.get(event.word, "?")}"')


def _called_falsely(view: View, event: Event.CalledFalsely) -> Text:
    return _called(view, Event.Called(seat=event.seat, word=event.word)).append(" without cause")


def _accused(view: View, event: Event.Accused) -> Text:
    whom = f" accused {seat_name(view, event.target)}" if event.HasField("target") else " accused nobody rightly"
    return _who(view, event.seat).append(whom).append("" if event.upheld else ", wrongly")


def _challenged(view: View, event: Event.Challenged) -> Text:
    return _who(view, event.seat).append(
        f" challenged {seat_name(view, event.target)}, {'rightly' if event.upheld else 'wrongly'}"
    )


def _hands_moved(view: View, event: Event.HandsMoved) -> Text:
    if len(event.moves) == 2:
        one, two = (seat_name(view, move.from_seat) for move in event.moves)
        return Text(f"{one} and {two} swapped hands")
    return Text("All hands moved on by one seat")


def _given(view: View, event: Event.CardsGiven) -> Text:
    line = _who(view, event.seat).append(f" gave {seat_name(view, event.target)} ")
    return line.append(cards_text(event.cards) if event.cards else f"{event.count} cards")


def _rejected(view: View, event: Event.PlayRejected) -> Text:
    return _who(view, event.seat).append(" took ").append(card_text(event.card)).append(" back: it did not fit")


def _red_threes(view: View, event: Event.RedThreesLaid) -> Text:
    return _who(view, event.seat).append(" laid ").append(cards_text(event.cards))


def _stock_drawn(view: View, event: Event.StockDrawn) -> Text:
    line = _who(view, event.seat).append(" drew ")
    return line.append(card_text(event.card) if event.HasField("card") else "from the stock")


def _thrown(view: View, event: Event.CardThrown) -> Text:
    return _who(view, event.seat).append(" threw ").append(card_text(event.card)).append(" away")


def _pile_taken(view: View, event: Event.PileTaken) -> Text:
    return _who(view, event.seat).append(f" took the pile ({event.count} cards) with ").append(card_text(event.top))


def _meld_laid(view: View, event: Event.MeldLaid) -> Text:
    return _who(view, event.seat).append(f" laid {event.meld.id}: ").append(cards_text(event.meld.cards))


def _meld_extended(view: View, event: Event.MeldExtended) -> Text:
    return _who(view, event.seat).append(f" added to {event.meld.id}: ").append(cards_text(event.cards))


def _discarded(view: View, event: Event.Discarded) -> Text:
    return _who(view, event.seat).append(" discarded ").append(card_text(event.card))


def _pozzetto(view: View, event: Event.PozzettoTaken) -> Text:
    return _who(view, event.seat).append(" took a pozzetto")


def _stock_renewed(view: View, event: Event.StockRenewed) -> Text:
    return Text("A pozzetto became the stock")


def _round_ended(view: View, event: Event.RoundEnded) -> Text:
    return Text(f"Round {event.round} is over")


def _match_ended(view: View, event: Event.MatchEnded) -> Text:
    return Text("The match is over")


def _seat_taken(view: View, event: Event.SeatTaken) -> Text:
    return Text(f"{event.display_name} took seat {event.seat + 1}")


def _bot_added(view: View, event: Event.BotAdded) -> Text:
    return Text(f"{event.display_name} took seat {event.seat + 1}")


def _seat_removed(view: View, event: Event.SeatRemoved) -> Text:
    return Text(f"Seat {event.seat + 1} was freed")


def _ready(view: View, event: Event.ReadyChanged) -> Text:
    is_ready = "ready" if event.ready else "not ready"
    return _who(view, event.seat).append(f" {'are' if is_me(view, event.seat) else 'is'} {is_ready}")


def _match_started(view: View, event: Event.MatchStarted) -> Text:
    return Text(f"Match {event.number} begins")


def _muted(view: View, event: Event.Muted) -> Text:
    return Text(f"{seat_name(view, event.seat)} {'was muted' if event.muted else 'may write again'}")


_WRITERS: Final[dict[str, Callable[[View, Any], Text]]] = {
    "cards_played": _played,
    "cards_drawn": _drew,
    "round_started": _round_started,
    "start_card_returned": _start_card_returned,
    "suit_chosen": _suit_chosen,
    "debt_raised": _debt_raised,
    "direction_reversed": _direction,
    "pile_reshuffled": _reshuffled,
    "called": _called,
    "called_falsely": _called_falsely,
    "accused": _accused,
    "challenged": _challenged,
    "hands_moved": _hands_moved,
    "cards_given": _given,
    "play_rejected": _rejected,
    "red_threes_laid": _red_threes,
    "stock_drawn": _stock_drawn,
    "card_thrown": _thrown,
    "pile_taken": _pile_taken,
    "meld_laid": _meld_laid,
    "meld_extended": _meld_extended,
    "discarded": _discarded,
    "pozzetto_taken": _pozzetto,
    "stock_renewed": _stock_renewed,
    "round_ended": _round_ended,
    "match_ended": _match_ended,
    "seat_taken": _seat_taken,
    "bot_added": _bot_added,
    "seat_removed": _seat_removed,
    "ready_changed": _ready,
    "match_started": _match_started,
    "muted": _muted,
}

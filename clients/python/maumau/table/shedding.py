"""Events of Mau-Mau and UNO rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from maumau.table import cards, effects
from maumau.v1 import cards_pb2, events_pb2, room_pb2, rules_pb2

Event = events_pb2.Event
View = room_pb2.SheddingView
Step = Callable[[View, Any, int | None], None]
"""Changes the view by one event; the last argument is the viewer's own seat."""

_CALL_WINDOWS: Final = {"mau-mau-32": "next_action", "uno": "next_action", "mau-mau-brasil": "next_discard_or_pass"}
"""How long a missed call can be punished in each game, unless a room has another `call.window`."""
_ACTIONS: Final = frozenset(
    {
        events_pb2.DRAW_CAUSE_TURN,
        events_pb2.DRAW_CAUSE_DEBT,
        events_pb2.DRAW_CAUSE_CHALLENGE_LOST,
        events_pb2.DRAW_CAUSE_CHALLENGE_WON_AGAINST,
    }
)
"""Draws that are actions of the seat on turn, not penalties."""
_WINDOWS: Final = frozenset({room_pb2.PHASE_CONTEST, room_pb2.PHASE_ANSWER, room_pb2.PHASE_REACT})


def _start_card_returned(game: View, event: Event.StartCardReturned, own: int | None) -> None:
    _set_top(game, event.top, cards_pb2.SUIT_UNSPECIFIED)


def _set_top(game: View, top: cards_pb2.Card, wish: cards_pb2.Suit.ValueType) -> None:
    game.top.CopyFrom(top)
    game.wish = wish
    game.suit = wish or top.suit


def _turn_started(game: View, event: Event.TurnStarted, own: int | None) -> None:
    goes_on = game.phase == room_pb2.PHASE_CHALLENGE and event.seat == game.turn  # whoever won a challenge
    if game.phase not in _WINDOWS and not goes_on:  # in a window the turn has been handed over already
        _hand_over(game, event.seat)
    game.turn = event.seat
    game.has_drawn = False
    game.ClearField("drawn")
    game.ClearField("waiting")
    game.debt = event.debt
    if not event.debt:
        game.debt_kind = ""
    answered = event.debt and game.top.rank == cards_pb2.RANK_WILD_DRAW_FOUR
    game.phase = room_pb2.PHASE_CHALLENGE if answered else room_pb2.PHASE_PLAY


def _hand_over(game: View, seat: int) -> None:
    """A call made before the play lapses with the turn of its seat."""
    if game.hand_sizes[game.turn] > 1:
        game.calls[game.turn] = cards_pb2.WORD_UNSPECIFIED
    game.turn = seat


def _cards_played(game: View, event: Event.CardsPlayed, own: int | None) -> None:
    game.pile_size += len(event.cards)
    _set_top(game, event.cards[-1], event.wish)
    game.hand_sizes[event.seat] = event.left
    game.has_drawn = False
    game.ClearField("drawn")
    if event.seat == own:
        cards.take(game.hand, event.cards)


def _suit_chosen(game: View, event: Event.SuitChosen, own: int | None) -> None:
    game.wish = game.suit = event.suit
    game.phase = room_pb2.PHASE_PLAY


def _cards_drawn(game: View, event: Event.CardsDrawn, own: int | None) -> None:
    game.stock_size -= event.count
    _grow(game, event.seat, event.count)
    if event.seat == own:
        cards.put(game.hand, event.cards)
    if event.cause == events_pb2.DRAW_CAUSE_TURN:
        game.has_drawn = True
        if event.cards:
            game.drawn.CopyFrom(event.cards[-1])


def _grow(game: View, seat: int, count: int) -> None:
    """A hand that grows loses its call and cannot be accused."""
    game.hand_sizes[seat] += count
    if count:
        game.calls[seat] = cards_pb2.WORD_UNSPECIFIED
        if game.HasField("exposed") and game.exposed == seat:
            game.ClearField("exposed")


def _debt_raised(game: View, event: Event.DebtRaised, own: int | None) -> None:
    game.debt = event.amount


def _debt_lapsed(game: View, event: Event.DebtLapsed, own: int | None) -> None:
    game.debt = 0
    game.debt_kind = ""


def _turn_passed(game: View, event: Event.TurnPassed, own: int | None) -> None:
    game.has_drawn = False
    game.ClearField("drawn")


def _told(game: View, event: object, own: int | None) -> None:
    """Something to tell whose consequences follow as events of their own."""


def _direction_reversed(game: View, event: Event.DirectionReversed, own: int | None) -> None:
    game.direction = event.direction


def _pile_reshuffled(game: View, event: Event.PileReshuffled, own: int | None) -> None:
    # Told in the middle of a drawing whose count follows: what was left of the old stock belongs to that count.
    game.stock_size += event.stock_size
    game.pile_size = 0


def _called(game: View, event: Event.Called, own: int | None) -> None:
    game.calls[event.seat] = event.word
    if game.HasField("exposed") and game.exposed == event.seat:
        game.ClearField("exposed")


def _left_exposed(game: View, event: Event.LeftExposed, own: int | None) -> None:
    game.exposed = event.seat


def _accused(game: View, event: Event.Accused, own: int | None) -> None:
    if event.upheld:
        game.ClearField("exposed")


def _contest_opened(game: View, event: Event.ContestOpened, own: int | None) -> None:
    game.phase = room_pb2.PHASE_CONTEST
    game.waiting[:] = _seats_from(game, event.seat)
    game.debt = 0
    game.debt_kind = ""
    _hand_over(game, game.waiting[0])


def _seats_from(game: View, seat: int) -> list[int]:
    seats = len(game.hand_sizes)
    return [(seat + step * game.direction) % seats for step in range(1, seats)]


def _no_longer_waiting(game: View, event: Event.Conceded | Event.Reacted, own: int | None) -> None:
    game.waiting[:] = [seat for seat in game.waiting if seat != event.seat]


def _reaction_opened(game: View, event: Event.ReactionOpened, own: int | None) -> None:
    game.phase = room_pb2.PHASE_REACT
    game.waiting[:] = range(len(game.hand_sizes))
    _hand_over(game, _seats_from(game, event.seat)[0])


def _silence_began(game: View, event: Event.SilenceBegan, own: int | None) -> None:
    game.silence = True


def _silence_ended(game: View, event: Event.SilenceEnded, own: int | None) -> None:
    game.silence = False


def _hands_moved(game: View, event: Event.HandsMoved, own: int | None) -> None:
    for seat, (before, after) in enumerate(zip(list(game.hand_sizes), event.hand_sizes, strict=True)):
        _grow(game, seat, max(0, after - before))
    game.hand_sizes[:] = event.hand_sizes
    if own is not None:
        cards.replace(game.hand, event.hands[own].cards)


def _cards_given(game: View, event: Event.CardsGiven, own: int | None) -> None:
    game.hand_sizes[event.seat] -= event.count
    _grow(game, event.target, event.count)
    if event.seat == own:
        cards.take(game.hand, event.cards)
    if event.target == own:
        cards.put(game.hand, event.cards)


STEPS: Final[dict[str, Step]] = {
    "start_card_returned": _start_card_returned,
    "turn_started": _turn_started,
    "cards_played": _cards_played,
    "suit_chosen": _suit_chosen,
    "cards_drawn": _cards_drawn,
    "debt_raised": _debt_raised,
    "debt_lapsed": _debt_lapsed,
    "turn_passed": _turn_passed,
    "seat_skipped": _told,
    "direction_reversed": _direction_reversed,
    "pile_reshuffled": _pile_reshuffled,
    "called": _called,
    "called_falsely": _told,
    "left_exposed": _left_exposed,
    "accused": _accused,
    "challenged": _told,
    "accepted": _told,
    "contest_opened": _contest_opened,
    "conceded": _no_longer_waiting,
    "reaction_opened": _reaction_opened,
    "reacted": _no_longer_waiting,
    "spoke": _told,
    "silence_began": _silence_began,
    "silence_ended": _silence_ended,
    "hands_moved": _hands_moved,
    "cards_given": _cards_given,
    "play_rejected": _told,
}


def settle(game: View, before: View, events: Sequence[Event], kinds: Sequence[str], ruleset: rules_pb2.Ruleset) -> bool:
    """What the events of a whole version, named by `kinds`, say together. Whether the view is certain."""
    certain = effects.settle(game, before, events, kinds, ruleset)
    if before.HasField("exposed") and game.HasField("exposed") and "left_exposed" not in kinds:
        forgiven = _is_forgiven(game, before, events, kinds, _window_of(ruleset))
        if forgiven:
            game.ClearField("exposed")
        certain = forgiven is not None
    if "round_started" in kinds and "turn_started" not in kinds:
        certain = False  # the start card asks for a choice
    return certain


def _window_of(ruleset: rules_pb2.Ruleset) -> str:
    """How long a missed call can be punished; "" where that is not known."""
    if "call.window" in ruleset.options:
        return ruleset.options["call.window"].choice
    return _CALL_WINDOWS.get(ruleset.game, "")


def _is_forgiven(game: View, before: View, events: Sequence[Event], kinds: Sequence[str], window: str) -> bool | None:
    """Whether the call that was missed before this version cannot be punished after it; None: not to be told."""
    draws = {event.cards_drawn.cause for event, kind in zip(events, kinds, strict=True) if kind == "cards_drawn"}
    passed = "turn_passed" in kinds
    if not draws and not passed and not {"cards_played", "accepted", "challenged"} & set(kinds):
        return False
    if window == "round":
        return False
    if window and "cards_played" in kinds:
        return True
    if window == "next_action":
        return bool(draws & _ACTIONS or {"accepted", "challenged"} & set(kinds))
    if window == "next_discard_or_pass":
        if passed or game.turn == before.turn:
            return passed
        return True if events_pb2.DRAW_CAUSE_DEBT in draws else None
    return None

"""Which cards fit the top card, the suit in force and the debt: the sections Legal card of rules.md 2.1, 3.1, 4.1.

What depends on the table alone is worked out once for each situation and kept with the compiled ruleset (`Fit`). What
depends on the hand (a Wild Draw Four under the strict rule, the last card) is asked for each time.
"""

from __future__ import annotations

from services.rules.actions import Play
from services.rules.cards import Card, Rank, Suit
from services.rules.reasons import Reason
from services.rules.shedding.compiled import WILD_RANKS, Rules
from services.rules.shedding.effects import Effect
from services.rules.shedding.state import Debt, State
from services.rules.views import Phase

ACTION_RANKS = (Rank.SKIP, Rank.REVERSE, Rank.DRAW_TWO)


class Fit:
    """One situation. `refusals` names why a face does not fit, None if it does; `plays` has the ready actions of each
    face, none where it does not fit, and None where it fits and needs more than perhaps a suit."""

    __slots__ = ("plays", "refusals")

    def __init__(self, refusals: dict[Card, Reason | None], plays: dict[Card, tuple[Play, ...] | None]) -> None:
        self.refusals = refusals
        self.plays = plays


def fit_of(s: State) -> Fit:
    """The situation of this state."""
    key = (s.top, s.wish, s.kind, s.start_card)
    fit: Fit | None = s.rules.fits.get(key)
    if fit is None:
        fit = s.rules.fits[key] = _worked_out(s.rules, s.top, s.wish, s.kind, s.start_card)
    return fit


def suit_in_force(s: State) -> Suit | None:
    """The named suit, else that of the top card; None only on a Wild that nobody named a colour for."""
    return s.wish or s.top.suit


def refusal_of(s: State, seat: int, card: Card) -> Reason | None:
    """Why the seat may not put this card of its hand on the pile now (checks 5 and 7), None if it may."""
    rules = s.rules
    fit = rules.fits.get((s.top, s.wish, s.kind, s.start_card)) or fit_of(s)
    refusal: Reason | None = fit.refusals.get(card, Reason.CARD_DOES_NOT_MATCH)
    if rules.strict_four and refusal is None and card.rank is Rank.WILD_DRAW_FOUR and breaks_four_test(s, seat, card):
        return Reason.WD4_NOT_ALLOWED
    return refusal


def breaks_four_test(s: State, seat: int, four: Card) -> bool:
    """The hand without the card itself holds what forbids a Wild Draw Four (`wd4.test`). Only the suit in force and
    the top card before the play count, never the colour that is about to be named."""
    force, rank, rules = s.wish or s.top.suit, s.top.rank, s.rules
    others = list(s.hands[seat])
    if four in others:
        others.remove(four)
    for card in others:
        if card.suit is None:
            if rules.four_test == "any_playable" and card.rank is Rank.WILD:
                return True
        elif card.suit is force or (rules.four_test != "color_only" and card.rank is rank):
            return True
    return False


def may_be_last(rules: Rules, card: Card) -> bool:
    """Whether a hand may end with this card (check 9)."""
    if rules.no_wild_finish and card in rules.wilds:
        return False
    return not (rules.no_again_finish and rules.effect[card] is Effect.AGAIN)


def may_play(s: State, seat: int, card: Card) -> bool:
    """Checks 5 to 9 for a single card of the hand, leaving out data that can always be given."""
    if s.has_drawn and s.drew is not None:
        mode = s.rules.draw_play
        if mode == "none" or (mode == "drawn_only" and card is not s.drew):
            return False
    if refusal_of(s, seat, card) is not None:
        return False
    return len(s.hands[seat]) > 1 or may_be_last(s.rules, card)


def can_play(s: State, seat: int) -> bool:
    """Whether the seat on turn holds a card that it may play now."""
    return any(may_play(s, seat, card) for card in s.hands[seat])


def taken_by(s: State, card: Card) -> int:
    """How many cards a `takeN` makes the next seat take."""
    effect, count = s.rules.effects[card]
    return copied(s)[1] if effect is Effect.COPY else count


def copied(s: State) -> tuple[Effect, int]:
    """What a `copy` would do if it were played now: what the card below it would do. A start card that copies has
    nothing below it."""
    for below in (s.top, *reversed(s.pile)):
        effect = s.rules.effects[below]
        if effect[0] is not Effect.COPY:
            return effect
    return Effect.NONE, 0


def _worked_out(rules: Rules, top: Card, wish: Suit | None, kind: Debt | None, start: bool) -> Fit:
    refusals = {card: _refusal(rules, card, top, wish, kind, start) for card in rules.faces}
    plays = {card: rules.plays.get(card) if refusal is None else () for card, refusal in refusals.items()}
    return Fit(refusals, plays)


def _refusal(rules: Rules, card: Card, top: Card, wish: Suit | None, kind: Debt | None, start: bool) -> Reason | None:
    if kind is not None:
        return None if answers(rules, card, top, wish, kind) else Reason.MUST_TAKE_OR_STACK
    if rules.same_action_only and not start and _breaks_action_ban(rules, card, top):
        return Reason.ACTION_ON_ACTION
    if rules.is_uno:
        return None if _fits_uno(card, top, wish) else Reason.CARD_DOES_NOT_MATCH
    return _refusal_mau_mau(rules, card, top, wish)


def answers(rules: Rules, card: Card, top: Card, wish: Suit | None, kind: Debt) -> bool:
    """Whether a card passes a debt of this kind on."""
    if kind is Debt.SEVEN:
        return rules.seven_stack != "off" and rules.effect[card] is Effect.DRAW
    if kind is Debt.SKIP:
        return rules.effect[card] is Effect.SKIP
    if kind is Debt.HARD:
        return False
    if card.rank is Rank.DRAW_TWO and top.rank is Rank.WILD_DRAW_FOUR and card.suit is not wish:
        return False
    return kind_answers(rules, card.rank, top.rank)


def kind_answers(rules: Rules, rank: Rank, top: Rank) -> bool:
    """UNO's cumulative rule: what may answer depends on the top card only."""
    if top is Rank.WILD_DRAW_FOUR:
        return rules.four_on_four if rank is Rank.WILD_DRAW_FOUR else rank is Rank.DRAW_TWO and rules.two_on_four
    if rank is Rank.WILD_DRAW_FOUR:
        return rules.four_on_two
    return rank is Rank.DRAW_TWO and rules.two_on_two != "off"


def must_stack(s: State, seat: int) -> bool:
    """Stacking is forced and a seven (in UNO a Draw Two) of the hand answers what is owed."""
    rules, kind = s.rules, s.kind
    if kind is None or kind is Debt.SKIP:
        return False
    if rules.is_uno:
        hand = [card for card in s.hands[seat] if card.rank is Rank.DRAW_TWO]
        forced = rules.two_on_two == "forced"
    else:
        hand, forced = s.hands[seat], rules.seven_stack == "forced"
    return forced and any(answers(rules, card, s.top, s.wish, kind) for card in hand)


def _fits_uno(card: Card, top: Card, wish: Suit | None) -> bool:
    force = wish or top.suit
    return card.suit is None or card.suit is force or card.rank is top.rank or force is None


def _breaks_action_ban(rules: Rules, card: Card, top: Card) -> bool:
    def is_action(rank: Rank) -> bool:
        return rank in ACTION_RANKS or (rules.wilds_are_actions and rank in WILD_RANKS)

    return is_action(card.rank) and is_action(top.rank) and card.rank is not top.rank


def _refusal_mau_mau(rules: Rules, card: Card, top: Card, wish: Suit | None) -> Reason | None:
    is_jack, on_seven = card in rules.wilds, rules.effect[top] is Effect.DRAW
    force = wish or top.suit
    if is_jack and top in rules.wilds and not rules.jack_on_jack:
        return Reason.JACK_ON_JACK
    if is_jack and on_seven and rules.jack_on_seven != "wild":
        fits = rules.jack_on_seven == "suit_only" and card.suit is force
        return None if fits else Reason.JACK_NOT_WILD_ON_SEVEN
    fits = is_jack or card.suit is force or card.rank is top.rank
    return None if fits else Reason.CARD_DOES_NOT_MATCH


def answers_now(s: State, card: Card) -> bool:
    """In `challenge` and `answer`: a card of a kind that may answer, whoever holds it."""
    if s.phase is Phase.CHALLENGE:
        return kind_answers(s.rules, card.rank, s.top.rank)
    return s.rules.effect.get(card) is Effect.DRAW

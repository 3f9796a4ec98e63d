"""Dealing a round and turning up the start card (rules.md 2.1, 3.1, 4.1 Start card)."""

from __future__ import annotations

from services.rules.actions import Play
from services.rules.cards import Card, Rank
from services.rules.events import RoundStarted, StartCardReturned
from services.rules.shedding.card_effects import FUNCTIONS, start_draw_two
from services.rules.shedding.compiled import Rules
from services.rules.shedding.effects import NUMBER_RULES, Effect
from services.rules.shedding.scoring import hand_points
from services.rules.shedding.state import State, announce_turn, clear_debt, enter, shuffled
from services.rules.views import Phase


def blank(rules: Rules, seats: int, dealer: int) -> State:
    """A match before its first deal."""
    s = State()
    s.rules = rules
    s.seats = seats
    s.round = 1
    s.dealer = s.turn = dealer
    s.scores = [0] * seats
    s.last_round = None
    s.turn_serial = s.exposed_serial = s.pile_serial = s.phase_serial = 0
    s.log = s.chance = None
    s.top = rules.pack[0]
    clear_table(s)
    return s


def clear_table(s: State) -> None:
    """Nothing of a round before is left: no wish, debt, call or window."""
    s.phase = Phase.PLAY
    s.direction = 1
    s.pile, s.stock = [], []
    s.hands = [[] for _ in range(s.seats)]
    s.said = [None] * s.seats
    s.waiting = []
    s.wish = s.drew = s.exposed = s.last = s.chooser = s.finisher = s.barred = s.caught = None
    s.has_drawn = s.start_card = s.guilty = s.silence = False
    s.idle = s.shuffles = 0
    clear_debt(s)


def deal(s: State) -> None:
    """Shuffle everything, deal one by one from the dealer's left, turn up the start card."""
    s.stock = shuffled(s, list(s.rules.pack))[::-1]
    for step in range(s.rules.hand_size * s.seats):
        s.hands[(s.dealer + 1 + step) % s.seats].append(s.stock.pop())
    s.top = s.stock.pop()
    s.pile_serial += 1
    if s.log is not None:
        hands = tuple(tuple(hand) for hand in s.hands)
        sizes = tuple(len(hand) for hand in hands)
        size = len(s.stock)
        s.log.append(
            RoundStarted(round=s.round, dealer=s.dealer, hands=hands, hand_sizes=sizes, stock_size=size, top=s.top)
        )


def start(s: State) -> None:
    """The card turned up is the start card. Those that may not start go back into the stock; then it works, or not."""
    while _goes_back(s, s.top) and not all(_goes_back(s, card) for card in s.stock):
        returned = s.top
        s.stock = shuffled(s, [*s.stock, returned])
        s.top = s.stock.pop()
        if s.log is not None:
            s.log.append(StartCardReturned(returned=returned, top=s.top))
    s.start_card = True
    if s.rules.is_uno and s.top.suit is None:
        _wait_for_colour(s)
    elif s.rules.start_effect == "as_dealer_play":
        _works_for(s, s.dealer)
    elif s.rules.start_effect == "as_first_player_discard":
        _works_for(s, _left_of_dealer(s))
    else:
        s.turn = _left_of_dealer(s)
    announce_turn(s)


def _left_of_dealer(s: State) -> int:
    return (s.dealer + 1) % s.seats


def _goes_back(s: State, card: Card) -> bool:
    if card.rank is Rank.WILD_DRAW_FOUR:
        return True
    if card.rank is Rank.WILD and s.rules.start_wild == "reflip":
        return True
    return s.rules.start_effect == "reflip_special" and _start_effect(s, card) is not Effect.NONE


def _start_effect(s: State, card: Card) -> Effect:
    """UNO's number rules never apply to the start card, and there is nothing below it to copy."""
    effect = s.rules.effect[card]
    if effect in NUMBER_RULES or effect is Effect.COPY or (s.rules.is_uno and effect is Effect.AGAIN):
        return Effect.NONE
    return effect


def _works_for(s: State, seat: int) -> None:
    """The start card does what it would do if this seat had played it."""
    effect = _start_effect(s, s.top)
    s.turn = seat
    if effect is Effect.DRAW_TWO:
        start_draw_two(s, seat)
    else:
        FUNCTIONS[effect](s, seat, Play(s.top), s.rules.effects[s.top][1] or 1)
    if effect is Effect.REVERSE and s.rules.start_reverse == "dealer_first" and seat == s.dealer:
        s.turn = s.dealer
    s.last = seat
    if effect is Effect.WISH:
        s.chooser = seat
        enter(s, Phase.CHOOSE)


def _wait_for_colour(s: State) -> None:
    """A start Wild: somebody names the colour. As the first player's discard it is his turn."""
    first = _left_of_dealer(s)
    as_first = s.rules.start_effect == "as_first_player_discard"
    s.turn = (first + 1) % s.seats if as_first else first
    s.chooser = s.dealer if s.rules.start_wild == "dealer_chooses" else first
    enter(s, Phase.CHOOSE)


def prepare_next_round(s: State) -> None:
    """The next dealer, and an empty table."""
    s.dealer = _next_dealer(s)
    s.round += 1
    s.turn = s.dealer
    clear_table(s)


def _next_dealer(s: State) -> int:
    last = s.last_round
    left = _left_of_dealer(s)
    if last is None or s.rules.rotation == "left":
        return left
    if s.rules.rotation == "winner":
        return left if last.winner is None else last.winner
    held = [hand_points(s, hand) for hand in last.hands]
    return held.index(max(held))

"""Plays a scenario case of Tranca (rules.md 7) against the engine and says what differs.

A case gives a position, actions and what must hold after them. Positions are built field by field; a card `x` is any
card, so a plain one stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from services.rules import engine
from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.cards import Card, parse_card
from services.rules.events import Meld as LaidMeld
from services.rules.reasons import IllegalAction
from services.rules.ruleset import Ruleset, make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.tranca.melds import arranged, canasta_of
from services.rules.tranca.options import Options
from services.rules.tranca.rounds import empty_state, lay_dealt_red_threes
from services.rules.tranca.state import HAND_SIZE, TrancaState
from services.rules.views import Phase

_SHUFFLER: Final = SeededShuffler("scenario")
_ANY_CARD: Final = parse_card("9C")
_PHASES: Final = {"draw": Phase.DRAW, "meld": Phase.MELD}
_OVER: Final = (Phase.ROUND_OVER, Phase.MATCH_OVER)

Given = Mapping[str, Any]


def run_case(ruleset_name: str, case: Mapping[str, Any]) -> str | None:
    """None where the case holds, else what differs."""
    ruleset = make_ruleset(case.get("ruleset", ruleset_name), case.get("options") or {})
    state = position(ruleset, case.get("given") or {})
    steps = case["when"]
    for number, step in enumerate(steps, 1):
        stored = engine.encode(state)
        try:
            state = _do(state, step)
        except IllegalAction as refusal:
            if engine.encode(state) != stored:
                return f"{step}: refused, but the state changed"
            if number < len(steps):
                return f"{step}: refused with {refusal.reason.name}"
            return _compare(state, refusal.reason.name, case["then"])
    return _compare(state, None, case["then"])


def position(ruleset: Ruleset, given: Given) -> TrancaState:
    """The start position of a case."""
    seats = given.get("n") or len(given.get("hands") or []) or ruleset.max_seats
    if len(given.get("hands") or [[]] * seats) != seats:
        raise ValueError(f"hands: expected {seats}")
    turn = given.get("turn", 0)
    state = empty_state(ruleset, seats, given.get("dealer", (turn - 1) % seats))
    state.turn = turn
    state.turns = 1
    state.phase = _PHASES[given.get("phase", "draw")]
    state.hands = [_cards(hand) for hand in given.get("hands") or [[]] * seats]
    state.stock = _cards(given.get("stock") or [])[::-1]
    state.pile = _cards(given.get("discard") or [])
    state.red_threes = [_cards(laid) for laid in given.get("red") or [[], []]]
    state.taken = list(given.get("took") or [None, None])
    state.pozzetti = [_cards(pozzetto) for pozzetto in given.get("pozzetti", _untaken(state))]
    state.used = list(given.get("used") or [seat is not None for seat in state.taken])
    state.scores = list(given.get("total") or [0, 0])
    for meld_id, (partnership, cards) in (given.get("melds") or {}).items():
        laid = _on_table(_cards(cards), state.options)
        state.melds.append(LaidMeld(meld_id, partnership, laid, canasta_of(laid, state.options)))
    state.melds_laid = max((int(meld.id.removeprefix("m")) for meld in state.melds), default=0)
    return state


def _untaken(state: TrancaState) -> list[list[str]]:
    """The pozzetti of a position that does not name them: one for each that nobody took."""
    return [["x"] * HAND_SIZE] * state.taken.count(None)


def _on_table(cards: list[Card], options: Options) -> tuple[Card, ...]:
    """A meld that lies in a position, even one that could not be laid under the options of the case."""
    try:
        return arranged(cards, options)
    except IllegalAction:
        return tuple(cards)


def _do(state: TrancaState, action: list[Any]) -> TrancaState:
    """The state after one line of `when`. Raises IllegalAction."""
    seat, verb, *arguments = action
    after: TrancaState
    if verb == "setup":
        after = engine.new_match(state.ruleset, state.seats, state.dealer, _SHUFFLER).state
    elif verb == "layreds":
        after = engine.copy(state)
        lay_dealt_red_threes(after, state.turn, [])
    else:
        after = engine.apply(state, seat, _ACTIONS[verb](*arguments), _SHUFFLER).state
    return after


def _take_discard(how: Mapping[str, Any] | None = None) -> Action:
    how = dict(how or {})
    action = TakeDiscard(meld=how.pop("meld", None), cards=tuple(_cards(how.pop("new", []))))
    if how:
        raise ValueError(f"take_discard: unknown {', '.join(map(str, how))}")
    return action


_ACTIONS: Final[dict[str, Callable[..., Action]]] = {
    "draw_stock": DrawStock,
    "redraw": Redraw,
    "take_discard": _take_discard,
    "meld": lambda cards: Meld(tuple(_cards(cards))),
    "add": lambda meld, cards: Add(meld, tuple(_cards(cards))),
    "discard": lambda card: Discard(parse_card(card)),
    "keep": Keep,
}


def _compare(state: TrancaState, refused: str | None, then: Given) -> str | None:
    if refused != then.get("err"):
        return f"err: {refused}, expected {then.get('err')}"
    for field, expected in then.items():
        if field != "err":
            found = _FIELDS[field](state, expected)
            if found != _normal(field, expected):
                return f"{field}: {found}, expected {expected}"
    return None


def _normal(field: str, expected: Any) -> Any:
    """What is compared as a multiset, sorted."""
    if field in ("hand", "melds"):
        return {key: sorted(cards) for key, cards in expected.items()}
    if field == "red":
        return [sorted(cards) for cards in expected]
    return expected


def _phase(state: TrancaState, expected: object) -> str:
    return "over" if state.phase in _OVER else state.phase.name.lower()


def _melds(state: TrancaState, expected: Given) -> dict[str, list[str]]:
    return {meld.id: sorted(_texts(meld.cards)) for meld in state.melds if meld.id in expected}


def _canastas(state: TrancaState, expected: Given) -> dict[str, str | None]:
    return {m.id: None if m.canasta == "none" else m.canasta for m in state.melds if m.id in expected}


def _closed(state: TrancaState, expected: object) -> int | None:
    return state.last_round.winner if state.last_round is not None else None


def _points(state: TrancaState, expected: object) -> list[int] | None:
    return list(state.last_round.points) if state.last_round is not None else None


def _winner(state: TrancaState, expected: object) -> int | None:
    """The partnership that won the match; None while it goes on, and for a draw."""
    result = engine.outcome(state)
    winners = {result.partnerships[seat] for seat in result.winners} if result is not None else set()
    return winners.pop() if len(winners) == 1 else None


_FIELDS: Final[dict[str, Callable[[TrancaState, Any], Any]]] = {
    "turn": lambda state, expected: state.turn,
    "dealer": lambda state, expected: state.dealer,
    "phase": _phase,
    "size": lambda state, expected: {seat: len(state.hands[seat]) for seat in expected},
    "hand": lambda state, expected: {seat: sorted(_texts(state.hands[seat])) for seat in expected},
    "melds_n": lambda state, expected: len(state.melds),
    "melds": _melds,
    "canasta": _canastas,
    "stock_n": lambda state, expected: len(state.stock),
    "pile_n": lambda state, expected: len(state.pile[:-1]),
    "discard": lambda state, expected: _texts(state.pile),
    "pozzetti_n": lambda state, expected: len(state.pozzetti),
    "took": lambda state, expected: state.taken,
    "used": lambda state, expected: state.used,
    "red": lambda state, expected: [sorted(_texts(laid)) for laid in state.red_threes],
    "closed": _closed,
    "scores": _points,
    "total": lambda state, expected: state.scores,
    "winner": _winner,
}


def _texts(cards: Iterable[Card]) -> list[str]:
    return [c.text() for c in cards]


def _cards(texts: list[str]) -> list[Card]:
    return [_ANY_CARD if text == "x" else parse_card(text) for text in texts]

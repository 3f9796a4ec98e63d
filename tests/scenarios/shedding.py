"""Plays a scenario case of Mau-Mau or UNO against the engine and says what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from services.rules import engine
from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Concede,
    Draw,
    JumpIn,
    Pass,
    Play,
    PlayMany,
    React,
    Speak,
    Word,
)
from services.rules.cards import Card, Rank, Suit, parse_card
from services.rules.reasons import IllegalAction, Reason
from services.rules.registry import game_of_preset
from services.rules.ruleset import Ruleset, make_ruleset
from services.rules.shedding import deal
from services.rules.shedding.compiled import rules_of
from services.rules.shedding.fit import breaks_four_test
from services.rules.shedding.scoring import hand_points, round_places
from services.rules.shedding.state import Debt, State, copy, seats_from
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase

SHUFFLER: Final = SeededShuffler("scenario")
SUITS: Final = {suit.letter: suit for suit in Suit}
OVER: Final = (Phase.ROUND_OVER, Phase.MATCH_OVER)

Given = Mapping[str, Any]


class CaseError(ValueError):
    """The case itself is wrong: an unknown verb, key or value."""


def run_case(ruleset_name: str, case: Given) -> str | None:
    """None where the case holds, else what differs."""
    preset = case.get("ruleset") or ruleset_name
    ruleset = make_ruleset(preset, _options(preset, case.get("options") or {}))
    state = position(ruleset, case.get("given") or {})
    when, then = case["when"], case["then"]
    for number, step in enumerate(when, 1):
        stored = engine.encode(state)
        try:
            state = _do(state, step)
        except IllegalAction as refusal:
            if engine.encode(state) != stored:
                return f"{step}: refused, but the state changed"
            if number < len(when):
                return f"{step}: refused with {refusal.reason.name}"
            return _compare(state, refusal.reason.name, then)
    return _compare(state, None, then)


def _options(preset: str, options: Given) -> dict[str, object]:
    """YAML reads an unquoted `off` as false and an unquoted rank of a map as a number."""
    known = game_of_preset(preset).options
    chosen: dict[str, object] = {}
    for key, value in options.items():
        if value is False and key in known and "off" in known[key].values:
            value = "off"
        elif isinstance(value, Mapping):
            value = {str(name): inner for name, inner in value.items()}
        chosen[key] = value
    return chosen


def position(ruleset: Ruleset, given: Given) -> State:
    """The start position of a case."""
    unknown = set(given) - set(GIVEN)
    if unknown:
        raise CaseError(f"unknown key in given: {', '.join(sorted(map(str, unknown)))}")
    s = deal.blank(rules_of(ruleset), given["n"], given.get("dealer", 0))
    for key, value in sorted(given.items(), key=lambda item: ORDER.index(item[0])):
        GIVEN[key](s, value)
    if s.debt and s.kind is None:
        s.kind = _kind_by_top(s)
    return s


def _kind_by_top(s: State) -> Debt:
    if not s.rules.is_uno:
        return Debt.SEVEN
    return Debt.WILD_DRAW_FOUR if s.top.rank is Rank.WILD_DRAW_FOUR else Debt.DRAW_TWO


def _set(name: str, read: Callable[[Any], Any] = lambda value: value) -> Callable[[State, Any], None]:
    def set_field(s: State, value: Any) -> None:
        setattr(s, name, read(value))

    return set_field


def _set_hands(s: State, value: list[list[str]]) -> None:
    if len(value) != s.seats:
        raise CaseError(f"hands of {len(value)} seats, n = {s.seats}")
    s.hands = [_cards(hand) for hand in value]


def _set_said(s: State, value: Mapping[int, str | None]) -> None:
    for seat, word in value.items():
        s.said[seat] = None if word is None else Word(word)


def _set_drew(s: State, value: str | None) -> None:
    s.has_drawn = value is not None
    s.drew = None if value in (None, "none") else parse_card(str(value))


def _set_phase(s: State, value: str) -> None:
    """What a phase waits for follows from the rest of the position."""
    s.phase = Phase[value.upper()]
    if s.phase is Phase.REACT:
        s.waiting = list(range(s.seats))
    elif s.phase is Phase.CONTEST:
        s.finisher = next(seat for seat, hand in enumerate(s.hands) if not hand)
        s.waiting = seats_from(s, s.finisher)
    elif s.phase is Phase.CHOOSE:
        s.chooser = s.turn
    elif s.phase is Phase.CHALLENGE:
        s.guilty = _was_guilty(s)


def _was_guilty(s: State) -> bool:
    """Judged by the card below the Wild Draw Four on top; innocent where the position does not say who played it."""
    if s.last is None or not s.pile:
        return False
    before = copy(s)
    before.top, before.wish = s.pile[-1], None
    return breaks_four_test(before, s.last, s.top)


def _kind(value: Any) -> Debt | None:
    """YAML reads an unquoted `+2` as 2."""
    return None if value is None else Debt({2: "+2", 4: "+4"}.get(value, str(value)))


def _cards(texts: list[str]) -> list[Card]:
    return [parse_card(str(text)) for text in texts]


def _suit(letter: str | None) -> Suit | None:
    return None if letter is None else SUITS[letter]


GIVEN: Final[dict[str, Callable[[State, Any], None]]] = {
    "n": lambda s, value: None,
    "dealer": lambda s, value: None,
    "dir": _set("direction"),
    "top": _set("top", lambda text: parse_card(str(text))),
    "pile": _set("pile", _cards),
    "stock": _set("stock", lambda texts: _cards(texts)[::-1]),
    "hands": _set_hands,
    "turn": _set("turn"),
    "pend": _set("debt"),
    "kind": _set("kind", _kind),
    "wish": _set("wish", _suit),
    "drew": _set_drew,
    "said": _set_said,
    "exposed": _set("exposed"),
    "last": _set("last"),
    "scores": _set("scores", list),
    "idle": _set("idle"),
    "phase": _set_phase,
}
ORDER: Final = list(GIVEN)


def _do(s: State, step: list[Any]) -> State:
    """The state after one step of `when`. Raises IllegalAction."""
    seat, verb, *arguments = step
    if verb == "setup":
        return _setup(s)
    if verb == "start":
        after = engine.copy(s)
        assert isinstance(after, State)
        after.chance = SHUFFLER
        deal.start(after)
        after.chance = None
        return after
    if verb not in ACTIONS:
        raise CaseError(f"unknown verb {verb}")
    after = engine.apply(s, seat, ACTIONS[verb](*arguments), SHUFFLER).state
    assert isinstance(after, State)
    return after


def _setup(s: State) -> State:
    ruleset = s.rules.ruleset
    if not ruleset.min_seats <= s.seats <= ruleset.max_seats:
        raise IllegalAction(Reason.PLAYER_COUNT)
    dealt = deal.blank(s.rules, s.seats, s.dealer)
    dealt.chance = SHUFFLER
    deal.deal(dealt)
    dealt.chance = None
    return dealt


ARGUMENTS: Final[dict[str, Callable[[Any], Any]]] = {
    "wish": _suit,
    "call": lambda word: None if word is None else Word(word),
    "target": lambda seat: seat,
    "give": lambda texts: tuple(_cards(texts or [])),
}


def _data(arguments: Given | None, allowed: tuple[str, ...]) -> dict[str, Any]:
    unknown = set(arguments or {}) - set(allowed)
    if unknown:
        raise CaseError(f"unknown argument: {', '.join(sorted(map(str, unknown)))}")
    return {key: ARGUMENTS[key](value) for key, value in (arguments or {}).items()}


def _card_action(make: Callable[..., Action]) -> Callable[..., Action]:
    def action(card: str, arguments: Given | None = None) -> Action:
        return make(parse_card(str(card)), **_data(arguments, ("wish", "call", "target", "give")))

    return action


def _play_many(cards: list[str], arguments: Given | None = None) -> Action:
    return PlayMany(tuple(_cards(cards)), **_data(arguments, ("call", "target", "give")))


ACTIONS: Final[dict[str, Callable[..., Action]]] = {
    "play": _card_action(Play),
    "play_many": _play_many,
    "jump_in": _card_action(JumpIn),
    "draw": Draw,
    "pass": Pass,
    "call": lambda word: Call(Word(word)),
    "accuse": lambda target=None: Accuse(target),
    "challenge": Challenge,
    "accept": Accept,
    "choose": lambda suit: Choose(SUITS[suit]),
    "concede": Concede,
    "react": React,
    "speak": Speak,
}


def _compare(s: State, refused: str | None, then: Given) -> str | None:
    unknown = set(then) - set(FIELDS) - {"err"}
    if unknown:
        raise CaseError(f"unknown key in then: {', '.join(sorted(map(str, unknown)))}")
    if refused != then.get("err"):
        return f"err: {refused}, expected {then.get('err')}"
    for field, expected in then.items():
        if field != "err":
            found = FIELDS[field](s, expected)
            if found != _normal(field, expected):
                return f"{field}: {found}, expected {expected}"
    return None


def _normal(field: str, expected: Any) -> Any:
    if field == "hand":
        return {seat: sorted(map(str, cards)) for seat, cards in expected.items()}
    if field == "kind":
        kind = _kind(expected)
        return kind and kind.value
    return expected


def _match_winner(s: State, expected: object) -> int | list[int] | None:
    outcome = engine.outcome(s)
    if outcome is None:
        return None
    return outcome.winners[0] if len(outcome.winners) == 1 else list(outcome.winners)


def _held_points(s: State, expected: object) -> list[int] | None:
    last = s.last_round
    return [hand_points(s, hand) for hand in last.hands] if last is not None and s.phase in OVER else None


FIELDS: Final[dict[str, Callable[[State, Any], Any]]] = {
    "turn": lambda s, expected: s.turn,
    "dir": lambda s, expected: s.direction,
    "top": lambda s, expected: s.top.text(),
    "pend": lambda s, expected: s.debt,
    "kind": lambda s, expected: s.kind and s.kind.value,
    "wish": lambda s, expected: s.wish and s.wish.letter,
    "phase": lambda s, expected: "round_over" if s.phase in OVER else s.phase.name.lower(),
    "exposed": lambda s, expected: s.exposed,
    "drew": lambda s, expected: s.drew.text() if s.drew else "none" if s.has_drawn else None,
    "last": lambda s, expected: s.last,
    "dealer": lambda s, expected: s.dealer,
    "idle": lambda s, expected: s.idle,
    "said": lambda s, expected: {seat: s.said[seat] and s.said[seat].value for seat in expected},
    "size": lambda s, expected: {seat: len(s.hands[seat]) for seat in expected},
    "hand": lambda s, expected: {seat: sorted(card.text() for card in s.hands[seat]) for seat in expected},
    "stock_n": lambda s, expected: len(s.stock),
    "pile_n": lambda s, expected: len(s.pile),
    "winner": lambda s, expected: s.last_round.winner if s.last_round is not None and s.phase in OVER else None,
    "points": _held_points,
    "scores": lambda s, expected: list(s.scores),
    "rank": lambda s, expected: list(round_places(s)) if s.phase in OVER else None,
    "match": _match_winner,
}

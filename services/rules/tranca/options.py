"""The switches of Tranca, each declared once, and their compiled form.

The first preset, `tranca`, is the game as the oldest description has it: only runs of seven are canastas, and a deal
is closed with a clean one. `tranca-jogatina` is the game of today's Brazilian sites: sets count as canastas, a dirty
one is enough to close, and deals are added up to 2000 points.

`options_of` turns a ruleset's flat map into an `Options` value once; everything else in this package reads that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from services.rules.cards import PACKS, Card, Rank
from services.rules.ruleset import GameRules, Option, Ruleset, Value

WildLimit = int | Literal["half"]

_MOST: Final = 100_000
"""No bonus, penalty, minimum or target above this: far past any score, and small enough for every integer type."""


def _number(key: str, default: int, sentence: str, source: str, least: int = 0) -> Option:
    return Option(
        key,
        default,
        sentence,
        source,
        check=lambda value: _whole(value, least),
        expected=f"a whole number from {least} to {_MOST}",
    )


def _whole(value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise ValueError(value)
    return value


def _target(value: object) -> Value:
    return "single" if value == "single" else _whole(value, 1)


def _first_meld(value: object) -> Value:
    if value == "none":
        return "none"
    if not isinstance(value, Mapping) or set(value) != {"from", "points"}:
        raise ValueError(value)
    return {"from": _whole(value["from"], -_MOST), "points": _whole(value["points"], 1)}


_OPTIONS: Final = (
    Option(
        "players",
        4,
        "Seats: four in two partnerships, or two of whom each is a partnership of one.",
        "S000",
        values=(2, 4),
    ),
    Option(
        "melds.maxWilds",
        1,
        "Twos in one meld: a number, or `half`: no more twos than natural cards.",
        "MUN, PJ; EDG",
        values=(1, 2, "half"),
    ),
    Option("melds.sets", True, "Whether cards of one rank are a meld.", "S000", values=(False, True)),
    Option(
        "melds.duplicateSets",
        True,
        "Whether a partnership may have more than one set of a rank.",
        "GVM",
        values=(False, True),
    ),
    Option(
        "melds.wildSlides",
        True,
        "Whether a two may move to another place of its run when cards are added.",
        "MUN",
        values=(False, True),
    ),
    Option(
        "melds.first",
        "none",
        "The least worth (`points`) of a partnership's first meld in a deal, once its score is `from` or more.",
        "EDG",
        check=_first_meld,
        expected=f"`none`, or `from` (-{_MOST} to {_MOST}) and `points` (1 to {_MOST})",
    ),
    Option(
        "canasta.types",
        "runs",
        "Which melds of seven cards are canastas.",
        "S000; GVT, EB",
        values=("runs", "runs_and_sets"),
        defaults={"tranca-jogatina": "runs_and_sets"},
    ),
    Option(
        "close.requires",
        "clean",
        "The canasta without which a partnership may not close the deal.",
        "S000; JOG",
        values=("clean", "any", "none"),
        defaults={"tranca-jogatina": "any"},
    ),
    Option(
        "close.discard",
        "free",
        "Whether the deal may only be closed with a discard.",
        "S000, PJ",
        values=("free", "required"),
    ),
    Option(
        "score.cards",
        "buraco",
        "What cards are worth: Buraco's values, their numbers (ace 1, jack 30, queen and king 10), or ten each.",
        "PAG, TCC; S000; TSR",
        values=("buraco", "number_value", "flat10"),
    ),
    _number("bonus.clean", 200, "Points for a clean canasta.", "PTB, TCC"),
    _number("bonus.dirty", 100, "Points for a dirty canasta.", "PTB, TCC"),
    _number("bonus.close", 100, "Points for closing the deal.", "S000"),
    _number("bonus.fullRun", 0, "Extra points for a run from four to ace without a two.", "BP, EB"),
    _number("penalty.pozzetto", 100, "Points lost for a pozzetto not taken, or taken and not used.", "S000"),
    Option(
        "pozzetto.unusedCardsCount",
        False,
        "Whether the cards of a pozzetto taken and not used count against its partnership.",
        "S000",
        values=(False, True),
    ),
    _number("redThree.points", 100, "Points for a red three: won with a canasta, lost without one.", "S000"),
    _number("redThree.allFour", 0, "Extra points for all four red threes, won or lost like these.", "Canasta"),
    Option("redThree.replace", True, "Whether a card is drawn for a red three.", "Canasta", values=(False, True)),
    Option(
        "blackThree.inHand",
        -100,
        "Points for a black three left in a hand.",
        "TCC, TSR, EDG; PAG",
        values=(-100, -5),
    ),
    Option(
        "discard.justify",
        True,
        "Whether the pile may only be taken by using its top card at once.",
        "S000, JOG",
        values=(False, True),
    ),
    Option(
        "discard.naturalsOnly",
        False,
        "Whether the cards of the hand that are melded with the top card must be without a two.",
        "own",
        values=(False, True),
    ),
    Option(
        "discard.visible",
        "top",
        "How much of the pile everybody sees.",
        "JOG, GVB",
        values=("top", "all"),
    ),
    Option(
        "stock.empty",
        "pozzetto_becomes_stock",
        "What happens when a card is due and the stock is empty.",
        "GVB, TCC; CO",
        values=("pozzetto_becomes_stock", "end_deal"),
    ),
    Option(
        "first.player", "left", "Who begins: the dealer's left, or the dealer.", "TCC; MJB", values=("left", "dealer")
    ),
    Option(
        "first.redraw",
        False,
        "Whether the first player may throw the first card drawn and draw again.",
        "TCC, MJB, APCEF",
        values=(False, True),
    ),
    Option(
        "match.target",
        "single",
        "One deal, or the score that ends the match.",
        "S000; MUN, TCC",
        defaults={"tranca-jogatina": 2000},
        check=_target,
        expected=f"`single`, or a score from 1 to {_MOST}",
    ),
)


def _seats(options: Mapping[str, Value]) -> tuple[int, int]:
    players = options["players"]
    assert isinstance(players, int)
    return players, players


def _no_conflict(options: Mapping[str, Value]) -> None:
    """Every mix of these options can be played."""


RULES: Final = GameRules(
    game="tranca",
    title="Tranca",
    presets=("tranca", "tranca-jogatina"),
    options={option.key: option for option in _OPTIONS},
    conflicts=_no_conflict,
    seats=_seats,
)


class Options(msgspec.Struct, frozen=True):
    """The options of one ruleset as the rules read them. `values` is the worth of each card by its code; points are
    whole numbers; `first_from` and `target` are None where there is no minimum or only one deal."""

    max_wilds: WildLimit
    sets: bool
    duplicate_sets: bool
    wild_slides: bool
    first_from: int | None
    first_points: int
    set_canastas: bool
    close_requires: str
    close_by_discard: bool
    values: tuple[int, ...]
    clean: int
    dirty: int
    close: int
    full_run: int
    no_pozzetto: int
    count_unused: bool
    red_three: int
    all_red_threes: int
    replace_red_threes: bool
    black_three: int
    justify: bool
    naturals_only: bool
    show_pile: bool
    pozzetto_as_stock: bool
    dealer_begins: bool
    redraw: bool
    target: int | None


def options_of(ruleset: Ruleset) -> Options:
    """The compiled options, made once for each ruleset object."""
    compiled = ruleset.compiled.get("options")
    if compiled is None:
        compiled = ruleset.compiled["options"] = _compile(ruleset.options)
    assert isinstance(compiled, Options)
    return compiled


def _compile(options: Mapping[str, Any]) -> Options:
    first = options["melds.first"]
    target = options["match.target"]
    return Options(
        max_wilds=options["melds.maxWilds"],
        sets=options["melds.sets"],
        duplicate_sets=options["melds.duplicateSets"],
        wild_slides=options["melds.wildSlides"],
        first_from=None if first == "none" else first["from"],
        first_points=0 if first == "none" else first["points"],
        set_canastas=options["canasta.types"] == "runs_and_sets",
        close_requires=options["close.requires"],
        close_by_discard=options["close.discard"] == "required",
        values=_values_by_code(_WORTH[options["score.cards"]]),
        clean=options["bonus.clean"],
        dirty=options["bonus.dirty"],
        close=options["bonus.close"],
        full_run=options["bonus.fullRun"],
        no_pozzetto=options["penalty.pozzetto"],
        count_unused=options["pozzetto.unusedCardsCount"],
        red_three=options["redThree.points"],
        all_red_threes=options["redThree.allFour"],
        replace_red_threes=options["redThree.replace"],
        black_three=options["blackThree.inHand"],
        justify=options["discard.justify"],
        naturals_only=options["discard.naturalsOnly"],
        show_pile=options["discard.visible"] == "all",
        pozzetto_as_stock=options["stock.empty"] == "pozzetto_becomes_stock",
        dealer_begins=options["first.player"] == "dealer",
        redraw=options["first.redraw"],
        target=None if target == "single" else target,
    )


def _buraco(rank: Rank) -> int:
    if rank is Rank.ACE:
        return 15
    return 10 if rank is Rank.TWO or rank.value >= Rank.EIGHT.value else 5


def _number_value(rank: Rank) -> int:
    courts = {Rank.ACE: 1, Rank.JACK: 30, Rank.QUEEN: 10, Rank.KING: 10}
    return courts.get(rank, rank.value)


def _flat10(rank: Rank) -> int:
    return 10


_WORTH: Final[dict[str, Callable[[Rank], int]]] = {
    "buraco": _buraco,
    "number_value": _number_value,
    "flat10": _flat10,
}


def _values_by_code(worth: Callable[[Rank], int]) -> tuple[int, ...]:
    """Threes are never counted by this table: red ones lie on the table, black ones have their own option."""
    pack: tuple[Card, ...] = PACKS["french52"]
    values = [0] * (1 + max(c.code for c in pack))
    for c in pack:
        values[c.code] = worth(c.rank)
    return tuple(values)

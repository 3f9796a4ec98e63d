"""Every switch of Mau-Mau 32, Mau-Mau Brasil and UNO, each declared once in one of the `option_rows` modules.

A row names the key, what may be chosen, and the value of each preset: `a` is Mau-Mau 32, `b` Mau-Mau Brasil, `uno`
the literal seed, `mattel` and `casa` the two UNO presets where they differ from it. A game without a column does not
have the option. The presets and games themselves are declared in `mau_mau_32.py`, `mau_mau_brasil.py` and `uno.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from services.rules.cards import PACKS
from services.rules.ruleset import Option, RulesetError, Value
from services.rules.shedding.option_row import Column, Row
from services.rules.shedding.option_rows_house import GROUPS, JUMP_IN, NUMBERS, WILD_DRAW_FOUR
from services.rules.shedding.option_rows_last_card import CALLS, FINISH
from services.rules.shedding.option_rows_table import EFFECTS, SCORING, SET_UP, TURN

FRENCH_PACKS: Final = ("piquet32", "french36", "french52")

ROWS: Final = (
    *SET_UP,
    *TURN,
    *EFFECTS,
    *FINISH,
    *CALLS,
    *WILD_DRAW_FOUR,
    *JUMP_IN,
    *NUMBERS,
    *GROUPS,
    *SCORING,
)

Game = Literal["a", "b", "uno"]


def options_of(game: Game, pack: str, packs: tuple[str, ...]) -> dict[str, Option]:
    """The options of one game, in the order of their rows, led by the pack that it is played with."""
    options = {
        "deck.pack": Option("deck.pack", pack, "The pack of cards.", "S001; S002; S004U; ENW, LG", values=packs),
    }
    for row in ROWS:
        default: Column = getattr(row, game)
        if default is not None:
            options[row.key] = _option(row, game, default)
    return options


def _option(row: Row, game: Game, default: Value) -> Option:
    others = {"uno-mattel": row.mattel, "uno-casa": row.casa} if game == "uno" else {}
    check = row.check[game] if isinstance(row.check, Mapping) else row.check
    return Option(
        row.key,
        check(default) if check else default,
        row.sentence,
        row.source,
        values=row.choices,
        defaults={preset: value for preset, value in others.items() if value is not None},
        check=check,
        expected=row.expected,
    )


def seats(options: Mapping[str, Value]) -> tuple[int, int]:
    """Fewest and most seats."""
    return _int(options, "players.min"), _int(options, "players.max")


def conflicts(options: Mapping[str, Value]) -> None:
    """Refuses mixes that cannot work. Raises RulesetError (OPTIONS_CONFLICT) with the keys named."""
    low, high = seats(options)
    if low > high:
        raise _conflict(options, ("players.min", "players.max"), "players.min not above players.max")
    held = len(PACKS[str(options["deck.pack"])]) * _int(options, "deck.copies")
    if high * _int(options, "deal.hand") + 1 > held:
        keys = ("players.max", "deal.hand", "deck.pack", "deck.copies")
        raise _conflict(options, keys, f"hands and a start card that {held} cards are enough for")
    if options["score.mode"] == "own_points_rank" and isinstance(options["match.target"], int):
        expected = '"single" or "rounds:k", or another score.mode for a number of points'
        raise _conflict(options, ("match.target", "score.mode"), expected)


def _conflict(options: Mapping[str, Value], keys: tuple[str, ...], expected: str) -> RulesetError:
    return RulesetError("OPTIONS_CONFLICT", keys, tuple(options[key] for key in keys), expected)


def _int(options: Mapping[str, Value], key: str) -> int:
    value = options[key]
    assert isinstance(value, int), key
    return value

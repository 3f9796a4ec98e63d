"""Every switch of Mau-Mau 32, Mau-Mau Brasil and UNO, each declared once.

A row names the key, what may be chosen, and the value of each preset: `a` is Mau-Mau 32, `b` Mau-Mau Brasil, `uno`
the literal seed, `mattel` and `casa` the two UNO presets where they differ from it. A game without a column does not
have the option. The presets and games themselves are declared in `mau_mau_32.py`, `mau_mau_brasil.py` and `uno.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from services.rules.cards import PACKS
from services.rules.ruleset import Option, RulesetError, Value
from services.rules.shedding import option_values as values

Choice = bool | int | str
Column = Value | None
Checked = Callable[[object], Value]


@dataclass(frozen=True)
class Row:
    """One option with a column a preset. `choices` lists the values, or `check` and `expected` tell what is right."""

    key: str
    choices: tuple[Choice, ...]
    sentence: str
    source: str
    a: Column = None
    b: Column = None
    uno: Column = None
    mattel: Column = None
    casa: Column = None
    check: Mapping[str, Checked] | Checked | None = None
    expected: str = ""


YES_NO: Final = (False, True)
WINDOW: Final = ("next_action", "next_discard_or_pass", "round")
FRENCH_PACKS: Final = ("piquet32", "french36", "french52")

SET_UP: Final = (
    Row("deck.copies", (1, 2), "How many packs are shuffled together.", "S002; ENW", 1, 2, 1),
    Row("players.min", tuple(range(2, 11)), "The fewest seats.", "S001-S004", 2, 4, 2),
    Row("players.max", tuple(range(2, 11)), "The most seats.", "S001-S004", 4, 8, 10),
    Row("deal.hand", (4, 5, 6, 7), "Cards dealt to each seat.", "S001-S004; ENW, COPAG", 5, 5, 7),
    Row(
        "deal.rotation",
        ("left", "winner", "loser"),
        "Who deals next: the seat to the left, the winner, or who held most points.",
        "SPF",
        "left",
        "left",
        "left",
    ),
    Row(
        "start.effect",
        ("none", "as_dealer_play", "as_first_player_discard", "reflip_special"),
        "What the start card does: nothing, what it would do if the dealer or the first player had played it, "
        "or a special card goes back.",
        "S002, S004U; DEW; LG",
        "none",
        "as_first_player_discard",
        "as_dealer_play",
    ),
    Row(
        "start.wild",
        ("first_player_chooses", "dealer_chooses", "reflip"),
        "Who names the colour of a start Wild, or whether it goes back.",
        "S004U; M08",
        uno="first_player_chooses",
    ),
    Row(
        "start.reverse",
        ("dealer_right_first", "dealer_first"),
        "Who moves first after a start Reverse.",
        "S004U, M112; M08",
        uno="dealer_right_first",
        mattel="dealer_first",
    ),
)

TURN: Final = (
    Row(
        "draw.mode",
        ("one", "until_playable", "up_to_three"),
        "How many cards a voluntary draw takes: one, as many as it needs, or three at most.",
        "S001-S004; COPAG, M08",
        "one",
        "one",
        "one",
    ),
    Row(
        "draw.play",
        ("drawn_only", "any", "none"),
        "What may be played after drawing: the drawn card, any card, or nothing.",
        "S001; S002; SPF",
        "drawn_only",
        "any",
        "drawn_only",
    ),
    Row("draw.voluntary", YES_NO, "Drawing is allowed although a card fits.", "S001, S002, S004U", True, True, True),
    Row(
        "illegalPlay",
        ("refuse", "penalty"),
        "A card that does not fit is refused, or taken back with two more cards.",
        "S004U",
        "refuse",
        "refuse",
        "refuse",
    ),
    Row(
        "reverse.twoPlayers",
        ("pass", "again"),
        "With two seats a reversing card passes the turn, or its player moves again.",
        "S004U; SPIN",
        "pass",
        "pass",
        "again",
    ),
    Row(
        "exhaust.blocked",
        ("void", "lowest_hand_wins", "rank_by_points"),
        "A round in which nobody can play or draw counts for nobody, for the lowest hand, or is ranked by points.",
        "MOLD",
        "void",
        "rank_by_points",
        "void",
    ),
)

EFFECTS: Final = (
    Row(
        "effects",
        (),
        "What each rank does; a rank that is not named does nothing.",
        "S001; S002",
        {"7": "draw", "8": "skip", "9": "reverse", "J": "wish"},
        {"7": "draw", "9": "prevdraw", "J": "wish", "Q": "reverse", "A": "skip"},
        check=values.effects_by_rank,
        expected="a map of ranks (2 to 10, J, Q, K, A) to draw, skip, reverse, wish, prevdraw, again, copy or none",
    ),
    Row(
        "effects.byCard",
        (),
        "What single cards do instead of their rank's effect.",
        "KSN",
        {},
        {},
        check=values.effects_by_card,
        expected="a map of cards (KH, TD) to take1 to take9 or an effect of a rank",
    ),
    Row("seven.amount", (1, 2, 3), "Cards that a seven makes the next seat take.", "S001; CAND, FOLHA", 2, 2),
    Row(
        "seven.stack",
        ("off", "optional", "forced"),
        "A seven may be answered with a seven, must be, or cannot be.",
        "S001, S002",
        "optional",
        "optional",
    ),
    Row("seven.growth", ("add", "double"), "A seven on a debt adds to it, or doubles it.", "SPIN", "add", "add"),
    Row(
        "seven.afterTake",
        ("lose_turn", "may_play"),
        "Taking the cards of a seven ends the turn, or a turn follows.",
        "S001, S002; CHM, CGH",
        "lose_turn",
        "lose_turn",
    ),
    Row("skip.counter", YES_NO, "A skip may be passed on with another skip.", "SPIN, LCG", False, False),
    Row("wild.onWild", ("allowed", "forbidden"), "A Jack on a Jack.", "S001, S002; DEW, SPF, MK", "allowed", "allowed"),
    Row(
        "wild.onSeven",
        ("wild", "suit_only", "never"),
        "A Jack on a seven is wild, must match the suit, or is refused.",
        "S001; S002; RAD",
        "wild",
        "suit_only",
    ),
    Row("prevDraw.amount", (1, 2), "Cards that the previous player takes.", "S002, COPAG", b=1),
    Row(
        "prevDraw.target",
        ("seat", "last_actor"),
        "The previous player is the seat before, or whoever played the card below.",
        "S002",
        b="seat",
    ),
)

FINISH: Final = (
    Row(
        "finish.lastCardEffects",
        YES_NO,
        "A last card that makes others draw still does so before the points are counted.",
        "S001; M08",
        False,
        False,
        True,
    ),
    Row(
        "finish.onWild",
        ("allowed", "forbidden"),
        "A wild card as the last card.",
        "S004U",
        "allowed",
        "allowed",
        "allowed",
        casa="forbidden",
    ),
    Row(
        "finish.onAgain",
        ("allowed", "forbidden"),
        "A card that lets its player move again as the last card.",
        "CHM, MK",
        "allowed",
        "allowed",
    ),
    Row(
        "finish.sevenAnswer",
        YES_NO,
        "A last seven may be answered with a seven: then its player takes what is owed and plays on.",
        "CHM",
        False,
        False,
    ),
)

CALLS: Final = (
    Row(
        "call.timing",
        ("with_or_after", "before_play"),
        "One calls with the play or after it, or must call before it.",
        "S001; S002; M112",
        "with_or_after",
        "before_play",
        "with_or_after",
    ),
    Row("call.finalJack", YES_NO, "A finish with a Jack stands only after Mau Mau.", "S001, S003", True, False),
    Row("call.miss", (1, 2, 3, 4, 5, 7), "Cards for a missed call.", "S003; S002; M112; CAND", 2, 5, 2),
    Row("call.false", (0, 1, 2, 3, 5), "Cards for a call without cause; 0 refuses it.", "S002; DOS, LIVE", 0, 5, 0),
    Row("call.falseEndsTurn", YES_NO, "A call without cause costs the turn too.", "own", False, False, False),
    Row(
        "call.outOfTurn",
        ("refuse", "penalty"),
        "A call out of turn, where one must call before the play.",
        "own",
        "refuse",
        "refuse",
        "refuse",
    ),
    Row(
        "call.late",
        ("accept", "refuse", "penalty"),
        "A call after the play that left one card.",
        "S001; S002; M112",
        "accept",
        "refuse",
        "accept",
    ),
    Row("call.afterDraw", YES_NO, "One must call in a turn in which one drew, too.", "M112; S002", True, True, True),
    Row(
        "call.afterSwap",
        ("actor", "all"),
        "After hands moved, the acting seat must call, or each that received one card.",
        "BEN",
        uno="actor",
    ),
    Row(
        "call.window",
        WINDOW,
        "How long a missed call can be punished.",
        "S002; M08",
        "next_action",
        "next_discard_or_pass",
        "next_action",
    ),
    Row("accuse.false", (0, 1, 5), "Cards for an accusation without cause; 0 refuses it.", "S002; CHM", 0, 5, 0),
    Row(
        "accuse.second",
        ("penalty", "ignore"),
        "Who accuses the right seat second pays, or not.",
        "S002",
        "ignore",
        "penalty",
        "ignore",
    ),
)

WILD_DRAW_FOUR: Final = (
    Row(
        "wd4.enforce",
        ("bluff", "strict"),
        "A Wild Draw Four against its rule may be bluffed with, or is refused.",
        "S004U, M08",
        uno="bluff",
    ),
    Row(
        "wd4.test",
        ("number_or_color", "color_only", "any_playable"),
        "Which other cards of the hand forbid a Wild Draw Four.",
        "S004U; M08",
        uno="number_or_color",
        mattel="color_only",
    ),
    Row("challenge.innocentExtra", (2,), "Cards more for a challenge without cause.", "S004U, M08", uno=2),
    Row("stack.cumulative", YES_NO, "Sets the four other `stack` options.", "S004U", uno=False, casa=True),
    Row(
        "stack.d2onD2",
        ("off", "optional", "forced"),
        "A Draw Two may be answered with a Draw Two, must be, or cannot be.",
        "S004U, M08",
        uno="off",
        casa="optional",
    ),
    Row("stack.d4onD4", YES_NO, "A Wild Draw Four answers another.", "S004U, M08", uno=False, casa=True),
    Row("stack.d2onD4", YES_NO, "A Draw Two of the named colour answers it.", "S004U", uno=False, casa=True),
    Row("stack.d4onD2", YES_NO, "A Wild Draw Four answers a Draw Two.", "S004U", uno=False),
)

JUMP_IN: Final = (
    Row(
        "jumpIn.mode",
        ("off", "identical"),
        "A card identical to the top card may be thrown in out of turn.",
        "S004U, M08; OML, RAD",
        "off",
        "off",
        "off",
        casa="identical",
    ),
    Row(
        "jumpIn.effect",
        ("none", "normal"),
        "A special card thrown in does nothing, or works.",
        "S004U; M08",
        uno="none",
        mattel="normal",
    ),
)

NUMBERS: Final = (
    Row(
        "rule0",
        ("off", "rotate", "swap_may", "swap_must"),
        "After a 0 all hands move on, or its player may or must swap hands.",
        "S004U",
        uno="off",
        casa="rotate",
    ),
    Row("rule7", ("off", "swap", "silence"), "A 7 swaps hands, or forbids talking.", "S004U", uno="off", casa="swap"),
    Row(
        "rule7.silenceUntil",
        ("round_end", "next_seven"),
        "When talking is free again.",
        "S004U; JM",
        uno="round_end",
    ),
    Row("rule9", ("off", "slap", "shout"), "After a 9 the last to react pays.", "S004U", uno="off", casa="slap"),
    Row("rule2", ("off", "give"), "With a 2 one may give two cards away.", "S004U", uno="off", casa="give"),
    Row("rule2.mayEmptyHand", YES_NO, "A gift may be the whole hand.", "own", uno=False),
    Row("rule8", ("off", "again"), "After an 8 its player has another turn.", "S004U", uno="off", casa="again"),
)

GROUPS: Final = (
    Row("group.sequences", YES_NO, "Sequences of one colour may be played.", "S004U", uno=True, mattel=False),
    Row("group.sequenceMin", (2, 3), "The shortest sequence.", "S004U", uno=2),
    Row("group.sequenceFromTop", YES_NO, "A sequence must continue the top card's number.", "own", uno=False),
    Row("group.same", YES_NO, "Two equal cards may be played.", "S004U", uno=True, mattel=False),
    Row("group.mirror", YES_NO, "Two equal numbers of two colours may be played.", "S004U", uno=False, casa=True),
    Row(
        "actionOnAction",
        ("allowed", "same_only"),
        "An action card on an action card of another kind.",
        "S004U",
        uno="allowed",
        casa="same_only",
    ),
    Row("actionOnAction.wilds", YES_NO, "Wilds count as action cards for that.", "S004U", uno=True),
)

SCORING: Final = (
    Row(
        "score.mode",
        ("winner_takes", "own_points_rank", "low_total", "win_points"),
        "The winner takes what the others hold, each keeps the own points (ranked, or summed up to a limit), or a "
        "win is a point.",
        "S001-S004; M08; CHM",
        "winner_takes",
        "own_points_rank",
        "winner_takes",
    ),
    Row(
        "score.values",
        (),
        "What a card left in the hand is worth.",
        "S003; S002; S004U",
        values.POINTS_A,
        values.POINTS_B,
        values.POINTS_C,
        check={
            "a": values.points_table(values.POINTS_A),
            "b": values.points_table(values.POINTS_B),
            "uno": values.points_table(values.POINTS_C),
        },
        expected="a map of ranks to points from 0 to 1000",
    ),
    Row("score.jackFinish", (1, 2), "What a finish with a Jack multiplies the points with.", "PARLETT, SPF", 1, 1),
    Row(
        "score.ties",
        ("shared", "fewer_cards", "seat_order"),
        "Equal points share a place, or fewer cards or the earlier seat decide.",
        "own",
        b="shared",
    ),
    Row(
        "match.target",
        (),
        "When the match ends.",
        "S001-S004; PARLETT",
        150,
        "single",
        500,
        check=values.match_target,
        expected='"single", a number of points from 1 to 100000, or "rounds:1" to "rounds:1000"',
    ),
)

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
        "deck.pack": Option("deck.pack", pack, "The pack of cards.", "S001-S004; ENW, LG", values=packs),
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

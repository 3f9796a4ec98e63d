"""Options about the table: cards, dealing, turns, effects, scoring."""

from __future__ import annotations

from typing import Final

from services.rules.shedding import option_values as values
from services.rules.shedding.option_row import YES_NO, Row

SET_UP: Final = (
    Row("deck.copies", (1, 2), "How many packs are shuffled together.", "S002; ENW", 1, 2, 1),
    Row("players.min", tuple(range(2, 11)), "The fewest seats.", "S001; S002; S004U", 2, 4, 2),
    Row("players.max", tuple(range(2, 11)), "The most seats.", "S001; S002; S004U", 4, 8, 10),
    Row("deal.hand", (4, 5, 6, 7), "Cards dealt to each seat.", "S001; S002; S004U; ENW, COPAG", 5, 5, 7),
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
        "S001; S002; S004U; COPAG, M08",
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

SCORING: Final = (
    Row(
        "score.mode",
        ("winner_takes", "own_points_rank", "low_total", "win_points"),
        "The winner takes what the others hold, each keeps the own points (ranked, or summed up to a limit), or a "
        "win is a point.",
        "S001; S002; S004U; M08; CHM",
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
        "S001; S002; S004U; PARLETT",
        150,
        "single",
        500,
        check=values.match_target,
        expected='"single", a number of points from 1 to 100000, or "rounds:1" to "rounds:1000"',
    ),
)

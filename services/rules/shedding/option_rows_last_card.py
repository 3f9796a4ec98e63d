"""Options about the last card: finishing, calling, accusing."""

from __future__ import annotations

from typing import Final

from services.rules.shedding.option_row import YES_NO, Row

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
        ("next_action", "next_discard_or_pass", "round"),
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

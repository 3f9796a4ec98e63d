"""Options about UNO's Wild Draw Four and house rules, and jumping in."""

from __future__ import annotations

from typing import Final

from services.rules.shedding.option_row import YES_NO, Row

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

"""A ruleset of these games with its options looked up once: what the functions of this package read.

`rules_of(ruleset)` makes it at the first use and keeps it with the ruleset. Attributes are named after what they mean
at the table, and their option stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.rules.actions import Play, Word
from services.rules.cards import COLOURS, FRENCH_SUITS, PACKS, Card, Rank, Suit
from services.rules.ruleset import Ruleset
from services.rules.shedding.effects import Effect, Effects, mau_mau_effects, uno_effects

WILD_RANKS: Final = (Rank.WILD, Rank.WILD_DRAW_FOUR)

NEEDS_MORE: Final = (Effect.COPY, Effect.ROTATE, Effect.SWAP_MAY, Effect.SWAP_MUST, Effect.GIVE)


class Rules:
    """The switches and tables of one ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        options = ruleset.options
        self.ruleset = ruleset
        self.is_uno = ruleset.game == "uno"
        self.is_mau_mau_32 = ruleset.game == "mau-mau-32"
        self._read_cards(options)
        self._read_turn(options)
        self._read_calls(options)
        self._read_scoring(options)
        self._read_mau_mau(options)
        self._read_uno(options)
        self.plays: dict[Card, tuple[Play, ...]] = {
            card: self._ready_plays(card) for card, effect in self.effect.items() if effect not in NEEDS_MORE
        }
        """The plays of a card, one for each suit that a wild may name; not of cards that want a target or more."""
        self.fits: dict[Any, Any] = {}
        """What may be played on what: filled by `fit.py` as it is asked."""

    def _ready_plays(self, card: Card) -> tuple[Play, ...]:
        if card in self.wilds:
            return tuple(Play(card, suit) for suit in self.suits)
        return (Play(card),)

    def _read_cards(self, options: Mapping[str, Any]) -> None:
        self.pack: tuple[Card, ...] = PACKS[options["deck.pack"]] * options["deck.copies"]
        self.faces: tuple[Card, ...] = tuple(dict.fromkeys(self.pack))
        self.suits: tuple[Suit, ...] = COLOURS if self.is_uno else FRENCH_SUITS
        self.hand_size: int = options["deal.hand"]
        self.rotation: str = options["deal.rotation"]
        self.start_effect: str = options["start.effect"]
        self.start_wild: str = options.get("start.wild", "")
        self.start_reverse: str = options.get("start.reverse", "")
        self.effects: Effects = (uno_effects if self.is_uno else mau_mau_effects)(self.faces, options)
        self.effect: dict[Card, Effect] = {card: effect for card, (effect, _) in self.effects.items()}
        self.wilds: frozenset[Card] = frozenset(
            card for card, effect in self.effect.items() if effect is Effect.WISH or card.rank in WILD_RANKS
        )

    def _read_turn(self, options: Mapping[str, Any]) -> None:
        self.draw_mode: str = options["draw.mode"]
        self.draw_limit: int = {"one": 1, "up_to_three": 3, "until_playable": len(self.pack)}[self.draw_mode]
        self.draw_play: str = options["draw.play"]
        self.must_play: bool = not options["draw.voluntary"]
        self.penal_plays: bool = options["illegalPlay"] == "penalty"
        self.reverse_again: bool = options["reverse.twoPlayers"] == "again"
        self.last_card_effects: bool = options["finish.lastCardEffects"]
        self.no_wild_finish: bool = options["finish.onWild"] == "forbidden"
        self.no_again_finish: bool = options.get("finish.onAgain") == "forbidden"
        self.blocked: str = options["exhaust.blocked"]
        self.jump_in: bool = options["jumpIn.mode"] == "identical"
        self.jump_in_works: bool = options.get("jumpIn.effect") == "normal"

    def _read_calls(self, options: Mapping[str, Any]) -> None:
        self.before_play: bool = options["call.timing"] == "before_play"
        self.final_jack: bool = options.get("call.finalJack", False)
        self.words: tuple[Word, ...] = (Word.UNO,) if self.is_uno else (Word.MAU, Word.MAUMAU)
        self.one_word: tuple[Word, ...] = self.words[:1]
        self.miss: int = options["call.miss"]
        self.false_call: int = options["call.false"]
        self.false_call_ends_turn: bool = options["call.falseEndsTurn"]
        self.penal_out_of_turn: bool = options["call.outOfTurn"] == "penalty"
        self.late_call: str = options["call.late"]
        self.call_after_draw: bool = options["call.afterDraw"]
        self.all_call_after_swap: bool = options.get("call.afterSwap") == "all"
        self.window: str = options["call.window"]
        self.false_accusation: int = options["accuse.false"]
        self.second_accusation_free: bool = options["accuse.second"] == "ignore"

    def _read_scoring(self, options: Mapping[str, Any]) -> None:
        self.score_mode: str = options["score.mode"]
        by_rank = options["score.values"]
        self.points: dict[Card, int] = {card: by_rank[card.rank.letter] for card in self.faces}
        self.jack_finish: int = options.get("score.jackFinish", 1)
        self.ties: str = options.get("score.ties", "shared")
        target: int | str = options["match.target"]
        self.target_points: int | None = target if isinstance(target, int) else None
        self.target_rounds: int | None = None
        if isinstance(target, str):
            self.target_rounds = 1 if target == "single" else int(target.removeprefix("rounds:"))
        self.is_single: bool = target == "single"
        self.lowest_wins: bool = self.score_mode in ("own_points_rank", "low_total")

    def _read_mau_mau(self, options: Mapping[str, Any]) -> None:
        self.seven_amount: int = options.get("seven.amount", 0)
        self.seven_stack: str = options.get("seven.stack", "off")
        self.seven_doubles: bool = options.get("seven.growth") == "double"
        self.play_after_take: bool = options.get("seven.afterTake") == "may_play"
        self.seven_answer: bool = options.get("finish.sevenAnswer", False)
        self.skip_counter: bool = options.get("skip.counter", False)
        self.jack_on_jack: bool = options.get("wild.onWild") == "allowed"
        self.jack_on_seven: str = options.get("wild.onSeven", "wild")
        self.previous_amount: int = options.get("prevDraw.amount", 1)
        self.previous_is_last_actor: bool = options.get("prevDraw.target") == "last_actor"

    def _read_uno(self, options: Mapping[str, Any]) -> None:
        self.strict_four: bool = options.get("wd4.enforce") == "strict"
        self.four_test: str = options.get("wd4.test", "")
        self.innocent_extra: int = options.get("challenge.innocentExtra", 0)
        self.two_on_two: str = options.get("stack.d2onD2", "off")
        self.four_on_four: bool = options.get("stack.d4onD4", False)
        self.two_on_four: bool = options.get("stack.d2onD4", False)
        self.four_on_two: bool = options.get("stack.d4onD2", False)
        self.same_action_only: bool = options.get("actionOnAction") == "same_only"
        self.wilds_are_actions: bool = options.get("actionOnAction.wilds", False)
        self.silence_until_seven: bool = options.get("rule7.silenceUntil") == "next_seven"
        self.gift_may_empty: bool = options.get("rule2.mayEmptyHand", False)
        self.sequences: bool = options.get("group.sequences", False)
        self.sequence_least: int = options.get("group.sequenceMin", 2)
        self.sequence_from_top: bool = options.get("group.sequenceFromTop", False)
        self.same: bool = options.get("group.same", False)
        self.mirror: bool = options.get("group.mirror", False)
        self.any_groups: bool = self.sequences or self.same or self.mirror


def rules_of(ruleset: Ruleset) -> Rules:
    """The compiled form, made once for each ruleset."""
    rules = ruleset.compiled.get("shedding")
    if rules is None:
        rules = ruleset.compiled["shedding"] = Rules(ruleset)
    assert isinstance(rules, Rules)
    return rules

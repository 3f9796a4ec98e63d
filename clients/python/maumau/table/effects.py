"""What the cards of Mau-Mau and UNO do at a table, and what follows from that: events tell what happened, the ruleset
what a card is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from maumau.v1 import cards_pb2, events_pb2, room_pb2, rules_pb2

View = room_pb2.SheddingView

_RANKS: Final = dict(zip(range(cards_pb2.RANK_TWO, cards_pb2.RANK_ACE + 1), "23456789TJQKA", strict=True))
_SUITS: Final = {
    cards_pb2.SUIT_CLUBS: "C",
    cards_pb2.SUIT_DIAMONDS: "D",
    cards_pb2.SUIT_HEARTS: "H",
    cards_pb2.SUIT_SPADES: "S",
}
_BY_GAME: Final[dict[str, Mapping[str, str]]] = {
    "mau-mau-32": {"7": "draw", "8": "skip", "9": "reverse", "J": "wish"},
    "mau-mau-brasil": {"7": "draw", "9": "prevdraw", "J": "wish", "Q": "reverse", "A": "skip"},
}
"""By rank, unless a room has other `effects`."""
_UNO: Final = {
    cards_pb2.RANK_DRAW_TWO: "+2",
    cards_pb2.RANK_WILD: "wish",
    cards_pb2.RANK_WILD_DRAW_FOUR: "+4",
}
_DEBT_KINDS: Final = {"+2": "+2", "+4": "+4", "draw": "7"}
_WILD: Final = ("wish", "+4")


def effect_of(card: cards_pb2.Card, ruleset: rules_pb2.Ruleset) -> str:
    """As the options `effects` (`draw`, `skip`, `wish`, `copy`) and `effects.byCard` (`take3`) name it, or `+2` and
    `+4`; `none` for any other card."""
    if card.rank in _UNO:
        return _UNO[card.rank]
    rank = _RANKS.get(card.rank, "")
    by_rank = _table(ruleset, "effects", _BY_GAME.get(ruleset.game, {}))
    return _table(ruleset, "effects.byCard", {}).get(rank + _SUITS.get(card.suit, ""), by_rank.get(rank, "none"))


def _table(ruleset: rules_pb2.Ruleset, key: str, otherwise: Mapping[str, str]) -> Mapping[str, str]:
    return ruleset.options[key].table.entries if key in ruleset.options else otherwise


def settle(
    game: View, before: View, events: Sequence[events_pb2.Event], kinds: Sequence[str], ruleset: rules_pb2.Ruleset
) -> bool:
    """What the cards that were played or turned up in a version left on the table. Whether the view is certain: a card
    that copies does what the card below it would, which no view shows."""
    effect = effect_of(game.top, ruleset)
    if "contest_opened" in kinds and effect != "wish":
        game.phase = room_pb2.PHASE_ANSWER
        del game.waiting[1:]
    if "debt_raised" in kinds and game.debt:
        game.debt_kind = _DEBT_KINDS.get(effect, "hard")
    if any(event.cards_played.jumped_in for event in events) and not _jump_in_works(ruleset) and effect in _WILD:
        game.wish = before.wish
        game.suit = game.wish or game.top.suit
    copies = effect == "copy" and "debt_raised" in kinds
    return not copies and _settle_skip(game, events, kinds, ruleset, effect)


def _jump_in_works(ruleset: rules_pb2.Ruleset) -> bool:
    """Whether a special card does something when it is thrown in."""
    if "jumpIn.effect" in ruleset.options:
        return ruleset.options["jumpIn.effect"].choice == "normal"
    return ruleset.preset == "uno-mattel"


def _settle_skip(
    game: View, events: Sequence[events_pb2.Event], kinds: Sequence[str], ruleset: rules_pb2.Ruleset, effect: str
) -> bool:
    """Where a skip may be passed on, the seat after it is on turn to do so. Whether that is certain: what the start
    card does is another option."""
    counters = "skip.counter" in ruleset.options and ruleset.options["skip.counter"].flag
    if not counters or effect not in ("skip", "copy") or "turn_started" not in kinds:
        return True
    laid = "cards_played" in kinds and not any(event.cards_played.jumped_in for event in events)
    if laid and effect == "skip":
        game.debt_kind = "skip"
    return not ("round_started" in kinds or (laid and effect == "copy"))

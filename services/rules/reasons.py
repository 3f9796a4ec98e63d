"""Why an action is refused: the names of rules.md 1.4 and 5.1, each with one sentence.

`protos/maumau/v1/errors.proto` carries the same names to clients; a test holds the two together.
"""

from __future__ import annotations

from enum import Enum
from typing import Any


class Reason(Enum):
    """Each member's value is its sentence; its name is the reason that travels."""

    # 1, 2: round and phase
    ROUND_OVER = "The round is over."
    MATCH_OVER = "The match is over."
    CONTEST_OPEN = "A finish with a Jack can still be contested."
    CHALLENGE_PENDING = "A Wild Draw Four has to be accepted or challenged first."
    CHOICE_PENDING = "A choice or reaction has to be made first."
    JUMP_IN_CLOSED = "Nobody may jump in now."
    NOTHING_TO_CHALLENGE = "There is no Wild Draw Four to answer."
    NOTHING_TO_CHOOSE = "There is no suit to choose."
    NOTHING_TO_REACT = "There is nothing to react to."
    NOTHING_TO_CONCEDE = "There is nothing to concede."
    # 3: turn
    NOT_YOUR_TURN = "It is another seat's turn."
    NOT_CHALLENGER = "Only the seat that has to draw may challenge."
    # 4, 5, 6: hand, debt, drawn card
    CARD_NOT_IN_HAND = "The card is not in the hand."
    MUST_TAKE_OR_STACK = "Cards are owed: take them, or answer with a card that passes them on."
    MUST_STACK = "Cards are owed and a card of the hand must answer."
    ONLY_DRAWN_CARD = "After drawing, only the drawn card may be played."
    TURN_SPENT = "After drawing, nothing may be played."
    ALREADY_DREW = "A card was already drawn in this turn."
    MUST_DRAW_FIRST = "A card must be drawn first."
    MUST_PLAY = "A card fits and must be played."
    MUST_PLAY_AFTER_CALL = "After the call a card must be played."
    # 7: matching
    ACTION_ON_ACTION = "An action card may only follow an action card of its own kind."
    WD4_NOT_ALLOWED = "The Wild Draw Four may only be played without another choice."
    JACK_ON_JACK = "A Jack may not be played on a Jack."
    JACK_NOT_WILD_ON_SEVEN = "On a seven a Jack is not wild."
    CARD_DOES_NOT_MATCH = "The card matches neither the suit in force nor the top card."
    # 8: data of the play
    WISH_NOT_ALLOWED = "This card names no suit."
    WISH_REQUIRED = "This card must name a suit."
    TARGET_REQUIRED = "This card must name another seat."
    INVALID_TARGET = "The target must be another seat of this table."
    INVALID_GIFT = "The gift must be cards of the hand, of the right number, and leave one."
    # 9, 10: finish, groups, jump-in
    FINISH_FORBIDDEN = "This card may not be the last one."
    INVALID_GROUP = "These cards form no sequence, equal cards or mirror."
    GROUP_NOT_ENABLED = "This kind of group is not played at this table."
    JUMP_IN_DISABLED = "Jumping in is not played at this table."
    JUMP_IN_ON_START_CARD = "Nobody may jump in on the start card."
    JUMP_IN_NOT_IDENTICAL = "Only a card identical to the top card may jump in."
    JUMP_IN_BARRED = "This card was drawn for the top card and may not jump in on it."
    # 11, 12: calls, set-up
    CALL_NOT_ALLOWED = "There is no cause for a call."
    CALL_TOO_LATE = "It is too late for the call."
    ALREADY_CALLED = "The call is already in force."
    NOTHING_TO_ACCUSE = "There is nobody to accuse."
    PLAYER_COUNT = "The game is not played by this number of seats."
    # Tranca (5.1)
    DISCARD_EMPTY = "The discard pile is empty."
    DISCARD_LOCKED = "A black three locks the discard pile."
    NOT_YOUR_MELD = "The meld does not belong to the own partnership."
    TOP_CARD_NOT_JUSTIFIED = "The top card of the pile cannot be used at once like this."
    THREE_NOT_MELDABLE = "Threes never belong to a meld."
    INVALID_MELD = "These cards form no run and no set."
    TOO_MANY_WILDS = "The meld would hold too many wild cards."
    FIRST_MELD_TOO_LOW = "The first meld is worth too little."
    MUST_DISCARD = "A card must be discarded."
    CLEAN_CANASTA_REQUIRED = "Closing needs a canasta that the partnership does not have."
    MUST_KEEP_CARD = "A card that can be discarded must be kept."
    # any game
    ACTION_UNKNOWN = "This game has no such action."

    @property
    def sentence(self) -> str:
        return str(self.value)


class IllegalAction(Exception):  # noqa: N818 - a refusal, not a fault
    """An action that the rules refuse. The state is as it was. `metadata` holds public details only."""

    def __init__(self, reason: Reason, **metadata: Any) -> None:
        super().__init__(reason.name)
        self.reason = reason
        self.metadata: dict[str, str] = {k: str(v) for k, v in metadata.items()}

"""What a seat may attempt: the actions of rules.md 1.3, as values.

Every action is frozen and hashable. A field that the rules of the moment do not need is None or empty. Cards are
objects of `cards.py`; seats are numbers from 0; words and suits are enums. The wire and the terminal make and show
these; the engine judges them.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from services.rules.cards import Card, Suit


class Word(Enum):
    """What is called with one card left."""

    MAU = "mau"
    MAUMAU = "maumau"
    UNO = "uno"


class _Action(msgspec.Struct, frozen=True, kw_only=False, gc=False):
    # Never part of a reference cycle: leaving them out of garbage collection makes search a tenth faster.
    pass


class Play(_Action, frozen=True):
    """Put one card on the pile. `wish` names a suit with a wild, `call` calls with the play, `target` names the
    seat of a swap or gift, `give` holds the cards of a gift."""

    card: Card
    wish: Suit | None = None
    call: Word | None = None
    target: int | None = None
    give: tuple[Card, ...] = ()


class PlayMany(_Action, frozen=True):
    """Put a sequence, equal cards or a mirror on the pile in one action, first card first."""

    cards: tuple[Card, ...]
    call: Word | None = None
    target: int | None = None
    give: tuple[Card, ...] = ()


class JumpIn(_Action, frozen=True):
    """Put a card identical to the top card, out of turn."""

    card: Card
    wish: Suit | None = None
    call: Word | None = None
    target: int | None = None
    give: tuple[Card, ...] = ()


class Draw(_Action, frozen=True):
    """Take one card (or what the draw mode says), or all that is owed."""


class Pass(_Action, frozen=True):
    """End the turn after drawing."""


class Call(_Action, frozen=True):
    """Call on its own, without a play."""

    word: Word


class Accuse(_Action, frozen=True):
    """Claim that a seat (or, without one, whoever it is) left itself with one card without calling."""

    target: int | None = None


class Challenge(_Action, frozen=True):
    """Doubt the Wild Draw Four that one has to answer."""


class Accept(_Action, frozen=True):
    """Take the Wild Draw Four that one has to answer."""


class Choose(_Action, frozen=True):
    """Name the suit of a start wild."""

    suit: Suit


class Concede(_Action, frozen=True):
    """Give up contesting a Jack finish, or answering a last 7."""


class React(_Action, frozen=True):
    """Slap, or shout."""


class Speak(_Action, frozen=True):
    """Talk while the silence rule is in force."""


class DrawStock(_Action, frozen=True):
    """Tranca: draw one card from the stock."""


class Redraw(_Action, frozen=True):
    """Tranca, `first.redraw`: throw the very first card drawn on the pile and draw again."""


class TakeDiscard(_Action, frozen=True):
    """Tranca: take the whole pile, using its top card at once: added to `meld` (with no cards of the hand), or
    melded with `cards` of the hand."""

    meld: str | None = None
    cards: tuple[Card, ...] = ()


class Meld(_Action, frozen=True):
    """Tranca: lay a new meld."""

    cards: tuple[Card, ...]


class Add(_Action, frozen=True):
    """Tranca: add cards to a meld of the own partnership."""

    meld: str
    cards: tuple[Card, ...]


class Discard(_Action, frozen=True):
    """Tranca: discard one card and end the turn."""

    card: Card


class Keep(_Action, frozen=True):
    """Tranca: end the turn with the single card that may not be discarded."""


Action = (
    Play
    | PlayMany
    | JumpIn
    | Draw
    | Pass
    | Call
    | Accuse
    | Challenge
    | Accept
    | Choose
    | Concede
    | React
    | Speak
    | DrawStock
    | Redraw
    | TakeDiscard
    | Meld
    | Add
    | Discard
    | Keep
)

_OTHER_NAMES: dict[type, str] = {Meld: "lay_meld", Add: "add_to_meld"}


def action_name(kind: type) -> str:
    """How a kind of action is called on the wire and in refusals: `play_many`."""
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return _OTHER_NAMES.get(kind) or name.lstrip("_")

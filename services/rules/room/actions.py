"""What may be attempted in a room, and who attempts it.

Every accepted action is one version. The actions of a game travel inside `Act`.
"""

from __future__ import annotations

import msgspec

from services.rules.actions import Action
from services.rules.bots.levels import BotLevel
from services.rules.room.clock import TimerKind


class _Value(msgspec.Struct, frozen=True):
    pass


# Who acts.


class Player(_Value, frozen=True):
    """A person, by identity; the room says which seat."""

    id: str


class Bot(_Value, frozen=True):
    """A bot for a seat that it plays: a bot's own, or that of a person who is away or left."""

    seat: int


class Clock(_Value, frozen=True):
    """A timer that came due, or the sweep."""


class Operator(_Value, frozen=True):
    """Whoever runs the server."""


class Matchmaker(_Value, frozen=True):
    """The server itself, which makes rooms for people and for tickets."""


Actor = Player | Bot | Clock | Operator | Matchmaker


# Before a match.


class Person(_Value, frozen=True):
    """Somebody who gets a seat: a certain one, or any."""

    player: str
    name: str
    seat: int | None = None


class CreateRoom(_Value, frozen=True):
    """Matchmaker: make the room. `people` are seated in order, the first is the host, then `bots` bots. `options` and
    `settings` hold what differs from preset and defaults. `quick_play`: a ready check runs, and the match starts when
    it ends, instead of waiting for the host."""

    room_id: str
    preset: str
    people: tuple[Person, ...]
    options: dict[str, object] = {}
    settings: dict[str, object] = {}
    bots: int = 0
    bot_level: BotLevel = BotLevel.HEURISTIC
    quick_play: bool = False


class TakeSeat(_Value, frozen=True):
    """Take a free seat of an open room, or move to one; in a running match, come back to one's own seat. `invite` is
    the generation of the invite code that the caller has checked; a stranger to a private room needs it."""

    name: str
    seat: int | None = None
    invite: int | None = None


class LeaveSeat(_Value, frozen=True):
    """Give the seat up. In a running match this is on purpose: a bot plays on and scoring is told."""


class SetReady(_Value, frozen=True):
    """Be ready, with up to 32 bytes for the deal, or not ready."""

    ready: bool
    contribution: bytes = b""


class AddBot(_Value, frozen=True):
    """Host: put a bot on a free seat, a certain one or any."""

    level: BotLevel
    seat: int | None = None


class RemoveSeat(_Value, frozen=True):
    """Host: free a seat of a bot or of another person, who with `ban` may not come back."""

    seat: int
    ban: bool = False


class ChangeOptions(_Value, frozen=True):
    """Host: change the ruleset (`preset` None: keep it; else `options` is what differs from the preset) and settings.
    Everybody's ready is taken back."""

    preset: str | None = None
    options: dict[str, object] = {}
    settings: dict[str, object] = {}


class RotateInvite(_Value, frozen=True):
    """Host: withdraw the present invite code."""


class Start(_Value, frozen=True):
    """Host: start the match. Everybody must be ready."""


class Mute(_Value, frozen=True):
    """Host: a person's chat is not delivered, or is again."""

    seat: int
    muted: bool


# In a match and after it.


class Act(_Value, frozen=True):
    """Attempt an action of the game."""

    action: Action


class ReadyForRound(_Value, frozen=True):
    """No need to wait for the end of the pause; when all people say so, the next round is dealt."""


class TakeBack(_Value, frozen=True):
    """Play the seat again that a bot played in one's absence. Any action of the game does the same."""


class Rematch(_Value, frozen=True):
    """Open the room again after a match: same seats, next dealer; people confirm by being ready."""


# Time and operation.


class Timeout(_Value, frozen=True):
    """A timer came due. `seat` is whose timer it is, where it is a seat's; `absent` says that nobody is there for it,
    which decides what happens and so belongs to the log."""

    kind: TimerKind
    seat: int | None = None
    absent: bool = False


class CreditTime(_Value, frozen=True):
    """Give back the time of an outage of the server, in milliseconds. The request id is the outage's."""

    ms: int


class AbortMatch(_Value, frozen=True):
    """Operator: end the match without a result."""


class CloseRoom(_Value, frozen=True):
    """Operator, or before a match the matchmaker: close the room for good. A running match is aborted. `why` is shown
    to people."""

    why: str


RoomAction = (
    CreateRoom
    | TakeSeat
    | LeaveSeat
    | SetReady
    | AddBot
    | RemoveSeat
    | ChangeOptions
    | RotateInvite
    | Start
    | Mute
    | Act
    | ReadyForRound
    | TakeBack
    | Rematch
    | Timeout
    | CreditTime
    | AbortMatch
    | CloseRoom
)

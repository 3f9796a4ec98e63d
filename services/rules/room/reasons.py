"""Why a room refuses an action. A game's own refusals pass through as `IllegalAction`, wrong options as
`RulesetError`."""

from __future__ import annotations

from enum import Enum


class RoomReason(Enum):
    """Each member's value is its sentence; its name is the reason that travels, one of the published catalogue."""

    INVALID_FIELD = "A field of the request is missing, out of range or not well formed."
    NOT_ALLOWED = "The caller may not make this call."
    ROOM_NOT_FOUND = "There is no such room, or it is not open to the caller."
    ROOM_CLOSED = "The room is closed."
    ROOM_FULL = "Every seat of the room is taken."
    SEAT_TAKEN = "The seat is taken."
    NO_SUCH_SEAT = "The room has no such seat."
    NOT_SEATED = "The caller has no seat in the room."
    NOT_HOST = "Only the host may do this."
    BANNED = "The caller may not come back to this room."
    MATCH_RUNNING = "A match is running."
    MATCH_NOT_RUNNING = "No match is running."
    MATCH_NOT_FINISHED = "There is no finished match."
    MATCH_OVER = "The match is over."
    NOT_BETWEEN_ROUNDS = "The room is not between two rounds."
    NOT_READY = "Somebody is not ready."
    TOO_FEW_PLAYERS = "Too few seats are taken."
    SEAT_IS_FREE = "Nobody sits there."
    NO_PERSON_LEFT = "A room needs a person."
    CONTRIBUTION_TOO_LONG = "The contribution to the shuffle has more than 32 bytes."
    STALE = "The action was decided before what it acts on began; look again and decide anew."
    REQUEST_ID_REUSED = "The request id was used for another action."

    @property
    def sentence(self) -> str:
        return str(self.value)


class RoomRefusal(Exception):  # noqa: N818 - a refusal, not a fault
    """An action that the room refuses; the room is as it was. `metadata` holds public details only."""

    def __init__(self, reason: RoomReason, **metadata: object) -> None:
        super().__init__(reason.name)
        self.reason = reason
        self.metadata: dict[str, str] = {key: str(value) for key, value in metadata.items()}


class AlreadyDone(Exception):  # noqa: N818 - an answer, not a fault
    """Nothing is committed, and the answer is OK: the same request of the same player was accepted before as
    `version`, or what it asks for holds already at `version`."""

    def __init__(self, version: int) -> None:
        super().__init__(f"done with version {version}")
        self.version = version


class NotDue(Exception):  # noqa: N818 - an answer, not a fault
    """A timer that no longer runs: what it was for has been done. Meant for the clock; no client ever gets it."""

"""Ids and codes that follow from the server's secret: nobody can guess them, and no process has to ask another.

An invite code is 50 bits of an HMAC over room and generation, in ten characters that people can read to each other. A
room raises its generation to withdraw the present code. The index of codes holds their hashes (`store.players`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from services.runtime.key_folder import INVITE_FILE, read_secret
from services.runtime.settings import Settings

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O and U."""
CODE_CHARACTERS: Final = 10
FIRST_GENERATION: Final = 1
_READ_AS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", " ": None, "-": None})
_ID_CHARACTERS: Final = 20


class Invites:
    """Derives what the secret decides. Raises `KeyFolderError` when made without one."""

    def __init__(self, settings: Settings) -> None:
        self._secret = read_secret(settings.keys_dir, INVITE_FILE)

    def code(self, room_id: str, generation: int) -> str:
        """The invite code of a room in this generation."""
        return _as_code(self._derive("invite", room_id, str(generation)))

    def party_code(self, party_id: str) -> str:
        """The code of a party."""
        return _as_code(self._derive("party", party_id))

    def fits(self, code: str, room_id: str, generation: int) -> bool:
        """Whether a normal code is the one of this room and generation."""
        return hmac.compare_digest(code, self.code(room_id, generation))

    def code_hash(self, code: str) -> str:
        """The name of a code in the index. Keyed, since 50 bits could be tried out."""
        return self._derive("index", code).hex()

    def room_id(self, player_id: str, request_id: bytes) -> str:
        """The id of the room that a player makes with this request: the same for a repeat."""
        return "r_" + self._short("room", player_id, request_id.hex())

    def matched_room_id(self, match_id: str) -> str:
        """The id of the room of a match that matchmaking made."""
        return "r_" + self._short("matched", match_id)

    def _short(self, *parts: str) -> str:
        return base64.b32encode(self._derive(*parts)).decode().lower()[:_ID_CHARACTERS]

    def _derive(self, *parts: str) -> bytes:
        # Lengths keep ("a", "bc") and ("ab", "c") apart.
        message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return hmac.digest(self._secret, message, hashlib.sha256)


def _as_code(derived: bytes) -> str:
    number = int.from_bytes(derived[:7], "big") >> 6
    return "".join(ALPHABET[number >> shift & 31] for shift in range(45, -1, -5))


def normal_code(text: str) -> str | None:
    """A code as people type it, in its normal form: capitals, no spaces or dashes, I and L read as 1, O as 0. None for
    what is no code."""
    if len(text) > 4 * CODE_CHARACTERS:
        return None
    code = text.upper().translate(_READ_AS)
    if len(code) != CODE_CHARACTERS or not set(code) <= set(ALPHABET):
        return None
    return code

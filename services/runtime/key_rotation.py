"""Changing the session keys of a key folder while everything runs, without a token that anybody refuses.

A new key is there as a public one first, so that every process can verify with it, then as a private one, with which
matchmaking signs from then on. An old key goes when the last token that it signed has run out.
"""

from __future__ import annotations

import os
import secrets
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from services.runtime.key_folder import SESSION_KEYS, KeyFolderError, new_key_id, new_session_key
from services.runtime.tokens import LOOK_AGAIN_SECONDS, key_age

SPREAD_SECONDS: Final = 2 * LOOK_AGAIN_SECONDS
"""After this every process that sees the folder knows a key that was put there."""
SPARE_SECONDS: Final = 60.0
"""How much longer an old key stays than its tokens are good."""


class KeyRotation:
    """One folder of keys. Methods raise `KeyFolderError` and `OSError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / SESSION_KEYS
        if not self.private_keys():
            raise KeyFolderError(f"{self._folder} holds no private Ed25519 key (<kid>.pem)")

    def private_keys(self) -> list[str]:
        """The `kid` of each key that signs or signed, the newest first."""
        pems = (path for path in self._folder.glob("*.pem") if b"PRIVATE KEY" in path.read_bytes())
        return sorted((path.stem for path in pems), key=key_age, reverse=True)

    def publish(self) -> tuple[str, bytes]:
        """Puts the public half of a new key into the folder; its `kid`, greater than all others, and the private
        half for `sign_with`, once every process knows the public one."""
        kid, private = self._next_id(), new_session_key()
        public = load_pem_private_key(private, password=None).public_key()
        self._write(kid, public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return kid, private

    def sign_with(self, kid: str, private: bytes) -> None:
        """From now on tokens are signed with this key."""
        self._write(kid, private)

    def withdraw(self, kid: str) -> None:
        """Takes a key out that never signed."""
        self._path(kid).unlink(missing_ok=True)

    def prune(self, now: float, token_seconds: float) -> list[str]:
        """Takes out the keys whose last token has run out: those that have not signed for `token_seconds` (life and
        leeway) and a minute more. `now` is seconds since 1970. The `kid` of each."""
        kids = self.private_keys()
        gone = []
        for newer, kid in pairwise(kids):
            if now - self._path(newer).stat().st_mtime > token_seconds + SPARE_SECONDS:
                self._path(kid).unlink()
                gone.append(kid)
        return gone

    def _next_id(self) -> str:
        numbers = [int(path.stem) for path in self._folder.glob("*.pem") if path.stem.isdecimal()]
        return str(max(int(new_key_id()), *(number + 1 for number in numbers), 0))

    def _path(self, kid: str) -> Path:
        return self._folder / f"{kid}.pem"

    def _write(self, kid: str, pem: bytes) -> None:
        """Puts the file there whole, for the owner of the folder alone, also when it is root who does it."""
        draft = self._folder / f".{kid}.{secrets.token_hex(8)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        if os.geteuid() == 0:
            owner = self._folder.stat()
            os.chown(draft, owner.st_uid, owner.st_gid)
        draft.replace(self._path(kid))

"""The folder of keys (`MAUMAU_KEYS_DIR`) that the processes of one server share.

    sessions/<kid>.pem   Ed25519 keys of session tokens: a private key signs and verifies, a public one only verifies
    internal.secret      what services show each other on the internal port
    operator.secret      what the operator shows there
    operators/<name>.secret   the same for operators who have a credential of their own
    invite.secret        key of the HMAC behind invite codes

Each secret is 32 random bytes in hex. On one machine `prepare_key_folder` makes what is missing, also as
`python -m services.runtime.key_folder`; in a cluster the folder is a mounted secret and nothing writes to it.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from services.runtime.settings import read_settings

SESSION_KEYS: Final = "sessions"
INTERNAL_FILE: Final = "internal.secret"
OPERATOR_FILE: Final = "operator.secret"
OPERATORS: Final = "operators"
INVITE_FILE: Final = "invite.secret"
SECRET_BYTES: Final = 32


class KeyFolderError(RuntimeError):
    """The folder cannot be used. The text names the file and what would be right, never what the file holds."""


def prepare_key_folder(folder: Path) -> None:
    """Makes the folder and whatever is missing in it, readable by its owner only. Any number of processes may do so at
    once: each file comes into being whole, and the first one stays."""
    sessions = folder / SESSION_KEYS
    sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in (INTERNAL_FILE, OPERATOR_FILE, INVITE_FILE):
        _write_once(folder / name, secrets.token_hex(SECRET_BYTES).encode() + b"\n")
    if not any(sessions.glob("*.pem")):
        _write_once(sessions / "1.pem", new_session_key())


def new_session_key() -> bytes:
    """A fresh Ed25519 private key as PEM."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_key_id(now: float | None = None) -> str:
    """A `kid` for a key made now: seconds since 1970, so that the newest key has the greatest number."""
    return str(int(time.time() if now is None else now))


def read_secret(folder: Path, name: str) -> bytes:
    """The 32 bytes of a `.secret` file. Raises `KeyFolderError` if it is missing or not 64 hexadecimal digits."""
    path = folder / name
    try:
        secret = bytes.fromhex(path.read_text().strip())
    except FileNotFoundError:
        raise KeyFolderError(f"{path} is missing; expected {2 * SECRET_BYTES} hexadecimal digits") from None
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise KeyFolderError(f"{path} holds something else than {2 * SECRET_BYTES} hexadecimal digits")
    return secret


def _write_once(path: Path, content: bytes) -> None:
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


if __name__ == "__main__":
    prepare_key_folder(read_settings().keys_dir)

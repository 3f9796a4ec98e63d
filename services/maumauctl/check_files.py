"""What `check` says of settings, key folder, certificates and the identity provider."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509

from services.maumauctl.finding import FAULT, OK, WARNING, Finding
from services.runtime.key_folder import (
    INTERNAL_FILE,
    INVITE_FILE,
    OPERATOR_FILE,
    OPERATORS,
    SESSION_KEYS,
    KeyFolderError,
    read_secret,
)
from services.runtime.provider import count_keys
from services.runtime.settings import Settings
from services.runtime.tls import MUTUAL, PAIR, TlsFolderError, check_tls_folder
from services.runtime.tokens import SessionKeys

SOON_DAYS = 14


def check_keys(settings: Settings) -> Iterator[Finding]:
    """The key folder, file by file."""
    folder = settings.keys_dir
    for name in (INTERNAL_FILE, INVITE_FILE):
        yield _secret(folder, name)
    own = sorted(f"{OPERATORS}/{path.name}" for path in (folder / OPERATORS).glob("*.secret"))
    if not own or (folder / OPERATOR_FILE).exists():
        own.append(OPERATOR_FILE)
    for name in own:
        yield _secret(folder, name)
    try:
        kid, _ = SessionKeys(folder / SESSION_KEYS).signing()
    except (KeyFolderError, OSError) as error:
        yield Finding("session keys", FAULT, str(error), "a private Ed25519 key in PEM, as `rotate-keys` makes them")
    else:
        yield Finding("session keys", OK, f"{kid} signs")


def _secret(folder: Path, name: str) -> Finding:
    try:
        read_secret(folder, name)
    except (KeyFolderError, OSError) as error:
        return Finding(name, FAULT, str(error), "32 random bytes as 64 hexadecimal digits")
    if (folder / name).stat().st_mode & 0o007:
        return Finding(name, WARNING, "everybody on this machine may read it", "mode 0600, or 0640 for a group")
    return Finding(name, OK, "there")


def check_provider(settings: Settings) -> Iterator[Finding]:
    """The keys of the operator's own identity provider, where there is one."""
    if settings.jwks_url is None:
        return
    right = "an address that answers with public keys as JWKS"
    try:
        keys = count_keys(settings.jwks_url)
    except Exception as error:  # whatever is wrong with what it answers
        yield Finding("jwks_url", FAULT, str(error) or type(error).__name__, right)
    else:
        yield Finding("jwks_url", OK, f"{keys} keys") if keys else Finding("jwks_url", FAULT, "no keys", right)


def check_tls(settings: Settings) -> Iterator[Finding]:
    """Both folders of certificates, where there are any."""
    for name, folder, files in (
        ("public_tls_dir", settings.public_tls_dir, PAIR),
        ("internal_tls_dir", settings.internal_tls_dir, MUTUAL),
    ):
        if folder is None:
            yield Finding(name, OK, "no TLS")
        else:
            yield _certificates(name, folder, files)


def _certificates(name: str, folder: Path, files: tuple[str, ...]) -> Finding:
    try:
        check_tls_folder(folder, files)
        certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    except TlsFolderError as error:
        return Finding(name, FAULT, error.found, error.right)
    days = (certificate.not_valid_after_utc.timestamp() - time.time()) / 86_400
    if days <= 0 or certificate.not_valid_before_utc.timestamp() > time.time():
        return Finding(name, FAULT, f"the certificate of {folder} is not valid now", "a certificate that is")
    if days < SOON_DAYS:
        return Finding(name, WARNING, f"the certificate of {folder} ends in {days:.0f} days", "a newer one")
    return Finding(name, OK, f"{folder}, good for {days:.0f} days")

"""TLS for clients and mutual TLS between services: the folders of certificates, and what the ports make of them.

A folder holds `tls.crt` and `tls.key` in PEM, and `ca.crt` where the other side has to show a certificate, too. It is
read when a process starts.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

import grpc

PAIR: Final = ("tls.crt", "tls.key")
MUTUAL: Final = (*PAIR, "ca.crt")


class TlsFolderError(OSError):
    """The folder cannot be used: what was found there, and what would be right."""

    def __init__(self, found: str, right: str) -> None:
        super().__init__(f"{found}; expected {right}")
        self.found = found
        self.right = right


def check_tls_folder(folder: Path, files: tuple[str, ...]) -> None:
    """Raises `TlsFolderError` for files that are missing, cannot be read or do not belong together: gRPC itself only
    says that it cannot open its port."""
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise TlsFolderError(f"{folder} has no {', '.join(missing)}", f"a folder with {', '.join(files)}")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key", password="")  # nobody is asked for one
        if "ca.crt" in files:
            context.load_verify_locations(folder / "ca.crt")
    except (OSError, ValueError) as error:
        raise TlsFolderError(f"{folder} cannot be used: {error}", "a certificate in PEM and its own key") from None


def public_credentials(folder: Path | None) -> grpc.ServerCredentials | None:
    """TLS for clients; None without a folder. Raises `TlsFolderError`."""
    if folder is None:
        return None
    certificate, key = _read(folder, PAIR)
    return grpc.ssl_server_credentials([(key, certificate)])


def internal_credentials(folder: Path | None) -> grpc.ServerCredentials | None:
    """Mutual TLS of an internal port; None without a folder. Raises `TlsFolderError`."""
    if folder is None:
        return None
    certificate, key, authority = _read(folder, MUTUAL)
    return grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)


def internal_channel_credentials(folder: Path) -> grpc.ChannelCredentials:
    """The other end of it. Raises `TlsFolderError`."""
    certificate, key, authority = _read(folder, MUTUAL)
    return grpc.ssl_channel_credentials(authority, key, certificate)


def _read(folder: Path, files: tuple[str, ...]) -> list[bytes]:
    check_tls_folder(folder, files)
    return [(folder / file).read_bytes() for file in files]

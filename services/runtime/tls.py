"""TLS for clients and mutual TLS between services: the folders of certificates, and what the ports make of them.

A folder holds `tls.crt` and `tls.key` in PEM, and `ca.crt` where the other side has to show a certificate, too. A
certificate that was renewed is taken with the next connection, while older ones go on; what is half written or does not
belong together is told in the log, and the last good one stays.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, cast

import grpc

from services.runtime.logs import log

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


class Certificate(NamedTuple):
    """The files of a folder in PEM; `authority` is None where the other side shows no certificate."""

    chain: bytes
    key: bytes
    authority: bytes | None = None


class TlsFolder:
    """The certificate of a folder, and the next one as soon as it lies there whole. Any thread may ask: gRPC does so
    from its own. Raises `TlsFolderError` if there is none to begin with."""

    def __init__(self, folder: Path, files: tuple[str, ...]) -> None:
        self._folder, self._files = folder, files
        self._lock = threading.Lock()
        self._seen = self._warned = self._stamps()
        self.certificate = self._read()

    def renewed(self) -> bool:
        """Whether `certificate` is another one than at the last call; looks at the files' times, and reads what
        changed."""
        with self._lock:
            stamps = self._stamps()
            if stamps == self._seen:
                return False
            try:
                certificate = self._read()
            except OSError as error:
                self._warn_once(stamps, error)
                return False
            if self._stamps() != stamps:
                return False  # being written at this moment: the next connection looks again
            self._seen, changed = stamps, certificate != self.certificate
            self.certificate = certificate
        if changed:
            log.info("certificate renewed", folder=str(self._folder))
        return changed

    def _read(self) -> Certificate:
        check_tls_folder(self._folder, self._files)
        return Certificate(*((self._folder / file).read_bytes() for file in self._files))

    def _stamps(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(self._folder / file) for file in self._files)

    def _warn_once(self, stamps: tuple[tuple[int, int, int] | None, ...], error: OSError) -> None:
        if stamps != self._warned:
            self._warned = stamps
            log.warning("certificate cannot be read again; the last one stays", error=str(error))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino, state.st_size


def public_credentials(folder: Path | None) -> grpc.ServerCredentials | None:
    """TLS for clients; None without a folder. Raises `TlsFolderError`."""
    return None if folder is None else _server_credentials(TlsFolder(folder, PAIR))


def internal_credentials(folder: Path | None) -> grpc.ServerCredentials | None:
    """Mutual TLS of an internal port; None without a folder. Raises `TlsFolderError`."""
    return None if folder is None else _server_credentials(TlsFolder(folder, MUTUAL))


def _server_credentials(folder: TlsFolder) -> grpc.ServerCredentials:
    def shown() -> grpc.ServerCertificateConfiguration:
        chain, key, authority = folder.certificate
        return grpc.ssl_server_certificate_configuration([(key, chain)], authority)

    def before_each_handshake() -> grpc.ServerCertificateConfiguration | None:
        return shown() if folder.renewed() else None

    mutual = folder.certificate.authority is not None
    fetcher = cast(
        Callable[[], grpc.ServerCertificateConfiguration], before_each_handshake
    )  # gRPC: None is "as before"
    return grpc.dynamic_ssl_server_credentials(shown(), fetcher, mutual)


def channel_credentials(certificate: Certificate) -> grpc.ChannelCredentials:
    """The other end of it."""
    return grpc.ssl_channel_credentials(certificate.authority, certificate.key, certificate.chain)

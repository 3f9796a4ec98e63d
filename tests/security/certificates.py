"""Certificates made by a test: an authority, and what it signs for 127.0.0.1."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates; `issue` fills a folder with tls.crt, tls.key and ca.crt."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(self._name, self._key.public_key())
        self._certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(
            self._key, hashes.SHA256()
        )

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(Encoding.PEM)

    def issue(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)]), key.public_key())
        places = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        signed = builder.add_extension(x509.SubjectAlternativeName(places), critical=False).sign(
            self._key, hashes.SHA256()
        )
        (folder / "tls.crt").write_bytes(signed.public_bytes(Encoding.PEM))
        (folder / "tls.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        (folder / "ca.crt").write_bytes(self.pem)
        return folder

    def _builder(self, subject: x509.Name, public: Any) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )

"""Who the operator is: the credentials of the key folder, each with a name, and the record of what is done with them.

    operator.secret          the credential that every installation has; its name is `operator`
    operators/<name>.secret  one for each person or tool that should have its own

A file that is added or taken away counts within two seconds, so that one credential can be withdrawn without a restart.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from services.runtime.key_folder import OPERATOR_FILE, OPERATORS, KeyFolderError, read_secret
from services.runtime.logs import log

LOOK_AGAIN_SECONDS: Final = 2.0

_operator: ContextVar[str] = ContextVar("operator", default="")


class OperatorSecrets:
    """The operators' secrets of a key folder, by name. Raises `KeyFolderError` when made over one that cannot be read;
    later the known ones stay, and what is wrong is logged."""

    def __init__(self, folder: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._monotonic = monotonic
        self._looked = monotonic()
        self._secrets = self._read()

    def name_of(self, shown: str) -> str | None:
        """Whose credential this is, as 64 hexadecimal digits; None for nobody's."""
        self._refresh()
        found = None
        for name, secret in self._secrets.items():  # all of them, so that the time says nothing
            if hmac.compare_digest(shown.encode(), secret):
                found = name
        return found

    def __bool__(self) -> bool:
        self._refresh()
        return bool(self._secrets)

    def _refresh(self) -> None:
        if self._monotonic() - self._looked < LOOK_AGAIN_SECONDS:
            return
        self._looked = self._monotonic()
        try:
            self._secrets = self._read()
        except (OSError, KeyFolderError) as error:
            log.error("operators' credentials cannot be read again; the known ones stay", error=str(error))

    def _read(self) -> Mapping[str, bytes]:
        found = {path.stem: f"{OPERATORS}/{path.name}" for path in sorted((self._folder / OPERATORS).glob("*.secret"))}
        if (self._folder / OPERATOR_FILE).exists():
            found["operator"] = OPERATOR_FILE
        return {name: read_secret(self._folder, file).hex().encode() for name, file in found.items()}


def is_operator(name: str) -> None:
    """The present call is this operator's."""
    _operator.set(name)


def operator_name() -> str:
    """Whose credential made the present call; empty for a call that no operator made."""
    return _operator.get()


def audit(action: str, *, why: str = "", **target: object) -> None:
    """Writes down what an operator has done: who, what, to whom, why."""
    log.info("operator", operator=operator_name(), action=action, why=why, **target)

"""The session file, by which a person comes back as the same guest."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

FILE_VARIABLE: Final = "MAUMAU_TOKEN_FILE"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session as remembered; `expires` in seconds since 1970."""

    player_id: str
    token: str
    expires: float
    refresh_token: str

    def __repr__(self) -> str:  # tokens stay out of logs and tracebacks
        return f"StoredSession(player_id={self.player_id!r})"


def default_path() -> Path:
    """`MAUMAU_TOKEN_FILE`, else `maumau/sessions.json` in the XDG state folder (`~/.local/state`)."""
    named = os.environ.get(FILE_VARIABLE, "").strip()
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME", "").strip()
    return (Path(state) if state else Path.home() / ".local" / "state") / "maumau" / "sessions.json"


class SessionFile:
    """The remembered session for one server. The file holds one for each address and is readable by its owner only;
    a file that cannot be read counts as empty, since signing in anew repairs it."""

    def __init__(self, path: Path, address: str) -> None:
        self._path = path
        self._address = address

    def read(self) -> StoredSession | None:
        known = self._read_all().get(self._address)
        try:
            return StoredSession(**known) if isinstance(known, dict) else None
        except TypeError:
            return None

    def write(self, session: StoredSession) -> None:
        self._write_all(self._read_all() | {self._address: asdict(session)})

    def remove(self) -> None:
        self._write_all({key: value for key, value in self._read_all().items() if key != self._address})

    def _read_all(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def _write_all(self, content: dict[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self._path.parent)  # made with mode 600
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(content, file)
            Path(name).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

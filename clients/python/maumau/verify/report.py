"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass, field


class Wrong(Exception):  # noqa: N818 - a finding, not a fault
    """Something in a replay does not hold. `version` is where it shows, 0 where it is about the whole."""

    def __init__(self, sentence: str, version: int = 0) -> None:
        super().__init__(sentence)
        self.version = version

    def __str__(self) -> str:
        where = f"version {self.version}: " if self.version else ""
        return where + str(self.args[0])


@dataclass
class Report:
    """`proven` and `not_proven` in sentences; `wrong` says what does not hold, and is empty for an honest replay."""

    match_id: str
    proven: list[str] = field(default_factory=list)
    not_proven: list[str] = field(default_factory=list)
    wrong: str = ""

    @property
    def holds(self) -> bool:
        return not self.wrong

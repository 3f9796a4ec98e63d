"""docs/maumauctl.md is what the command says of itself."""

from __future__ import annotations

import re
from pathlib import Path

from services.maumauctl import app as frame
from services.maumauctl.page import HEAD, page
from services.wire.errors import CATALOGUE

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_command_says() -> None:
    assert (ROOT / "docs" / "maumauctl.md").read_text() == page(), "run `make docs`"


def test_every_reason_of_the_commands_own_is_on_the_page_and_none_of_the_contract_is_taken() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "services" / "maumauctl").glob("*.py"))
    raised = set(re.findall(r'(?:fail\([A-Z_]+, |Refused\()"([A-Z_]+)"', code))
    named = set(re.findall(r"`([A-Z_]{3,})`", HEAD.partition("Reasons of its own")[2].partition("A drained")[0]))
    assert raised - set(CATALOGUE) == named
    assert not named & set(CATALOGUE)


def test_every_exit_code_is_on_the_page() -> None:
    codes = {value for name, value in vars(frame).items() if name.isupper() and isinstance(value, int)}
    assert codes == {1, 2, 3, 4, 5}
    assert all(f"| {code} |" in HEAD for code in codes)

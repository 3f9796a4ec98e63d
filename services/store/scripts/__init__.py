"""The Lua scripts, shipped with the code and called by their SHA-1. The first comment of each names it and its
revision."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from typing import Final, NamedTuple

_FIRST_COMMENT = re.compile(r"-- (?P<name>\w+), revision (?P<revision>\d+): ")


class Script(NamedTuple):
    """One script as Redis knows it."""

    name: str
    revision: int
    source: str
    sha: str


def _read(file: str) -> str:
    return resources.files(__name__).joinpath(file).read_text(encoding="utf-8")


def load(name: str, *shared: str) -> Script:
    """The script `<name>.lua`, with the functions of the `shared` files put after its first comment."""
    first, rest = _read(f"{name}.lua").split("\n", 1)
    match = _FIRST_COMMENT.match(first)
    if match is None or match["name"] != name:
        raise ValueError(f"{name}.lua does not begin with its name and revision")
    source = "\n".join([first, *(_read(f"{part}.lua") for part in shared), rest])
    return Script(
        name, int(match["revision"]), source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    )


COMMIT: Final = load("commit", "outages", "clock")
REARM: Final = load("rearm", "outages", "clock")
SWEEP: Final = load("sweep", "outages")
READ: Final = load("read")
GLANCE: Final = load("glance")
RETIRE: Final = load("retire")
ENTER: Final = load("enter")
PRESENT: Final = load("present")
ANNOUNCE: Final = load("announce")
FLEET: Final = load("fleet")
REFUSED: Final = load("refused", "owed")
CONFIRM: Final = load("confirm", "owed")
RETRY_DEAD: Final = load("retry_dead")
DROP_DEAD: Final = load("drop_dead", "owed")
APPLY_RESULT: Final = load("apply_result")
BOARD: Final = load("board")
ENLIST: Final = load("enlist")
VOID_MATCH: Final = load("void_match")
SEASON: Final = load("season")
FORGET_ENTRANT: Final = load("forget_entrant")
BEGIN_REBUILD: Final = load("begin_rebuild")
FILL: Final = load("fill")
FINISH_REBUILD: Final = load("finish_rebuild")
END_REBUILD: Final = load("end_rebuild")
PUT_PROFILE: Final = load("put_profile")
ROTATE_SESSION: Final = load("rotate_session")
OPEN_TICKET: Final = load("open_ticket", "moment")
SEE_TICKET: Final = load("see_ticket", "moment")
END_TICKET: Final = load("end_ticket", "moment")
CLAIM_TICKETS: Final = load("claim_tickets", "moment")
DUE_CLAIMS: Final = load("due_claims", "moment")
SETTLE_CLAIM: Final = load("settle_claim", "moment")
RETURN_TICKETS: Final = load("return_tickets", "moment")
JOIN_PARTY: Final = load("join_party")
LEAVE_PARTY: Final = load("leave_party")
BLOCK: Final = load("block")
GCRA: Final = load("gcra")
END_SESSION: Final = load("end_session")
SANCTION: Final = load("sanction")
SANCTIONS: Final = load("sanctions")
PUT_REPORT: Final = load("put_report")
CLOSE_REPORT: Final = load("close_report")
REVOKED: Final = load("revoked")

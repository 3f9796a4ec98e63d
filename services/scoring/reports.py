"""A reported result: checked against itself, then turned into what the store counts.

What counts for whom: a person of an ended match gets sums; a win, and a line on the board, only where the match is
rated. An aborted match enters the histories and nothing else. Bots get nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from typing import Final

import msgspec
from maumau.internal.v1.result_intake_pb2 import ArchivedMatch, ReportResultRequest, SeatCounts
from maumau.v1 import events_pb2
from maumau.v1.scoring_pb2 import MatchRecord, MatchSeat

from services.store.keys import PlayerId
from services.store.scoring import Result, Share
from services.wire.errors import invalid_field

MOST_SEATS: Final = 10
MOST_ROUNDS: Final = 1_000
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HAS_A_KIND: Final = (events_pb2.SEAT_KIND_PERSON, events_pb2.SEAT_KIND_BOT)


def read_report(report: ReportResultRequest, families: Collection[str]) -> Result:
    """The result in a report. Raises Refusal (INVALID_FIELD) for one that no match can have."""
    match = report.match
    _check_match(match, families)
    _check_seats(match)
    if len(report.counts) not in (0, len(match.seats)):
        raise invalid_field("counts", f"{len(report.counts)} entries", f"one for each of {len(match.seats)} seats")
    counts = list(report.counts) or [SeatCounts()] * len(match.seats)
    essence = _essence(match, counts)
    return Result(
        match=match.match_id,
        pool=match.ruleset.game,
        digest=hashlib.sha256(essence).digest(),
        record=match.SerializeToString(deterministic=True),
        ledger_entry=essence,
        ended_ms=match.ended.ToMilliseconds(),
        shares=tuple(
            _share(match, seat, counted)
            for seat, counted in zip(match.seats, counts, strict=True)
            if seat.kind == events_pb2.SEAT_KIND_PERSON
        ),
    )


def read_archived(about: ArchivedMatch) -> None:
    """Raises Refusal (INVALID_FIELD) where a log cannot be found again by what is said of its match."""
    for field in ("match_id", "room_id"):
        if not _ID.fullmatch(getattr(about.match, field)):
            raise invalid_field(f"match.{field}", getattr(about.match, field), "1 to 64 of A-Z a-z 0-9 _ -")
    if not 1 <= about.match.first_version <= about.match.last_version:
        raise invalid_field("match.first_version", about.match.first_version, f"1 to {about.match.last_version}")


def _check_match(match: MatchRecord, families: Collection[str]) -> None:
    for field in ("match_id", "room_id"):
        if not _ID.fullmatch(getattr(match, field)):
            raise invalid_field(f"match.{field}", getattr(match, field), "1 to 64 of A-Z a-z 0-9 _ -")
    if match.ruleset.game not in families:
        raise invalid_field("match.ruleset.game", match.ruleset.game, f"one of {', '.join(sorted(families))}")
    if match.cause == events_pb2.MATCH_END_CAUSE_UNSPECIFIED:
        raise invalid_field("match.cause", "", "why the match ended")
    if not match.HasField("ended") or match.ended.ToNanoseconds() < match.started.ToNanoseconds():
        raise invalid_field("match.ended", match.ended.ToJsonString(), "a time after match.started")
    if len(match.rounds) > MOST_ROUNDS:
        raise invalid_field("match.rounds", f"{len(match.rounds)} entries", f"at most {MOST_ROUNDS}")


def _check_seats(match: MatchRecord) -> None:
    seats = match.seats
    if not 2 <= len(seats) <= MOST_SEATS:
        raise invalid_field("match.seats", f"{len(seats)} entries", f"2 to {MOST_SEATS}")
    people = set[str]()
    for number, seat in enumerate(seats):
        path = f"match.seats[{number}]"
        if seat.kind not in _HAS_A_KIND:
            raise invalid_field(f"{path}.kind", seat.kind, "a person or a bot")
        if seat.kind == events_pb2.SEAT_KIND_PERSON:
            if not 1 <= len(seat.player_id) <= 128 or seat.player_id in people:
                raise invalid_field(f"{path}.player_id", seat.player_id, "another player on each seat")
            people.add(seat.player_id)
        if not 0 <= seat.partnership < max(len(match.scores), 1):
            raise invalid_field(f"{path}.partnership", seat.partnership, f"below {len(match.scores)}")
        _check_place(match, seat, path)


def _check_place(match: MatchRecord, seat: MatchSeat, path: str) -> None:
    if _aborted(match):
        return
    if not 1 <= seat.place <= len(match.seats):
        raise invalid_field(f"{path}.place", seat.place, f"1 to {len(match.seats)}")
    if seat.winner and seat.place != 1:
        raise invalid_field(f"{path}.winner", "true", f"false at place {seat.place}")


def _aborted(match: MatchRecord) -> bool:
    return match.cause == events_pb2.MATCH_END_CAUSE_ABORTED


def _share(match: MatchRecord, seat: MatchSeat, counted: SeatCounts) -> Share:
    if _aborted(match):
        return Share(PlayerId(seat.player_id), seat.display_name, None, {})
    sums = {
        "matches": 1,
        "wins": int(seat.winner),
        "points": match.scores[seat.partnership] if match.scores else 0,
        "places": seat.place,
        "turns": seat.turns,
        "bot_turns": seat.bot_turns,
        "deserted": int(seat.deserted),
        "rounds": counted.rounds,
        "rounds_won": counted.rounds_won,
        "calls_missed": counted.calls_missed,
        "accusations_right": counted.accusations_right,
        "accusations_wrong": counted.accusations_wrong,
    }
    wins = None if match.unrated else int(seat.winner)
    return Share(PlayerId(seat.player_id), seat.display_name, wins, sums)


def _essence(match: MatchRecord, counts: Sequence[SeatCounts]) -> bytes:
    """Everything that makes a result another one, without names and times; also what the ledger keeps."""
    seats = [
        (s.kind, s.player_id, s.place, s.winner, s.partnership, s.turns, s.bot_turns, s.deserted) for s in match.seats
    ]
    counted = [(c.rounds, c.rounds_won, c.calls_missed, c.accusations_right, c.accusations_wrong) for c in counts]
    rounds = [(entry.round, list(entry.points)) for entry in match.rounds]
    return msgspec.msgpack.encode(
        (
            *(1, match.match_id, match.room_id, match.ruleset.preset, match.ruleset.game, match.ruleset.hash),
            *(match.cause, match.unrated, list(match.scores), rounds, seats, counted),
        )
    )

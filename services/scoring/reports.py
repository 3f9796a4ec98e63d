"""A reported result: checked against itself, then put into the forms in which it is counted and kept.

A kept record names nobody. A person's seat holds the number of the entrant where the player's id was, and no name; both
are filled in when the record is read, for as long as the player is known; of a forgotten player they are a pseudonym
and nothing. Ledgers, standings and boards know entrants only. Archived logs are kept as they were played, with ids and
names, until replays expire; but what is shown of them says nothing of a forgotten player that the record does not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from maumau.internal.v1.result_intake_pb2 import ArchivedMatch, ReportResultRequest, SeatCounts
from maumau.v1 import events_pb2
from maumau.v1.scoring_pb2 import MatchRecord, MatchSeat

from services.scoring.standings import CountedMatch, CountedSeat
from services.store.keys import Entrant, PlayerId
from services.wire.errors import invalid_field

MOST_SEATS: Final = 10
MOST_ROUNDS: Final = 1_000
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HAS_A_KIND: Final = (events_pb2.SEAT_KIND_PERSON, events_pb2.SEAT_KIND_BOT)


class Report(NamedTuple):
    """A result that a match can have. `people` are the players of its persons' seats, in the order of seats."""

    match: MatchRecord
    counts: tuple[SeatCounts, ...]
    digest: bytes
    """Equal for reports of the same result, and only for those."""
    people: tuple[tuple[PlayerId, str], ...]
    """Id and name."""


def read_report(report: ReportResultRequest, families: Collection[str]) -> Report:
    """The result in a report. Raises Refusal (INVALID_FIELD) for one that no match can have."""
    match = report.match
    _check_match(match, families)
    _check_seats(match)
    if len(report.counts) not in (0, len(match.seats)):
        raise invalid_field("counts", f"{len(report.counts)} entries", f"one for each of {len(match.seats)} seats")
    counts = tuple(report.counts) or (SeatCounts(),) * len(match.seats)
    people = tuple((PlayerId(seat.player_id), seat.display_name) for seat in match.seats if _is_person(seat))
    return Report(match, counts, hashlib.sha256(_essence(match, counts)).digest(), people)


def counted(report: Report, entrants: Sequence[Entrant]) -> CountedMatch:
    """What the ledger keeps of a result; `entrants` are its people."""
    left = iter(entrants)
    seats = tuple(
        _counted_seat(report.match, seat, counts, next(left) if _is_person(seat) else Entrant(""))
        for seat, counts in zip(report.match.seats, report.counts, strict=True)
    )
    match = report.match
    return CountedMatch(match.ended.ToMilliseconds(), match.cause, match.unrated, seats)


def kept_record(report: Report, entrants: Sequence[Entrant], *, rated: bool) -> bytes:
    """The record as it is kept."""
    record = MatchRecord()
    record.CopyFrom(report.match)
    record.unrated = not rated
    left = iter(entrants)
    for seat in filter(_is_person, record.seats):
        seat.player_id, seat.display_name = next(left), ""
    return record.SerializeToString(deterministic=True)


def entrants_in(record: MatchRecord) -> list[Entrant]:
    """The entrants in a kept record, by seat."""
    return [Entrant(seat.player_id) for seat in record.seats if _is_person(seat)]


def fill_in(record: MatchRecord, known: Mapping[Entrant, tuple[PlayerId, str]]) -> MatchRecord:
    """A kept record with ids and names; a forgotten player is a pseudonym, always the same."""
    for seat in filter(_is_person, record.seats):
        entrant = Entrant(seat.player_id)
        seat.player_id, seat.display_name = known.get(entrant, (pseudonym(entrant), ""))
    return record


def hide_forgotten(about: ArchivedMatch, record: MatchRecord, known: Mapping[Entrant, tuple[PlayerId, str]]) -> None:
    """Puts pseudonyms into an archived match where its kept record would have them. The record is not filled in."""
    for seat, kept in zip(about.match.seats, record.seats, strict=False):
        if _is_person(kept) and Entrant(kept.player_id) not in known:
            seat.player_id, seat.display_name = pseudonym(Entrant(kept.player_id)), ""


def as_shown_to(player: PlayerId, record: MatchRecord) -> MatchRecord:
    """A filled-in record without the room where that is hidden from this player: its id invites, as its code does."""
    if not record.watchable and all(seat.player_id != player for seat in record.seats):
        record.ClearField("room_id")
    return record


def pseudonym(entrant: Entrant) -> str:
    """What stands for the id of a forgotten player."""
    return f"deleted-{int(entrant)}"


def _is_person(seat: MatchSeat) -> bool:
    return seat.kind == events_pb2.SEAT_KIND_PERSON


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


def _counted_seat(match: MatchRecord, seat: MatchSeat, counts: SeatCounts, entrant: Entrant) -> CountedSeat:
    return CountedSeat(
        entrant=entrant,
        side=seat.partnership,
        place=seat.place,
        winner=seat.winner,
        left=seat.deserted,
        turns=seat.turns,
        bot_turns=seat.bot_turns,
        points=match.scores[seat.partnership] if match.scores else 0,
        rounds=counts.rounds,
        rounds_won=counts.rounds_won,
        calls_missed=counts.calls_missed,
        accusations_right=counts.accusations_right,
        accusations_wrong=counts.accusations_wrong,
    )


def _essence(match: MatchRecord, counts: Sequence[SeatCounts]) -> bytes:
    """Everything that makes a result another one, without names and times."""
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

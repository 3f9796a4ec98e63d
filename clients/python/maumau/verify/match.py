"""The whole of a verification: the commitment, the ruleset, every shuffle, every card, every version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from maumau.v1 import authority_pb2, events_pb2
from maumau.verify.fair import FairMatch, commitment_of
from maumau.verify.report import Report, Wrong
from maumau.verify.shedding import SheddingTable
from maumau.verify.steps import Sequence
from maumau.verify.table import Table, expect
from maumau.verify.tranca import TrancaTable

SEED_BYTES: Final = 32
LONGEST_CONTRIBUTION: Final = 32

NOT_PROVEN: Final = (
    "that the server did not look: it knows the seed and all cards from the beginning",
    "that the server did not choose: it may abort a match, and together with whoever sent the last bytes pick a deal",
    "that each move was allowed by the rules, that calls, skips and other events without cards are complete, and in"
    " which order melds were laid one after the other",
)
"""What no replay can show, or this verification does not look at."""


def verify(
    replay: authority_pb2.GetReplayResponse,
    *,
    commitment: bytes = b"",
    contribution: bytes | None = None,
    seat: int = 0,
) -> Report:
    """Checks a replay, all pages in one. `commitment` is the one that was seen before the match; `contribution` the
    bytes that the player of `seat` sent with `ready`."""
    report = Report(replay.match_id, not_proven=list(NOT_PROVEN))
    try:
        _check_promise(replay, report, commitment)
        _check_contribution(replay, report, contribution, seat)
        options = _check_ruleset(replay, report)
        _check_course(replay, report, _table(replay, options))
    except Wrong as wrong:
        report.wrong = str(wrong)
    except (LookupError, TypeError, ValueError) as error:  # whoever made the replay may have put anything into it
        report.wrong = f"the replay cannot be followed: {error!r}"
    return report


def _check_promise(replay: authority_pb2.GetReplayResponse, report: Report, seen: bytes) -> None:
    proof = replay.proof
    expect(len(replay.seed) == SEED_BYTES, f"the seed has {len(replay.seed)} bytes instead of {SEED_BYTES}")
    expect(commitment_of(replay.seed) == proof.commitment, "the seed is not the one that was committed to")
    expect(proof.match_id == replay.match_id, "the proof is of another match")
    expect(0 <= proof.dealer < proof.seats, "the first dealer has no seat")
    expect(len(proof.contributions) == proof.seats, "there are not as many contributions as seats")
    expect(max(map(len, proof.contributions)) <= LONGEST_CONTRIBUTION, "a contribution is too long")
    report.proven.append("the seed is the one whose hash the match began with")
    if not seen:
        report.not_proven.append(
            "that the commitment is the one published before: compare it, or give it (--commitment)"
        )
        return
    expect(seen == proof.commitment, "the commitment is not the one that you saw")
    report.proven.append("the commitment is the one that you saw")


def _check_contribution(
    replay: authority_pb2.GetReplayResponse, report: Report, contribution: bytes | None, seat: int
) -> None:
    if contribution is None:
        report.not_proven.append("that your bytes went into the deal: give them (--contribution, --seat)")
        return
    expect(0 <= seat < replay.proof.seats, f"there is no seat {seat}")
    expect(replay.proof.contributions[seat] == contribution, f"the bytes of seat {seat} are not those that you sent")
    report.proven.append(f"the bytes that seat {seat} sent went into every shuffle")


def _check_ruleset(replay: authority_pb2.GetReplayResponse, report: Report) -> dict[str, Any]:
    expect(hashlib.sha256(replay.ruleset).digest() == replay.proof.ruleset_hash, "the ruleset is not that of the proof")
    try:
        ruleset = json.loads(replay.ruleset)
        options = {"game": ruleset["game"], **ruleset["options"]}
    except (ValueError, KeyError, TypeError):
        raise Wrong("the ruleset cannot be read") from None
    report.proven.append("the ruleset is the one that the match began with")
    return options


def _table(replay: authority_pb2.GetReplayResponse, options: dict[str, Any]) -> Table:
    kind = TrancaTable if options["game"] == "tranca" else SheddingTable
    match = FairMatch(replay.proof, replay.seed)
    return kind(match, replay.proof.seats, replay.proof.dealer, options)


def _check_course(replay: authority_pb2.GetReplayResponse, report: Report, table: Table) -> None:
    _check_ends(replay)
    sequence = Sequence(replay.first_version)
    for step in replay.steps:
        try:
            sequence.follow(step)
            for event in step.events:
                table.follow(event)
        except Wrong as wrong:
            raise Wrong(str(wrong), step.version) from None
    report.proven.append(f"no version between {replay.first_version} and {replay.last_version} is missing")
    cards = f"all {table.dealt} cards dealt and all {table.drawn} cards drawn"
    report.proven.append(f"in {table.round} rounds {cards} are those of the seed, through {table.shuffles} shuffles")
    report.proven.append("nobody laid a card that he did not hold; hands shown and scores agree with it")


def _check_ends(replay: authority_pb2.GetReplayResponse) -> None:
    """The match begins with the proof, and ends with the seed and all rounds ended, unless it was cut short."""
    started = [event.match_started for event in _events(replay, "match_started")]
    finished = [event.match_finished for event in _events(replay, "match_finished")]
    ended = [event.match_ended for event in _events(replay, "match_ended")]
    expect(len(started) == len(finished) == len(ended) == 1, "the match does not begin once and end once")
    expect(bool(replay.steps) and replay.steps[-1].version == replay.last_version, "the last version is missing")
    expect(started[0].proof == replay.proof, "the match began with another proof")
    expect(finished[0].match_id == replay.match_id, "another match ended")
    expect(finished[0].seed == replay.seed, "another seed was revealed")
    if started[0].number == 1:
        dealer = FairMatch(replay.proof, replay.seed).first_dealer()
        expect(dealer == replay.proof.dealer, "the first dealer is not the one that the seed draws")
    _check_scores(replay, ended[0])


def _check_scores(replay: authority_pb2.GetReplayResponse, ended: events_pb2.Event.MatchEnded) -> None:
    rounds = [event.round_ended for event in _events(replay, "round_ended")]
    begun = len(list(_events(replay, "round_started")))
    cut_short = ended.cause in (
        events_pb2.MATCH_END_CAUSE_ABORTED,
        events_pb2.MATCH_END_CAUSE_DESERTED,
        events_pb2.MATCH_END_CAUSE_VERSION_LIMIT,
    )
    if cut_short:
        return
    expect(begun == len(rounds) > 0, "a round has no end")
    expect(list(ended.scores) == list(rounds[-1].scores), "the match ended with other scores than its last round")


def _events(replay: authority_pb2.GetReplayResponse, kind: str) -> Iterator[events_pb2.Event]:
    return (event for step in replay.steps for event in step.events if event.WhichOneof("event") == kind)

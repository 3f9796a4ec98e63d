"""A match begins."""

from __future__ import annotations

from msgspec.structs import replace

from services.rules import engine
from services.rules.fairness import UNKNOWN_DEALER, DealProof, FairShuffler, commit, draw_dealer
from services.rules.room.draft import Draft
from services.rules.room.events import MatchStarted
from services.rules.room.playing import absorb
from services.rules.room.seating import close_ranks
from services.rules.room.state import Match, Room, RoomPhase, SeatCounts


def start_match(draft: Draft) -> None:
    """Deal the first round to the taken seats, which become the first ones."""
    close_ranks(draft)
    proof = _proof(draft.room)
    seed = draft.room.upcoming.seed
    step = engine.new_match(draft.room.ruleset, proof.seats, proof.dealer, FairShuffler(proof, seed))
    match = Match(
        number=draft.room.matches + 1,
        proof=proof,
        seed=seed,
        first_version=draft.version,
        state=step.state,
        began={},
        counts=(SeatCounts(),) * proof.seats,
    )
    draft.change(match=match, matches=match.number, phase=RoomPhase.PLAYING, rematch=False)
    draft.change_people(ready=False, contribution=b"", away=False, left=False, timeouts=0, round_ready=False)
    draft.tell(MatchStarted(proof=proof, number=match.number))
    absorb(draft, step.events)


def _proof(room: Room) -> DealProof:
    seats = [seat for _, seat in room.taken()]
    proof = DealProof(
        commitment=commit(room.upcoming.seed),
        match_id=room.upcoming.match_id,
        ruleset_hash=room.ruleset.hash,
        seats=len(seats),
        dealer=UNKNOWN_DEALER,
        contributions=tuple(seat.contribution for seat in seats),
    )
    if room.next_dealer is None:
        return replace(proof, dealer=draw_dealer(proof, room.upcoming.seed))
    return replace(proof, dealer=room.next_dealer % len(seats))

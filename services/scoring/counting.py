"""Counts a result: looks at the standings of its people, computes what they become, and tries again where one has moved
in between. The order in which results get through is the order of the ledger, and of ratings."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Final

from services.scoring.periods import spans_of
from services.scoring.reports import Report, counted, kept_record
from services.scoring.standings import Effect, count, encode, is_rated, read_standing
from services.store.errors import StoreUnavailable
from services.store.scoring import Applied, Conflicting, Known, Present, Result, ScoringStore, Share

MOST_TRIES: Final = 200
_PATIENT_TRIES: Final = 5
_LONGEST_PAUSE_SECONDS: Final = 0.02


async def take(store: ScoringStore, report: Report) -> Applied | Conflicting:
    """Count the result, unless its match has one. Raises StoreUnavailable, also where others are always faster."""
    pool, match = report.match.ruleset.game, report.match.match_id
    claimed = await store.claim(match, pool)
    if claimed.pool != pool:
        return Conflicting(claimed.pool)
    # A report that comes again must not bring back a player who was forgotten meanwhile.
    if not claimed.first and (known := await store.counted(pool, match, report.digest)) is not None:
        return known
    for tried in range(MOST_TRIES):
        present = await store.enlist(pool, [player for player, _ in report.people])
        answer = await store.append(_result(report, present))
        if isinstance(answer, Applied | Conflicting):
            return answer
        if tried >= _PATIENT_TRIES:
            await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
    raise StoreUnavailable("too many results of the same players at once", maybe_applied=False)


def _result(report: Report, present: Present) -> Result:
    known = [one for one in present.known if one is not None]
    entrants = [one.entrant for one in known]
    match = counted(report, entrants)
    effect = count(match, {one.entrant: read_standing(one.standing) for one in known})
    return Result(
        match=report.match.match_id,
        pool=report.match.ruleset.game,
        digest=report.digest,
        record=kept_record(report, entrants, rated=is_rated(match)),
        body=encode(match),
        ended_ms=match.ended_ms,
        generation=present.generation,
        season=present.season,
        spans=spans_of(match.ended_ms, present.season),
        shares=_shares(report, known, effect),
    )


def _shares(report: Report, known: Sequence[Known], effect: Effect) -> tuple[Share, ...]:
    return tuple(
        Share(
            entrant=one.entrant,
            player=player,
            name=name,
            before=one.standing,
            after=encode(effect.standings[one.entrant]),
            change=effect.changes.get(one.entrant, 0),
        )
        for one, (player, name) in zip(known, report.people, strict=True)
    )

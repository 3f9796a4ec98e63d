"""Results: taking one back, those that scoring does not take, seasons, whether the books are right, and the history as
JSON lines."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from maumau.internal.v1 import operator_pb2 as pb
from maumau.v1 import scoring_pb2

from services.maumauctl.app import FAULTY, Why, Yes, app, desk
from services.maumauctl.calls import Services, call, stream
from services.maumauctl.printing import Line, as_dict, moment
from services.runtime.routes import GAME_AUTHORITY, SCORING

Family = Annotated[
    str, typer.Argument(metavar="FAMILY", help="Rating family: mau-mau-32, mau-mau-brasil, uno, tranca.")
]
Season = Annotated[str, typer.Argument(metavar="SEASON", help="1 to 32 of a-z 0-9 -, for instance 2027-spring.")]


@app.command("void-match")
def void_match(
    context: typer.Context,
    match: Annotated[str, typer.Argument(metavar="MATCH", help="Id of a match that ended.")],
    why: Why,
    yes: Yes = False,
) -> None:
    """Take the result of a match back and recompute ratings and boards, also of closed seasons."""

    async def work(services: Services) -> None:
        request = pb.VoidMatchRequest(match_id=match, why=why)
        answer = await call(services.operator(SCORING).VoidMatch, request)
        state = "is done" if answer.recomputed else "goes on; the same command tells when it is done"
        again = "had been voided before" if answer.repeated_void else "is voided"
        done = {"recomputed": answer.recomputed, "repeated_void": answer.repeated_void}
        desk(context).out.done(f"{match} {again}. The recomputation {state}.", **done)

    desk(context).confirm(f"Take the result of {match} back?", yes=yes)
    desk(context).run(work)


@app.command("dead-results")
def dead_results(context: typer.Context) -> None:
    """Results that scoring refused for good. They are forgotten in the end, with the logs of their matches."""

    async def work(services: Services) -> None:
        lines = [_dead(result) for result in await _all_dead(services)]
        desk(context).out.lines(lines, "There are none.")

    desk(context).run(work)


async def _all_dead(services: Services) -> list[pb.DeadResult]:
    request, found = pb.ListDeadResultsRequest(page_size=100), list[pb.DeadResult]()
    while True:
        page = await call(services.operator(GAME_AUTHORITY).ListDeadResults, request)
        found += page.results
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def _dead(result: pb.DeadResult) -> Line:
    return {
        "match": result.match_id,
        "room": result.room_id,
        "family": result.family,
        "refused": moment(result.refused),
        "reason": result.reason,
        "forgotten": moment(result.forgotten),
    }


@app.command("retry-results")
def retry_results(
    context: typer.Context,
    matches: Annotated[list[str] | None, typer.Argument(metavar="[MATCH]...", help="Default: all of them.")] = None,
) -> None:
    """Send dead results to scoring again, and the logs of their matches with them. Scoring may refuse them again."""

    async def work(services: Services) -> None:
        wanted = matches or [result.match_id for result in await _all_dead(services)]
        for match in wanted:
            await call(services.operator(GAME_AUTHORITY).RetryDeadResult, pb.RetryDeadResultRequest(match_id=match))
        desk(context).out.done(f"Sent again: {len(wanted)}.", matches=wanted)

    desk(context).run(work)


@app.command("drop-result")
def drop_result(
    context: typer.Context,
    match: Annotated[str, typer.Argument(metavar="MATCH", help="Id of a match whose result is dead.")],
    why: Why,
    yes: Yes = False,
) -> None:
    """Forget a dead result, and the log of its match, for good."""

    async def work(services: Services) -> None:
        request = pb.DropDeadResultRequest(match_id=match, why=why)
        await call(services.operator(GAME_AUTHORITY).DropDeadResult, request)
        desk(context).out.done(f"The result of {match} is dropped.", match=match)

    desk(context).confirm(f"Drop the result of {match} for good?", yes=yes)
    desk(context).run(work)


@app.command("audit")
def audit(context: typer.Context, family: Family) -> None:
    """Replay the ledger of a rating family beside what is shown, and tell where they differ. Exit code 4 where they
    do."""

    async def work(services: Services) -> None:
        answer = await call(services.operator(SCORING).AuditFamily, pb.AuditFamilyRequest(family=family))
        facts = {name: getattr(answer, name) for name in ("entries", "compared", "differences")}
        desk(context).out.one({**facts, "examples": "; ".join(answer.examples)})
        if answer.differences:
            desk(context).fail(FAULTY, "FAULTS", f"{answer.differences} differences found.")

    desk(context).run(work)


@app.command("seasons")
def seasons(context: typer.Context, family: Family) -> None:
    """The seasons of a rating family, newest first."""

    async def work(services: Services) -> None:
        answer = await call(services.operator(SCORING).ListFamilySeasons, pb.ListFamilySeasonsRequest(family=family))
        desk(context).out.lines([_season(season) for season in answer.seasons], "There are no seasons.")

    desk(context).run(work)


@app.command("open-season")
def open_season(
    context: typer.Context,
    family: Family,
    season: Season,
    name: Annotated[str, typer.Argument(help="How it is shown, 1 to 64 characters.")],
) -> None:
    """Begin a season: results count on its board from now on. One runs at a time."""

    async def work(services: Services) -> None:
        request = pb.OpenSeasonRequest(family=family, season_id=season, name=name)
        answer = await call(services.operator(SCORING).OpenSeason, request)
        desk(context).out.one(_season(answer.season))

    desk(context).run(work)


@app.command("close-season")
def close_season(context: typer.Context, family: Family, season: Season, yes: Yes = False) -> None:
    """End the running season for good; its board is kept."""

    async def work(services: Services) -> None:
        answer = await call(
            services.operator(SCORING).CloseSeason, pb.CloseSeasonRequest(family=family, season_id=season)
        )
        desk(context).out.one(_season(answer.season))

    desk(context).confirm(f"End season {season} of {family} for good?", yes=yes)
    desk(context).run(work)


def _season(season: scoring_pb2.Season) -> Line:
    return {
        "season": season.season_id,
        "name": season.name,
        "opened": moment(season.opened),
        "closed": moment(season.closed),
    }


@app.command("export-history")
def export_history(
    context: typer.Context,
    family: Family,
    since: Annotated[str, typer.Option(help="Matches that ended at this time or later: 2026-11-30[T12:00:00Z].")] = "",
    until: Annotated[str, typer.Option(help="Matches that ended before this time.")] = "",
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output.")] = None,
) -> None:
    """The matches of a rating family as JSON lines, in the order in which they were counted."""
    request = pb.ExportHistoryRequest(family=family, ended_from=_time(since), ended_until=_time(until))

    async def work(services: Services) -> None:
        with ExitStack() as stack:
            file = sys.stdout if out is None else stack.enter_context(out.open("w", encoding="utf-8"))
            async for answer in stream(services.operator(SCORING).ExportHistory, request):
                file.write(json.dumps(as_dict(answer.match), ensure_ascii=False) + "\n")

    desk(context).run(work)


def _time(text: str) -> Timestamp | None:
    """A day or a point in time, in UTC unless it says otherwise; None for nothing."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time such as 2026-11-30 or 2026-11-30T12:00:00Z") from None
    stamp = Timestamp()
    stamp.FromDatetime(found if found.tzinfo else found.replace(tzinfo=UTC))
    return stamp

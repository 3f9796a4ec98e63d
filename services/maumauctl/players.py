"""Players: keeping some quiet or away, and what others report of them."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer
from maumau.internal.v1 import operator_pb2 as pb
from maumau.v1 import authority_pb2

from services.maumauctl.app import Yes, app, desk, seconds_of
from services.maumauctl.calls import Services, call, stream
from services.maumauctl.printing import Line, as_dict, moment
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, SCORING, SERVICES

REPEAT_SECONDS: Final = 1.0

PlayerId = Annotated[str, typer.Argument(metavar="PLAYER", help="Id of a player, known to the server or not.")]
Time = Annotated[str, typer.Option("--for", help="For how long: 90s, 30m, 12h, 7d.")]
Note = Annotated[str, typer.Option("--why", help="The reason, for the record: up to 200 characters.")]


@app.command("mute")
def mute(context: typer.Context, player: PlayerId, lasting: Time, why: Note = "") -> None:
    """Deliver nothing that a player writes, in all rooms, until the time is over."""
    _mute(context, player, seconds_of(lasting), why, f"{player} is muted for {lasting}.")


@app.command("unmute")
def unmute(context: typer.Context, player: PlayerId, why: Note = "") -> None:
    """Deliver again what a player writes."""
    _mute(context, player, 0, why, f"{player} is not muted.")


def _mute(context: typer.Context, player: str, seconds: int, why: str, sentence: str) -> None:
    async def work(services: Services) -> None:
        request = pb.MutePlayerRequest(player_id=player, seconds=seconds, why=why)
        await call(services.operator(GAME_AUTHORITY).MutePlayer, request)
        desk(context).out.done(sentence, player=player, seconds=seconds)

    desk(context).run(work)


@app.command("mutes")
def mutes(context: typer.Context) -> None:
    """The players who are muted in all rooms."""

    async def work(services: Services) -> None:
        request, lines = pb.ListMutesRequest(), list[Line]()
        while True:
            page = await call(services.operator(GAME_AUTHORITY).ListMutes, request)
            lines += [_sanction(each) for each in page.mutes]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        desk(context).out.lines(lines, "Nobody is muted.")

    desk(context).run(work)


@app.command("ban")
def ban(context: typer.Context, player: PlayerId, lasting: Time, why: Note = "") -> None:
    """Keep a player away from the server; what it watches ends within 2 s."""
    _ban(context, player, seconds_of(lasting), why, f"{player} is banned for {lasting}.")


@app.command("unban")
def unban(context: typer.Context, player: PlayerId, why: Note = "") -> None:
    """Let a player in again."""
    _ban(context, player, 0, why, f"{player} is not banned.")


def _ban(context: typer.Context, player: str, seconds: int, why: str, sentence: str) -> None:
    async def work(services: Services) -> None:
        request = pb.BanPlayerRequest(player_id=player, seconds=seconds, why=why)
        await call(services.operator(MATCHMAKING).BanPlayer, request)
        desk(context).out.done(sentence, player=player, seconds=seconds)

    desk(context).run(work)


@app.command("bans")
def bans(context: typer.Context) -> None:
    """The players who are banned."""

    async def work(services: Services) -> None:
        request, lines = pb.ListBansRequest(), list[Line]()
        while True:
            page = await call(services.operator(MATCHMAKING).ListBans, request)
            lines += [_sanction(each) for each in page.bans]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        desk(context).out.lines(lines, "Nobody is banned.")

    desk(context).run(work)


def _sanction(sanction: pb.Sanction) -> Line:
    return {"player": sanction.player_id, "until": moment(sanction.until), "why": sanction.why}


@app.command("reports")
def reports(
    context: typer.Context,
    open_only: Annotated[bool, typer.Option("--open", help="Those that nobody has closed yet.")] = False,
    about: Annotated[str, typer.Option(metavar="PLAYER", help="About this player only.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
) -> None:
    """What players report of each other, the newest first."""

    async def work(services: Services) -> None:
        request = pb.ListReportsRequest(open_only=open_only, player_id=about, page_size=min(limit, 100))
        lines: list[Line] = []
        while len(lines) < limit:
            page = await call(services.operator(GAME_AUTHORITY).ListReports, request)
            lines += [_report(report) for report in page.reports]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        desk(context).out.lines(lines[:limit], "There are no such reports.")

    desk(context).run(work)


@app.command("close-report")
def close_report(
    context: typer.Context,
    report: Annotated[str, typer.Argument(metavar="REPORT", help="Id of a report.")],
    verdict: Annotated[str, typer.Argument(help="What became of it, 1 to 200 characters.")],
) -> None:
    """Note what became of a report. The first note stands."""

    async def work(services: Services) -> None:
        request = pb.CloseReportRequest(report_id=report, verdict=verdict)
        answer = await call(services.operator(GAME_AUTHORITY).CloseReport, request)
        desk(context).out.one(_report(answer.report))

    desk(context).run(work)


def _report(report: pb.PlayerReport) -> Line:
    return {
        "report": report.report_id,
        "time": moment(report.time),
        "reason": authority_pb2.ReportReason.Name(report.reason).removeprefix("REPORT_REASON_").lower(),
        "player": report.player_id,
        "name": report.display_name,
        "room": report.room_id,
        "by": report.reporter_id,
        "text": report.text,
        "closed": moment(report.closed),
        "closed by": report.closed_by,
        "verdict": report.verdict,
    }


@app.command("export-player")
def export_player(
    context: typer.Context,
    player: PlayerId,
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output.")] = None,
) -> None:
    """All that is kept of a player, as JSON lines: profile, sessions, ticket, party, blocks, rooms, reports that the
    player made, sanctions, statistics, ratings, places on boards, matches."""

    async def work(services: Services) -> None:
        request = pb.ExportPlayerRequest(player_id=player)
        with ExitStack() as stack:
            file = sys.stdout if out is None else stack.enter_context(out.open("w", encoding="utf-8"))
            for service in SERVICES:
                async for part in stream(services.operator(service).ExportPlayer, request):
                    file.write(json.dumps(as_dict(part), ensure_ascii=False) + "\n")

    desk(context).run(work)


@app.command("delete-player")
def delete_player(
    context: typer.Context,
    player: PlayerId,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a running match and its result.")] = 5,
    yes: Yes = False,
) -> None:
    """Forget a player for good. Sessions end at once, seats are given up, a pseudonym takes the player's place in the
    matches and replays of others. Bans, mutes and what others reported stay until their time is over."""

    async def work(services: Services) -> None:
        ends = time.monotonic() + wait
        parts, again = await _delete(services, player)
        while again and time.monotonic() < ends:
            await asyncio.sleep(REPEAT_SECONDS)
            found, again = await _delete(services, player)
            parts += [part for part in found if part not in parts]
        more = " A match still runs in which the player sat: repeat this when it has ended." if again else ""
        told = ", ".join(parts) or "nothing was kept"
        desk(context).out.done(f"{player} is forgotten: {told}.{more}", parts=parts, again=again)

    desk(context).confirm(f"Forget {player} for good?", yes=yes)
    desk(context).run(work)


async def _delete(services: Services, player: str) -> tuple[list[str], bool]:
    """What was deleted, and whether it has to be done again."""
    parts: list[str] = []
    again = False
    for service in (MATCHMAKING, GAME_AUTHORITY, SCORING):  # scoring last, since leaving a match is a result, too
        answer = await call(services.operator(service).DeletePlayer, pb.DeletePlayerRequest(player_id=player))
        parts += [*answer.parts, *(f"results in {family}" for family in answer.families)]
        again = again or answer.again
    return parts, again

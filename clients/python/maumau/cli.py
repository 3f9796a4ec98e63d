"""The command `maumau`: play in a terminal, watch, let bots play."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from maumau import replays
from maumau.blocks_command import blocks_app
from maumau.bots.choosers import Level
from maumau.bots.report import MatchReport
from maumau.bots.runner import BotRun, run_matches
from maumau.client import Client, connect
from maumau.errors import MaumauError, Unavailable
from maumau.rulesets import PlainValue, parse_option
from maumau.terminal import proofs
from maumau.terminal.boards import FAMILIES, PERIODS, history, leaderboard, rating
from maumau.terminal.play import Connected, PlayPlan, play, watch
from maumau.v1 import room_pb2
from maumau.verify import verify

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(blocks_app, name="blocks")
_console = Console(highlight=False, markup=False, emoji=False)  # names and titles are shown as people wrote them
_Result = TypeVar("_Result")

Address = Annotated[
    str | None,
    typer.Option(
        help="Server as host:port, or https://host for TLS. Default: MAUMAU_ADDRESS, else var/run.json, else "
        "127.0.0.1:7700."
    ),
]
Ruleset = Annotated[str, typer.Option(help="Preset: mau-mau-32, mau-mau-brasil, uno, uno-mattel, uno-casa, tranca, …")]
Options = Annotated[list[str] | None, typer.Option("--option", help="A rule of the preset changed: key=value.")]


def main() -> None:
    """Entry point: what goes wrong is one sentence and exit status 1."""
    try:
        app()
    except MaumauError as error:
        _fail(error)
    except OSError as error:  # a file that cannot be written
        _fail(MaumauError(str(error)))
    except KeyboardInterrupt:
        sys.exit(130)


@app.command("play")
def play_command(
    bots: Annotated[int, typer.Option(min=0, max=9, help="Bots to play against; 0 waits for people.")] = 3,
    ruleset: Ruleset = "mau-mau-32",
    room: Annotated[str, typer.Option(help="Id of a room to join instead of making one.")] = "",
    invite: Annotated[str, typer.Option(help="Invite code of a room to join.")] = "",
    name: Annotated[str, typer.Option(help="Your name, 2 to 24 characters.")] = "",
    seats: Annotated[int, typer.Option(min=0, max=10, help="Seats of a new room; 0: yourself and the bots.")] = 0,
    option: Options = None,
    quick: Annotated[bool, typer.Option("--quick", help="With anybody who wants the same; bots fill in soon.")] = False,
    party: Annotated[bool, typer.Option("--party", help="With --quick: friends come along, by a code.")] = False,
    party_code: Annotated[str, typer.Option(help="Code of a friend's party, to be matched together.")] = "",
    public: Annotated[bool, typer.Option("--public", help="Let others find and watch the room.")] = False,
    address: Address = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a screen.")] = False,
    new_guest: Annotated[bool, typer.Option("--new-guest", help="Play as a new guest, not as last time.")] = False,
) -> None:
    """Play in this terminal, against bots or with friends."""
    plan = PlayPlan(
        bots=bots,
        ruleset=ruleset,
        room=room,
        invite=invite,
        seats=seats,
        options=tuple(option or ()),
        name=name,
        quick=quick or party or bool(party_code),
        party=party,
        party_code=party_code,
        public=public,
        remembered=not new_guest,
        plain=plain,
    )
    _run(play(plan, lambda: connect(address, name=name, remember=not new_guest)))


@app.command("watch")
def watch_command(
    room: Annotated[str, typer.Argument(help="Id of the room.")],
    address: Address = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a screen.")] = False,
) -> None:
    """Watch a room without a seat."""
    _run(watch(room, lambda: connect(address, remember=True), plain=plain))


@app.command("rooms")
def rooms_command(
    address: Address = None, ruleset: Annotated[str, typer.Option(help="Only this preset.")] = ""
) -> None:
    """List your own rooms and the open public ones."""
    _run(_list_rooms(lambda: connect(address, remember=True), ruleset))


def _period(value: str) -> str:
    if value not in PERIODS:
        raise typer.BadParameter(f"one of {', '.join(PERIODS)}")
    return value


@app.command("leaderboard")
def leaderboard_command(
    family: Annotated[str, typer.Argument(help="Game: mau-mau-32, mau-mau-brasil, uno or tranca.")] = "mau-mau-32",
    lines: Annotated[int, typer.Option(min=1, max=100, help="How many of the best.")] = 10,
    period: Annotated[str, typer.Option(help="all, day, week, month or season.", callback=_period)] = "all",
    season: Annotated[str, typer.Option(help="Id of a season, also of one that is over.")] = "",
    address: Address = None,
) -> None:
    """Show the best players of a game, and your own place."""
    _run(
        _show(
            lambda: connect(address, remember=True),
            lambda client: leaderboard(client, family, lines, period, season),
        )
    )


@app.command("rating")
def rating_command(
    family: Annotated[list[str] | None, typer.Argument(help="Games; without any, all.")] = None,
    address: Address = None,
) -> None:
    """Show how strong you are, as far as your matches tell."""
    _run(_show(lambda: connect(address, remember=True), lambda client: rating(client, family or FAMILIES)))


@app.command("history")
def history_command(
    family: Annotated[str, typer.Option(help="Only this game.")] = "",
    lines: Annotated[int, typer.Option(min=1, max=100, help="How many of the last.")] = 10,
    address: Address = None,
) -> None:
    """Show your last matches."""
    _run(_show(lambda: connect(address, remember=True), lambda client: history(client, family, lines)))


@app.command("replay")
def replay_command(
    room: Annotated[str, typer.Argument(help="Id of the room.")],
    match: Annotated[str, typer.Option(help="Id of the match; without it the last one.")] = "",
    save: Annotated[Path | None, typer.Option(help="File to write; without it one named after the match.")] = None,
    address: Address = None,
) -> None:
    """Keep the replay of a match that ended in a file."""
    fetched = _run(proofs.fetch(lambda: connect(address, remember=True), room, match))
    _console.print(proofs.keep(fetched, save))


@app.command("verify")
def verify_command(
    what: Annotated[str, typer.Argument(help="A file that `maumau replay` wrote, or the id of a room.")],
    match: Annotated[str, typer.Option(help="Id of the match in the room; without it the last one.")] = "",
    commitment: Annotated[str, typer.Option(help="The commitment that you saw before the match, in hex.")] = "",
    contribution: Annotated[str | None, typer.Option(help="The bytes that you sent with ready, in hex.")] = None,
    seat: Annotated[int, typer.Option(min=0, help="Your seat in the match.")] = 0,
    address: Address = None,
) -> None:
    """Deal a match again from its revealed seed and compare every card; exit status 1 if anything does not hold."""
    file = Path(what)
    if file.is_file():
        replay = replays.load(file)
    else:
        replay = _run(proofs.fetch(lambda: connect(address, remember=True), what, match))
    report = verify(
        replay,
        commitment=_hex(commitment, "--commitment"),
        contribution=None if contribution is None else _hex(contribution, "--contribution"),
        seat=seat,
    )
    _console.print(proofs.told(report), soft_wrap=True)
    if not report.holds:
        raise typer.Exit(1)


def _hex(text: str, option: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise typer.BadParameter(f"{option} takes hexadecimal digits") from None


@app.command("info")
def info_command(address: Address = None) -> None:
    """Say what the server is and which presets it has."""
    _run(_show_info(lambda: connect(address, remember=True)))


@app.command("bots")
def bots_command(
    ruleset: Ruleset = "mau-mau-32",
    seats: Annotated[int, typer.Option(min=2, max=10, help="Bots at a table.")] = 4,
    matches: Annotated[int, typer.Option(min=1, help="Matches in all.")] = 1,
    tables: Annotated[int, typer.Option(min=1, help="Tables that play at once.")] = 1,
    seed: Annotated[int, typer.Option(help="Bots with the same seed choose alike.")] = 0,
    level: Annotated[str, typer.Option(help="random or heuristic.")] = "random",
    json: Annotated[bool, typer.Option("--json", help="One line of JSON a match.")] = False,
    unary: Annotated[bool, typer.Option("--unary/--play", help="Act and Watch instead of one Play stream.")] = False,
    option: Options = None,
    address: Address = None,
    match_seconds: Annotated[float, typer.Option(min=1, help="The most that a match may take.")] = 600.0,
) -> None:
    """Let bots play against each other, as real clients; exit status 1 if a match failed."""
    if level not in ("random", "heuristic"):
        raise typer.BadParameter(f"{level!r} is no level; it is random or heuristic")
    chosen: Level = "random" if level == "random" else "heuristic"
    options = _run(_read_options(lambda: connect(address), ruleset, option or []))
    run = BotRun(
        ruleset=ruleset,
        seats=seats,
        matches=matches,
        tables=tables,
        seed=seed,
        level=chosen,
        mode="unary" if unary else "play",
        address=address,
        options=options,
        match_seconds=match_seconds,
    )
    if not _run(run_matches(run, _print_json if json else _print_line)):
        raise typer.Exit(1)


@app.command("synthetic")
def synthetic_command(
    address: Address = None,
    host: Annotated[str, typer.Option(help="Where its metrics are shown.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of /metrics; 0 takes a free one.")] = 7803,
    ruleset: Ruleset = "mau-mau-32",
    moves: Annotated[int, typer.Option(min=1, help="Own moves in a match.")] = 8,
    pause_seconds: Annotated[float, typer.Option(min=0, help="Pause between two matches.")] = 5.0,
) -> None:
    """Play all the time, unrated and unseen, and show as metrics whether it works."""
    try:
        from maumau.bots import synthetic
    except ModuleNotFoundError as missing:
        raise typer.BadParameter("this needs `pip install 'maumau[synthetic]'`") from missing
    signs = synthetic.Signs()
    _console.print(f"metrics at http://{host}:{signs.serve(host, port)}/metrics")
    _run(synthetic.SyntheticPlayer(synthetic.SyntheticRun(address, ruleset, moves, pause_seconds), signs).play())


def _print_json(report: MatchReport) -> None:
    sys.stdout.write(report.as_json() + "\n")
    sys.stdout.flush()


def _print_line(report: MatchReport) -> None:
    view = report.view or room_pb2.RoomView()
    won = ", ".join(f"seat {seat}" for seat in view.outcome.winners) or "nobody"
    accepted = sum(seat.accepted for seat in report.seats)
    ending = (
        f"{won} won, {accepted} actions, {report.duration_seconds:.1f} s" if report.ok else report.error or "failed"
    )
    _console.print(f"{'ok    ' if report.ok else 'FAILED'} room {report.room}: {ending}")


async def _read_options(connected: Connected, ruleset: str, texts: list[str]) -> dict[str, PlainValue]:
    """The options as typed, with the kinds that the server states."""
    async with connected() as client:  # also without options: a server that is not there shows at once
        presets = await client.rulesets(ruleset) if texts else []
    return dict(parse_option(text, presets[0]) for text in texts)


async def _list_rooms(connected: Connected, preset: str) -> None:
    table = Table("room", "ruleset", "title", "state", "seats", box=None, pad_edge=False)
    async with connected() as client:
        own = {room.room_id: room async for room in client.my_rooms()}
        for room in own.values():
            table.add_row(*_room_row(room), style="bold")
        async for room in client.rooms(preset=preset):
            if room.room_id not in own:
                table.add_row(*_room_row(room))
    _console.print(table if table.row_count else "There are no open rooms.")


def _room_row(room: room_pb2.RoomSummary) -> tuple[str, str, str, str, str]:
    state = room_pb2.RoomState.Name(room.state).removeprefix("ROOM_STATE_").lower().replace("_", " ")
    seats = f"{room.seats - room.free_seats} of {room.seats}"
    return room.room_id, room.ruleset_label, room.title, state, seats


async def _show(connected: Connected, ask: Callable[[Client], Awaitable[Table | str]]) -> None:
    async with connected() as client:
        _console.print(await ask(client))


async def _show_info(connected: Connected) -> None:
    async with connected() as client:
        info = await client.server_info()
        presets = await client.rulesets()
        player = await client.player()
    _console.print(f"Server {info.version} at {client.address}, API revision {info.api_revision}")
    _console.print(f"You are {player.display_name} ({player.player_id})")
    for preset in presets:
        seats = f"{preset.ruleset.min_seats} to {preset.ruleset.max_seats} seats"
        _console.print(f"  {preset.ruleset.preset:<18} {preset.title}, {seats}")


def _run(work: Coroutine[Any, Any, _Result]) -> _Result:
    return asyncio.run(work)


def _fail(error: MaumauError) -> None:
    hint = ""
    if isinstance(error, Unavailable) and not error.reason:
        hint = "\nIs the server running? `make run` starts one; MAUMAU_ADDRESS or --address names another."
    Console(stderr=True, highlight=False).print(f"maumau: {error}{hint}", markup=False)
    sys.exit(1)


if __name__ == "__main__":
    main()

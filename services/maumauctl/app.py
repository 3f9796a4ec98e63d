"""The command's frame: what all of its parts share, from the options before the command to the exit code.

Exit codes: 0 done, 1 refused, 2 not understood (the command line, a setting or the key folder), 3 nobody answers,
4 `check` or `audit` found a fault, 5 not confirmed.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from services.maumauctl.calls import Refused, Services, Unreachable
from services.maumauctl.place import find_settings
from services.maumauctl.printing import Printer
from services.runtime.key_folder import KeyFolderError
from services.runtime.settings import Settings, SettingsError
from services.runtime.tls import TlsFolderError

REFUSED: Final = 1
NOT_UNDERSTOOD: Final = 2
UNREACHABLE: Final = 3
FAULTY: Final = 4
NOT_CONFIRMED: Final = 5

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Looks at a running Maumau and acts on it, with the operator's own credential, on the services' internal "
    "ports. Where they are is read from the settings MAUMAU_*_TARGET and MAUMAU_KEYS_DIR, or from var/run.json beside "
    "`make run`. Exit codes: 0 done, 1 refused, 2 not understood, 3 nobody answers, 4 check or audit found a "
    "fault, 5 not confirmed.",
)

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Why = Annotated[str, typer.Option("--why", help="The reason, for the record: 1 to 200 characters.")]


class Desk:
    """One run of the command: how it prints and with what it calls."""

    def __init__(self, printer: Printer, credential: Path | None) -> None:
        self.out = printer
        self._credential = credential

    def settings(self) -> Settings:
        """As the services read them. Ends the command where they cannot be used."""
        try:
            return find_settings()
        except SettingsError as error:
            self.fail(NOT_UNDERSTOOD, "SETTINGS", str(error))

    def run(self, work: Callable[[Services], Awaitable[None]]) -> None:
        """Does the work with the services; ends the command with the code of what went wrong."""
        settings = self.settings()
        try:
            asyncio.run(self._run(work, settings))
        except Refused as refused:
            self.fail(REFUSED, refused.reason, refused.sentence, refused.metadata)
        except Unreachable as error:
            self.fail(UNREACHABLE, "UNREACHABLE", str(error))
        except (KeyFolderError, TlsFolderError) as error:
            self.fail(NOT_UNDERSTOOD, "CREDENTIAL", str(error))

    async def _run(self, work: Callable[[Services], Awaitable[None]], settings: Settings) -> None:
        async with Services(settings, self._credential) as services:
            await work(services)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks before what cannot be taken back; ends the command where nobody agrees."""
        if yes:
            return
        if not sys.stdin.isatty():
            self.fail(NOT_CONFIRMED, "NOT_CONFIRMED", f"{question} Nobody can be asked here: add --yes.")
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            self.fail(NOT_CONFIRMED, "NOT_CONFIRMED", "Nothing was done.")

    def fail(self, code: int, reason: str, sentence: str, metadata: dict[str, str] | None = None) -> NoReturn:
        """Ends the command."""
        self.out.refused(reason, sentence, metadata or {})
        raise typer.Exit(code)


@app.callback()
def _before(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of tables, also for refusals.")] = False,
    credential: Annotated[
        Path | None,
        typer.Option(help="File of the operator's credential. Default: operator.secret of the key folder."),
    ] = None,
) -> None:
    context.obj = Desk(Printer(as_json=as_json), credential)


def desk(context: typer.Context) -> Desk:
    """The desk of this run."""
    found: Desk = context.obj
    return found


def seconds_of(text: str) -> int:
    """A time as people write it: `90s`, `30m`, `12h`, `7d`. Ends the command for anything else."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no time such as 90s, 30m, 12h or 7d")
    return int(match[1]) * _UNITS[match[2]]

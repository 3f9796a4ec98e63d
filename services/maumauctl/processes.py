"""Processes: which there are, and taking one out of service without stopping it."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import typer
from maumau.internal.v1 import process_pb2 as pb

from services.maumauctl.app import Desk, Why, Yes, app, desk
from services.maumauctl.calls import Refused, Services, Unreachable, call
from services.maumauctl.place import Address, addresses
from services.maumauctl.printing import Line, moment

LOOK_SECONDS: Final = 0.5

Named = Annotated[list[str] | None, typer.Argument(metavar="ADDRESS...", help="As `processes` lists them.")]
All = Annotated[bool, typer.Option("--all", help="Every process.")]
Found = tuple[Address, pb.Process | None]


@app.command("processes")
def processes(context: typer.Context) -> None:
    """Every process of every service, and whether it serves."""

    async def work(services: Services) -> None:
        found = await _look(services, addresses(desk(context).settings()))
        desk(context).out.lines([_line(*each) for each in found], "There are no processes.")

    desk(context).run(work)


async def _look(services: Services, where: list[Address]) -> list[Found]:
    async def one(address: Address) -> Found:
        try:
            answer = await call(services.process(address).GetProcess, pb.GetProcessRequest())
        except Unreachable:
            return address, None
        return address, answer.process

    return list(await asyncio.gather(*(one(address) for address in where)))


def _line(address: Address, process: pb.Process | None) -> Line:
    if process is None:
        state, process = "unreachable", pb.Process()
    else:
        state = "drained" if process.drained else "serving" if process.serving else "not serving"
    return {
        "service": address.service,
        "address": address.text,
        "state": state,
        "streams": process.streams,
        "pid": process.pid,
        "host": process.host_name,
        "version": process.version,
        "started": moment(process.started),
    }


@app.command("drain")
def drain(
    context: typer.Context,
    why: Why,
    named: Named = None,
    every: All = False,
    wait: Annotated[float, typer.Option(min=0, help="Wait so many seconds until no stream is left.")] = 0,
    yes: Yes = False,
) -> None:
    """Take processes out of service: health says NOT_SERVING, streams are sent to other processes, new rooms are made
    elsewhere. They go on running until `resume` or a signal. The last one of a service is drained with --all alone."""

    async def work(services: Services) -> None:
        known = await _look(services, addresses(desk(context).settings()))
        chosen = _chosen(known, named or [], every=every)
        if not every:
            _keep_one(known, chosen)
        for address in chosen:
            await call(services.process(address).Drain, pb.DrainRequest(why=why))
        left = await _until_empty(services, chosen, wait)
        _tell(desk(context), await _look(services, chosen))
        if wait and left:
            raise Refused("STREAMS_LEFT", f"{left} streams are still open after {wait:g} s.")

    what = "every process" if every else ", ".join(named or [])
    desk(context).confirm(f"Take {what} out of service?", yes=yes)
    desk(context).run(work)


@app.command("resume")
def resume(context: typer.Context, named: Named = None, every: All = False) -> None:
    """Take drained processes back into service."""

    async def work(services: Services) -> None:
        known = await _look(services, addresses(desk(context).settings()))
        chosen = _chosen(known, named or [], every=every)
        for address in chosen:
            await call(services.process(address).Resume, pb.ResumeRequest())
        _tell(desk(context), await _look(services, chosen))

    desk(context).run(work)


def _tell(at: Desk, found: list[Found]) -> None:
    at.out.lines([_line(*each) for each in found], "There are no processes.")


def _chosen(known: list[Found], named: list[str], *, every: bool) -> list[Address]:
    """Raises `Refused` for an address where no process is."""
    there = {address.text: address for address, process in known if process is not None}
    if bool(named) == every:
        raise Refused("INVALID_FIELD", "Name processes by their addresses, or all of them with --all.")
    for text in named:
        if text not in there:
            raise Refused("PROCESS_NOT_FOUND", f"No process answers at {text}; `maumauctl processes` lists them.")
    return list(there.values()) if every else [there[text] for text in dict.fromkeys(named)]


def _keep_one(known: list[Found], chosen: list[Address]) -> None:
    """Raises `Refused` where a service would have nobody left who serves."""
    for service in {address.service for address in chosen}:
        serving = {a for a, process in known if a.service == service and process is not None and process.serving}
        if serving <= set(chosen):
            raise Refused("LAST_PROCESS", f"No process of {service} would serve any more; use --all for that.")


async def _until_empty(services: Services, chosen: list[Address], wait: float) -> int:
    """How many streams are left when none is, or the time is over."""
    ends = time.monotonic() + wait
    while True:
        left = sum(process.streams for _, process in await _look(services, chosen) if process is not None)
        if not left or time.monotonic() >= ends:
            return left
        await asyncio.sleep(LOOK_SECONDS)

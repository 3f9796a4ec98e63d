"""Rooms: which there are, how one looks to everybody, and ending what should not go on."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from maumau.internal.v1 import operator_pb2 as pb
from maumau.v1 import room_pb2

from services.maumauctl.app import Why, Yes, app, desk
from services.maumauctl.calls import Services, call
from services.maumauctl.printing import Line, as_dict, moment
from services.runtime.routes import GAME_AUTHORITY

_STATES = {name.removeprefix("ROOM_STATE_").lower(): number for name, number in room_pb2.RoomState.items() if number}

RoomId = Annotated[str, typer.Argument(metavar="ROOM", help="Id of a room.")]


def _state(text: str) -> str:
    if text and text not in _STATES:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(_STATES)}")
    return text


@app.command("rooms")
def rooms(
    context: typer.Context,
    state: Annotated[str, typer.Option(callback=_state, help=f"One of {', '.join(_STATES)}. Default: all.")] = "",
    preset: Annotated[str, typer.Option(help="Of this preset only.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 1_000,
) -> None:
    """All rooms that are not closed, also hidden ones; never their cards."""

    async def work(services: Services) -> None:
        request = pb.ListAllRoomsRequest(preset=preset, page_size=min(limit, 100))
        request.state = room_pb2.RoomState.ValueType(_STATES.get(state, 0))
        lines: list[Line] = []
        while len(lines) < limit:
            page = await call(services.operator(GAME_AUTHORITY).ListAllRooms, request)
            lines += [_line(room) for room in page.rooms]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        desk(context).out.lines(lines[:limit], "There are no such rooms.")

    desk(context).run(work)


def _line(room: pb.OperatedRoom) -> Line:
    about = room.room
    return {
        "room": about.room_id,
        "state": room_pb2.RoomState.Name(about.state).removeprefix("ROOM_STATE_").lower(),
        "ruleset": about.ruleset_label,
        "seats": about.seats,
        "free": about.free_seats,
        "people": about.people,
        "hidden": room.hidden,
        "version": room.version,
        "match": room.match_id,
        "deadline": moment(room.deadline),
        "created": moment(about.created),
        "title": about.title,
    }


@app.command("room")
def room(context: typer.Context, room_id: RoomId) -> None:
    """One room as a spectator sees it, also a hidden one."""

    async def work(services: Services) -> None:
        answer = await call(services.operator(GAME_AUTHORITY).InspectRoom, pb.InspectRoomRequest(room_id=room_id))
        desk(context).out.message(answer.room)

    desk(context).run(work)


@app.command("end-match")
def end_match(context: typer.Context, room_id: RoomId, why: Why, yes: Yes = False) -> None:
    """End the running match of a room without a result; it does not count, and the room stays."""
    _end(context, room_id, why, f"End the match in {room_id}?", yes=yes, match_only=True)


@app.command("end-room")
def end_room(context: typer.Context, room_id: RoomId, why: Why, yes: Yes = False) -> None:
    """Close a room for good; the players read why. A running match ends without a result."""
    _end(context, room_id, why, f"Close {room_id} for good?", yes=yes, match_only=False)


def _end(context: typer.Context, room_id: str, why: str, question: str, *, yes: bool, match_only: bool) -> None:
    async def work(services: Services) -> None:
        request = pb.EndRoomRequest(room_id=room_id, match_only=match_only, why=why, request_id=os.urandom(16))
        answer = await call(services.operator(GAME_AUTHORITY).EndRoom, request)
        what = "The match has ended" if match_only else "The room is closed"
        desk(context).out.done(f"{what}, with version {answer.version}.", **as_dict(answer))

    desk(context).confirm(question, yes=yes)
    desk(context).run(work)


@app.command("announce")
def announce(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="1 to 300 characters on one line.")],
    yes: Yes = False,
) -> None:
    """Say something to everybody in all rooms. Nobody hears it later."""

    async def work(services: Services) -> None:
        request = pb.AnnounceRequest(text=text, request_id=os.urandom(16))
        answer = await call(services.operator(GAME_AUTHORITY).Announce, request)
        desk(context).out.done(f"Said in {answer.rooms} rooms.", rooms=answer.rooms)

    desk(context).confirm("Say this to everybody?", yes=yes)
    desk(context).run(work)

"""Replays: whole logs of matches that ended, fetched page by page, kept in files."""

from __future__ import annotations

from pathlib import Path

from google.protobuf import json_format

from maumau.calls import Calls
from maumau.errors import MaumauError
from maumau.v1 import authority_pb2, authority_pb2_grpc

Replay = authority_pb2.GetReplayResponse
"""All pages of one match in one message."""

_PAGE = 500


class NoReplay(MaumauError):  # noqa: N818 - the name says it
    """A file that holds no replay."""


async def fetch(
    calls: Calls, stub: authority_pb2_grpc.GameAuthorityServiceStub, room_id: str, match_id: str = ""
) -> Replay:
    """The replay of a match of this room, of its last one without an id."""
    whole = Replay()
    request = authority_pb2.GetReplayRequest(room_id=room_id, match_id=match_id, page_size=_PAGE)
    while True:
        page = await calls.call(stub.GetReplay, request, room_id=room_id, repeatable=True)
        whole.MergeFrom(page)
        if not page.next_page_token:
            whole.ClearField("next_page_token")
            return whole
        request.page_token = page.next_page_token


def save(replay: Replay, path: Path) -> None:
    """Writes the replay as JSON (the contract's JSON form)."""
    path.write_text(json_format.MessageToJson(replay, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Replay:
    """Reads what `save` wrote. Raises NoReplay, OSError."""
    try:
        return json_format.Parse(path.read_text(encoding="utf-8"), Replay())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise NoReplay(f"{path} holds no replay: {error}") from error

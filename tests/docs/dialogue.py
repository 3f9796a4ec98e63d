"""The dialogue of a real match in protos/README.md: recorded, written down and read again.

`python -m tests.docs.dialogue` starts a server, plays one short match with the stubs alone, and puts what was said
between client and server into the page.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf import symbol_database
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    authority_pb2_grpc,
    identity_pb2,
    identity_pb2_grpc,
    matchmaking_pb2,
    matchmaking_pb2_grpc,
    rules_pb2,
    settings_pb2,
)

PAGE: Final = Path(__file__).parents[2] / "protos" / "README.md"
HEADING: Final = "## The dialogue of one match\n"
WIDTH: Final = 116
LINE: Final = re.compile(r"^(?P<arrow>[→←]) (?P<type>\w+)$", re.MULTILINE)
ARROWS: Final = {True: "→", False: "←"}
HIDDEN: Final = {"token": "TOKEN", "refresh_token": "REFRESH_TOKEN"}
"""Secrets that do not belong on a page."""
LONGEST_MATCH: Final = 24

PlayRequest = authority_pb2.PlayRequest
PlayResponse = authority_pb2.PlayResponse


@dataclass(frozen=True)
class Said:
    """One message, from the client or to it."""

    by_client: bool
    message: Message

    def written(self) -> str:
        """An arrow and the type, and below it the message as JSON with the field names of the protos."""
        name = self.message.DESCRIPTOR.name
        return f"{ARROWS[self.by_client]} {name}\n{laid_out(as_json(self.message))}"


def as_json(message: Message) -> Any:
    """The message in protobuf's JSON form, without secrets."""
    found = MessageToDict(message, preserving_proto_field_name=True)
    for part in (found, found.get("session", {})):
        part.update({name: shown for name, shown in HIDDEN.items() if name in part})
    return found


def laid_out(value: Any, indent: str = "") -> str:
    """JSON, on one line where it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) < WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [f"{deeper}{json.dumps(key)}: {laid_out(part, deeper)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + laid_out(part, deeper) for part in value) + f"\n{indent}]"


def read(text: str) -> Iterator[Said]:
    """The messages of a page. Raises ValueError or `ParseError` for what the contract does not know."""
    _, *parts = LINE.split("\n".join(re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)))
    for arrow, name, body in zip(*[iter(parts)] * 3, strict=True):
        message = symbol_database.Default().GetSymbol(f"maumau.v1.{name}")()
        yield Said(arrow == ARROWS[True], ParseDict(json.loads(body), message))


@dataclass
class Recorder:
    """A client that writes down what it says and hears, chapter by chapter."""

    channel: grpc.aio.Channel
    chapters: list[tuple[str, list[Said]]] = field(default_factory=list)
    token: str = ""
    room: str = ""
    version: int = 0
    resume_token: bytes = b""
    legal: list[actions_pb2.Action] = field(default_factory=list)
    over: bool = False

    def chapter(self, sentence: str) -> None:
        self.chapters.append((sentence, []))

    def note(self, by_client: bool, message: Message) -> None:
        self.chapters[-1][1].append(Said(by_client, message))

    def metadata(self) -> Any:
        return (("authorization", f"Bearer {self.token}"), ("x-maumau-room", self.room))

    async def ask(self, method: Any, request: Message) -> Any:
        """A unary call."""
        self.note(True, request)
        answer = await method(request, metadata=self.metadata(), timeout=20)
        self.note(False, answer)
        return answer

    async def say(self, stream: Any, request: PlayRequest) -> None:
        self.note(True, request)
        await stream.write(request)

    async def hear(self, stream: Any) -> AsyncIterator[str]:
        """What each message holds, one after the other, once it has been taken in. Bookmarks are written down once a
        stream."""
        bookmarked = False
        async for response in stream:
            kind = response.WhichOneof("message")
            if kind != "bookmark" or not bookmarked:
                self.note(False, response)
            bookmarked |= kind == "bookmark"
            self._take(response)
            if kind is not None:
                yield kind
            if response.HasField("answer"):
                yield "answer"

    def _take(self, response: PlayResponse) -> None:
        news = getattr(response, response.WhichOneof("message") or "answer")
        self.resume_token = getattr(news, "resume_token", self.resume_token)
        if response.HasField("snapshot"):
            self.version, self.legal = news.room.version, list(news.room.legal.actions)
        elif response.HasField("update"):
            self.version = news.version
            self.over |= any(event.HasField("match_ended") for event in news.events)
            if news.HasField("legal"):
                self.legal = list(news.legal.actions)

    async def act(self, stream: Any, heard: AsyncIterator[str], action: actions_pb2.Action) -> None:
        """Sends the action and listens until it is answered."""
        act = PlayRequest.Act(request_id=os.urandom(16), version=self.version, action=action)
        await self.say(stream, PlayRequest(act=act))
        await self.until(heard, "answer")

    @staticmethod
    async def until(heard: AsyncIterator[str], kind: str) -> None:
        async for found in heard:
            if found == kind:
                return
        raise RuntimeError(f"the stream ended before a message of kind {kind}")


async def record(address: str) -> list[tuple[str, list[Said]]]:
    """Plays one match; what was said, by chapters."""
    async with grpc.aio.insecure_channel(address) as channel:
        client = Recorder(channel)
        await _make_room(client)
        await _open_and_start(client)
        await _resume_and_play(client)
        return client.chapters


async def _make_room(client: Recorder) -> None:
    client.chapter("`IdentityService/SignInAsGuest` makes a guest:")
    identity = identity_pb2_grpc.IdentityServiceStub(client.channel)
    answer = await client.ask(identity.SignInAsGuest, identity_pb2.SignInAsGuestRequest(display_name="Ada"))
    client.token = answer.session.token
    client.chapter("`MatchmakingService/CreateRoom` makes a private room for two, with one option of the game changed:")
    matchmaking = matchmaking_pb2_grpc.MatchmakingServiceStub(client.channel)
    request = matchmaking_pb2.CreateRoomRequest(
        ruleset=rules_pb2.Ruleset(
            preset="mau-mau-32", options={"match.target": rules_pb2.OptionValue(choice="single")}
        ),
        settings=settings_pb2.RoomSettings(seats=2),
        request_id=os.urandom(16),
    )
    client.room = (await client.ask(matchmaking.CreateRoom, request)).room_id


async def _open(client: Recorder) -> tuple[Any, AsyncIterator[str]]:
    stream = authority_pb2_grpc.GameAuthorityServiceStub(client.channel).Play(metadata=client.metadata())
    await client.say(stream, PlayRequest(open=PlayRequest.Open(room_id=client.room, resume_token=client.resume_token)))
    return stream, client.hear(stream)


async def _open_and_start(client: Recorder) -> None:
    client.chapter(
        "From here on everything is said on a `GameAuthorityService/Play` stream. It begins with a snapshot:"
    )
    stream, heard = await _open(client)
    await client.until(heard, "snapshot")
    client.chapter("A bot takes the other seat, Ada is ready and starts the match:")
    await client.act(
        stream, heard, actions_pb2.Action(add_bot=actions_pb2.Action.AddBot(level=settings_pb2.BOT_LEVEL_RANDOM))
    )
    ready = actions_pb2.Action.SetReady(ready=True, contribution=os.urandom(32))
    await client.act(stream, heard, actions_pb2.Action(set_ready=ready))
    await client.act(stream, heard, actions_pb2.Action(start=actions_pb2.Action.Start()))
    client.chapter("An action that the rules do not allow changes nothing and is answered with the reason:")
    await client.act(stream, heard, actions_pb2.Action(challenge=actions_pb2.Action.Challenge()))
    client.chapter("While nothing happens there are bookmarks:")
    await client.until(heard, "bookmark")
    stream.cancel()


async def _resume_and_play(client: Recorder) -> None:
    client.chapter(
        "The stream is cut, and another one opened with the last resume token. What was missed would come first; "
        "here it is nothing. Ada sends back legal actions, and the bot acts, until the match ends:"
    )
    stream, heard = await _open(client)
    while not client.over:
        if client.legal:
            cards = [action for action in client.legal if action.HasField("play")]
            await client.act(stream, heard, (cards or client.legal)[0])
        else:
            await client.until(heard, "update")
    stream.cancel()


def page_with(chapters: list[tuple[str, list[Said]]], page: str) -> str:
    """The page with the dialogue as its last section."""
    parts = [
        f"{sentence}\n\n```text\n" + "\n".join(said.written() for said in messages) + "\n```\n"
        for sentence, messages in chapters
    ]
    note = (
        "Recorded from a real match by `python -m tests.docs.dialogue`. `→` is what the client says, `←` what it hears."
    )
    return page.partition(HEADING)[0] + HEADING + "\n" + "\n".join([note + "\n", *parts])


def main() -> None:
    """Records matches until one is short enough to be read, and writes it into the page."""
    from services.local.stack import Stack
    from tests.e2e.stacks import options

    slow_enough_to_be_first = {"MAUMAU_BOT_MOVE_MIN_SECONDS": "0.5", "MAUMAU_BOT_MOVE_MAX_SECONDS": "0.6"}
    environ = {**slow_enough_to_be_first, "MAUMAU_BOOKMARK_SECONDS": "1"}
    with tempfile.TemporaryDirectory() as folder, Stack(options(Path(folder), environ=environ)) as stack:
        while True:
            chapters = asyncio.run(record(stack.address))
            said = [each.message for _, messages in chapters for each in messages]
            versions = [m.update.version for m in said if isinstance(m, PlayResponse) and m.HasField("update")]
            if versions[-1] <= LONGEST_MATCH:
                break
    PAGE.write_text(page_with(chapters, PAGE.read_text()))


if __name__ == "__main__":
    main()

"""Playing at a terminal: numbers do what they say, lines survive the redrawing, leaving is meant."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator

import pytest
from maumau import Client, Room
from maumau.terminal.display import PlainPages
from maumau.terminal.keyboard import LineEditor
from maumau.terminal.table_session import Ending, TableSession
from maumau.v1 import authority_pb2, events_pb2

from tests.clients.eventually import eventually
from tests.clients.fake_server import FakeServer, status_of
from tests.clients.terminals import terminal


@pytest.fixture
async def room(fake: FakeServer, client: Client) -> AsyncIterator[Room]:
    fake.bots_play = True
    async with await client.create_room("mau-mau-32", seats=3) as room:
        await room.add_bot()
        await room.add_bot()
        yield room


async def test_a_match_is_played_to_its_end_by_typing_numbers(client: Client, room: Room) -> None:
    with terminal(client, room, solo=True) as person:
        for cards in (3, 2, 1):
            await person.shows("Your turn: type a number.", f"Ana               {cards} card")
            person.type("1\r")
        await person.shows("The match is over. You won!", "place 1", "Bot 1", "Bot 2")
        person.type("q\r")
        assert person.ending is not None
        assert await person.ending is Ending.LEFT


async def test_what_was_typed_survives_the_redrawing(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room) as person:
        await person.shows("not ready")
        person.type("12")
        await person.shows("> 12")
        message = events_pb2.ChatMessage(display_name="Bea", text="hello")
        fake.send(authority_pb2.PlayResponse(chat=message))
        await person.shows("Bea: hello", "> 12")
        person.type("\x7f\x7f1\r")
        await person.shows("Ana  host  ready")


async def test_a_number_that_is_not_offered_is_refused_on_the_screen(client: Client, room: Room) -> None:
    with terminal(client, room) as person:
        person.type("77\r")
        await person.shows("77 is not offered: a number from 1 to")
        person.type("nonsense\r")
        await person.shows("'nonsense' is nothing: type a number")


async def test_the_server_s_reason_is_shown(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room) as person:
        await person.shows("not ready")
        fake.refuse_acts.append(status_of("ROOM_CLOSED"))
        person.type("1\r")
        await person.shows("The room is closed.")


async def test_the_rules_are_shown_and_left_again(client: Client, room: Room) -> None:
    with terminal(client, room) as person:
        person.type("h\r")
        await person.shows("Rules of this room", "seven.stack = optional", "page 1 of 1")
        person.type("q\r")
        await person.shows("Seat  1  Ana")


async def test_leaving_a_running_match_is_asked_for(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room, solo=True) as person:
        await person.shows("Your turn")
        person.type("q\r")
        await person.shows("Leave for good?")
        person.type("\r")
        await person.shows("Your turn")
        assert fake.room().seat_of("player-1") == 0
        person.type("q\ry\r")
        assert person.ending is not None
        assert await person.ending is Ending.LEFT
        assert fake.room().seat_of("player-1") is None


async def test_the_seat_is_kept_for_who_comes_back_later(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room, solo=True) as person:
        await person.shows("Your turn")
        person.type("q\rc\r")
        assert person.ending is not None
        assert await person.ending is Ending.LATER
    assert fake.room().seat_of("player-1") == 0


async def test_a_lost_server_is_said_and_the_table_comes_back(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room, solo=True) as person:
        await person.shows("Your turn")
        await fake.stop()
        await person.shows("The server does not answer; trying again")
        await fake.start()
        await person.shows("Your turn")


async def test_chat_is_sent_with_a_slash(fake: FakeServer, client: Client, room: Room) -> None:
    with terminal(client, room) as person:
        person.type("/oi, tudo bem?\r")
        await eventually(lambda: fake.chats == ["oi, tudo bem?"])


async def test_without_a_terminal_lines_tell_what_happens_and_screens_what_to_decide(
    client: Client, room: Room
) -> None:
    printed = io.StringIO()
    keyboard = PipedLines()
    session = TableSession(client, room, PlainPages(printed), keyboard, live=False, solo=True)
    ending = asyncio.create_task(session.run())
    for turn in (1, 2, 3):
        await told(printed, "Your turn: type a number.", turn)
        keyboard.lines.put_nowait("1")
    await told(printed, "The match is over. You won!", 1)
    keyboard.lines.put_nowait(None)
    assert await ending is Ending.LATER
    text = printed.getvalue()
    assert "Bot 1 played 7" in text
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


async def told(printed: io.StringIO, words: str, times: int) -> None:
    await eventually(lambda: printed.getvalue().count(words) >= times)


class PipedLines(LineEditor):
    """Lines without keys."""

    async def line(self) -> str | None:
        return await self.lines.get()

    def __enter__(self) -> PipedLines:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_arrow_keys_and_control_characters_leave_the_line_alone() -> None:
    editor = LineEditor()
    editor.feed(b"1\x1b[A2\x1b[3~\x1bOP\x013")
    assert editor.typed == "123"
    editor.feed(b"\x15")
    assert editor.typed == ""


def test_a_letter_of_two_bytes_may_arrive_in_two_parts() -> None:
    editor = LineEditor()
    editor.feed("/olá".encode()[:-1])
    editor.feed("/olá".encode()[-1:])
    assert editor.typed == "/olá"


async def test_an_input_that_ends_gives_its_last_line_first() -> None:
    editor = LineEditor()
    editor.feed(b"12")
    editor.end()
    assert await editor.lines.get() == "12"
    assert await editor.lines.get() is None

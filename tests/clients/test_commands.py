"""The command `maumau` as a process: what it prints, and how it exits."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path

import maumau
import pyte
import pytest

from tests.clients.eventually import PATIENCE_SECONDS, eventually
from tests.clients.fake_server import FakeServer, status_of

MAUMAU = [sys.executable, "-m", "maumau.cli"]


async def run(fake: FakeServer, *arguments: str) -> tuple[int | None, str, str]:
    """Exit status, standard output and standard error."""
    process = await asyncio.create_subprocess_exec(
        *MAUMAU,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "MAUMAU_ADDRESS": fake.address},
    )
    out, err = await asyncio.wait_for(process.communicate(), 2 * PATIENCE_SECONDS)
    return process.returncode, out.decode(), err.decode()


async def test_bots_print_one_line_of_json_a_match_and_exit_with_0(fake: FakeServer) -> None:
    code, out, err = await run(fake, "bots", "--seats", "3", "--matches", "2", "--json", "--seed", "1")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0, err
    assert [line["ok"] for line in lines] == [True, True]


async def test_bots_exit_with_1_when_a_match_failed(fake: FakeServer) -> None:
    fake.refuse_creates = [status_of("SERVER_FULL")]
    code, out, _ = await run(fake, "bots", "--seats", "3", "--matches", "2", "--json")
    assert code == 1
    assert sorted(json.loads(line)["ok"] for line in out.splitlines()) == [False, True]


async def test_info_and_rooms_say_what_there_is(fake: FakeServer) -> None:
    code, out, _ = await run(fake, "info")
    assert code == 0
    assert "Server 0.1.0" in out
    assert "mau-mau-32" in out
    code, out, _ = await run(fake, "rooms")
    assert code == 0
    assert "There are no open rooms." in out


async def test_what_others_wrote_is_shown_as_it_is_and_breaks_nothing(fake: FakeServer, client: maumau.Client) -> None:
    await client.create_room("mau-mau-32")
    fake.title = "[/b] :cat: [red]x"
    code, out, err = await run(fake, "rooms")
    assert code == 0, err
    assert fake.title in out


async def test_a_server_that_is_not_there_is_one_sentence_and_exit_status_1(fake: FakeServer) -> None:
    await fake.stop()
    code, out, err = await run(fake, "info")
    assert code == 1
    assert out == ""
    assert f"no server answers at {fake.address}" in err
    assert "make run" in err
    assert "Traceback" not in err


async def test_a_file_that_cannot_be_written_is_one_sentence_and_exit_status_1(
    fake: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, _, err = await run(fake, "info")
    assert code == 1
    assert err.startswith("maumau: ")
    assert str(tmp_path) in err.replace("\n", "")
    assert "Traceback" not in err


async def test_an_unknown_option_is_named_with_what_there_is(fake: FakeServer) -> None:
    code, _, err = await run(fake, "bots", "--option", "sevens=yes", "--seats", "2")
    assert code == 1
    assert "no option 'sevens'" in err
    assert "seven.stack" in err
    assert "Traceback" not in err


async def test_the_example_of_the_package_plays_a_match(fake: FakeServer) -> None:
    fake.bots_play = True
    assert maumau.__doc__ is not None
    example = textwrap.dedent("\n".join(line for line in maumau.__doc__.splitlines() if line.startswith("    ")))
    assert example.count("\n") < 14
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", example, env={**os.environ, "MAUMAU_ADDRESS": fake.address}
    )
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
    assert fake.room().outcome is not None


class PtyProcess:
    """`maumau` on a pseudo-terminal of 80 by 24."""

    def __init__(self, master: int, process: asyncio.subprocess.Process) -> None:
        self._master = master
        self.process = process
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            self._stream.feed(os.read(self._master, 65536))
        except OSError:  # the process has closed its side
            asyncio.get_running_loop().remove_reader(self._master)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    async def shows(self, words: str) -> None:
        try:
            await eventually(lambda: words in self.text)
        except TimeoutError:
            raise AssertionError(f"{words!r} not on\n{self.text}") from None

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())


async def test_a_match_is_played_in_a_terminal_from_start_to_goodbye(fake: FakeServer, tmp_path: Path) -> None:
    fake.bots_play = True
    master, slave = os.openpty()
    os.set_blocking(master, True)
    try:
        process = await asyncio.create_subprocess_exec(
            *MAUMAU,
            *("play", "--bots", "2", "--name", "Ana"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "MAUMAU_ADDRESS": fake.address, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        )
        person = PtyProcess(master, process)
        for cards in (3, 2, 1):
            await person.shows(f"Ana               {cards} card")
            await person.shows("Your turn: type a number.")
            person.type("1\n")
        await person.shows("The match is over. You won!")
        person.type("q\n")
        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
        await person.shows("place 1")
    finally:
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_a_running_match_is_offered_to_who_comes_back(fake: FakeServer, answer: str) -> None:
    fake.bots_play = True
    for typed in ("q\nc\n", f"{answer}\n"):
        master, slave = os.openpty()
        try:
            process = await asyncio.create_subprocess_exec(
                *MAUMAU,
                *("play", "--bots", "1"),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env={**os.environ, "MAUMAU_ADDRESS": fake.address, "TERM": "xterm"},
            )
            person = PtyProcess(master, process)
            if typed == "q\nc\n":
                await person.shows("Your turn")
                person.type(typed)
            else:
                await person.shows("You have a seat in a running match of mau-mau-32. Go back to it?")
                person.type(typed)
                await person.shows("Your turn")
                person.type("q\nc\n")
            assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
        finally:
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)
            os.close(slave)
    assert len(fake.rooms) == (1 if answer == "y" else 2)

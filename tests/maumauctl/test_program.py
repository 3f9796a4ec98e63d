"""The command as a program of its own: at a terminal it asks, and players of the SDK hear what it says."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pexpect  # type: ignore[import-untyped]
from maumau.v1 import authority_pb2

from services.local.stack import Stack
from tests.e2e.ears import ears
from tests.e2e.lounge import lounge

PROGRAM = [sys.executable, "-m", "services.maumauctl"]


async def said(stack: Stack, *words: str) -> str:
    """What the program writes, having done what was asked."""
    environ = {**os.environ, "MAUMAU_VAR_DIR": str(stack.var_dir)}
    run = await asyncio.create_subprocess_exec(*PROGRAM, *words, env=environ, stdout=asyncio.subprocess.PIPE)
    out, _ = await run.communicate()
    assert run.returncode == 0
    return out.decode()


async def test_players_of_the_sdk_hear_the_operator_and_are_heard(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        room = await hall.create(ana, seats=2)
        side = await hall.join(bo, room)
        async with ears(room, side) as (at_ana, at_bo):
            await said(stack, "announce", "We close at ten.", "--yes")
            assert await at_ana.hears("We close at ten.") == await at_bo.hears("We close at ten.")
            assert at_bo.heard == [("", "We close at ten.")], "nobody of the room said it"
        me = room.view.seats[1].player_id
        report = await ana.report_player(room.id, me, authority_pb2.REPORT_REASON_SPAM, "shoes")
        [line] = json.loads(await said(stack, "--json", "reports", "--about", me))
        assert (line["report"], line["text"], line["name"]) == (report, "shoes", "Bo")


def test_at_a_terminal_it_asks_before_it_does_what_cannot_be_taken_back(stack: Stack) -> None:
    environ = {**os.environ, "MAUMAU_VAR_DIR": str(stack.var_dir)}
    for answer, code, last in (("", 5, "Nothing was done."), ("y", 0, "is forgotten")):
        child = pexpect.spawn(PROGRAM[0], [*PROGRAM[1:], "delete-player", "p_none"], env=environ, timeout=60)
        child.expect_exact("Forget p_none for good? [y/N] ")
        child.sendline(answer)
        child.expect_exact(last)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code

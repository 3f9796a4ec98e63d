"""Only an operator's own credential opens the operator's calls, and the record says whose it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.local.stack import Stack
from services.runtime.key_folder import INTERNAL_FILE, INVITE_FILE
from tests.maumauctl.running import Command, audited, eventually
from tests.services.world import Caller


@pytest.mark.parametrize("file", [INTERNAL_FILE, INVITE_FILE])
def test_another_secret_of_the_server_is_no_operators_credential(ctl: Command, stack: Stack, file: str) -> None:
    assert ctl.refused("--credential", str(stack.keys_dir / file), "bans") == "BAD_TOKEN"
    assert ctl.refused("--credential", str(stack.keys_dir / file), "processes") == "BAD_TOKEN"


def test_a_secret_of_nobody_is_no_credential(ctl: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.secret").write_text("ab" * 32)
    for words in (("bans",), ("rooms",), ("announce", "x", "--yes"), ("drain", "--all", "--why", "x", "--yes")):
        assert ctl.refused("--credential", str(tmp_path / "mine.secret"), *words) == "BAD_TOKEN"


def test_a_players_token_is_not_even_shown(ctl: Command, tmp_path: Path, ana: Caller) -> None:
    (tmp_path / "token").write_text(str(ana.token))
    ran = ctl("--credential", str(tmp_path / "token"), "bans")
    assert (ran.code, ran.reason) == (2, "CREDENTIAL")
    assert str(ana.token) not in ran.err


def test_without_a_credential_nothing_is_asked(ctl: Command, tmp_path: Path) -> None:
    command = Command({**ctl.environ, "MAUMAU_KEYS_DIR": str(tmp_path)})
    ran = command("bans")
    assert (ran.code, ran.reason) == (2, "CREDENTIAL")
    assert "operator.secret is missing" in ran.err


def test_an_operator_with_a_credential_of_their_own_is_named_in_the_record_until_it_is_withdrawn(
    ctl: Command, stack: Stack
) -> None:
    file = Path(ctl.done("add-operator", "kim")["file"])
    assert file.stat().st_mode & 0o077 == 0
    eventually(lambda: ctl("--credential", str(file), "mutes").code == 0, "the services know kim")
    ctl.done("--credential", str(file), "mute", "p_kims", "--for", "1s")
    assert [line["operator"] for line in audited(stack, "mute") if line["player"] == "p_kims"] == ["kim"]
    assert ctl("add-operator", "kim").code == 2, "nobody's credential is written over"
    assert ctl("add-operator", "Kim!").code == 2
    copy = file.with_name("gone")
    file.rename(copy)
    eventually(lambda: ctl("--credential", str(copy), "mutes").reason == "BAD_TOKEN", "kim is withdrawn")
    assert ctl("mutes").code == 0


def test_where_nobody_answers_that_is_told_apart_from_a_refusal(ctl: Command, stack: Stack) -> None:
    nowhere = {f"MAUMAU_{name}_TARGET": "127.0.0.1:1" for name in ("MATCHMAKING", "GAME_AUTHORITY", "SCORING")}
    command = Command({**ctl.environ, **nowhere, "MAUMAU_KEYS_DIR": str(stack.keys_dir)})
    for words in (("rooms",), ("bans",), ("announce", "x", "--yes")):
        ran = command(*words)
        assert (ran.code, ran.reason, ran.out) == (3, "UNREACHABLE", "")


def test_settings_that_cannot_be_used_end_the_command(ctl: Command) -> None:
    ran = Command({**ctl.environ, "MAUMAU_TURN_SECONDS": "soon"})("rooms")
    assert (ran.code, ran.reason) == (2, "SETTINGS")
    assert "MAUMAU_TURN_SECONDS" in ran.err


def test_the_command_runs_as_a_program_and_asks_nobody_without_a_terminal(ctl: Command) -> None:
    command = [sys.executable, "-m", "services.maumauctl", "announce", "hello"]
    environ = {**os.environ, **{name: value for name, value in ctl.environ.items() if value is not None}}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, input="y\n")
    assert (ran.returncode, ran.stdout) == (5, "")
    assert "add --yes" in ran.stderr

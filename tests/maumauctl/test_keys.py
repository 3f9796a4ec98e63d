"""A new signing key while people play, and old ones gone when their last token has run out."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from maumau.v1 import authority_pb2

from services.local.stack import Stack
from services.runtime.key_folder import SESSION_KEYS, prepare_key_folder
from services.runtime.key_rotation import KeyRotation
from services.runtime.settings import Settings
from services.runtime.tokens import TokenSigner, TokenVerifier
from tests.maumauctl.running import Command, eventually, sign_in
from tests.services.world import AUTHORITY, Caller

TOKEN_SECONDS = Settings().session_seconds + Settings().clock_leeway_seconds


def rooms_of(who: Caller) -> Any:
    return who.call(AUTHORITY + "ListMyRooms", authority_pb2.ListMyRoomsRequest())


def test_old_and_new_tokens_are_taken_while_and_after_the_key_changes(
    ctl: Command, stack: Stack, channel: grpc.Channel, ana: Caller
) -> None:
    made = ctl.done("rotate-keys")
    assert made["removed"] == [], "tokens of the old key are still good"

    def newcomer_has_it() -> bool:
        newcomer = sign_in(channel, "New")
        rooms_of(newcomer)  # taken at once, whichever key signed it
        rooms_of(ana)
        return bool(jwt.get_unverified_header(str(newcomer.token))["kid"] == made["new"])

    eventually(newcomer_has_it, "tokens under the new key")
    for address in stack.addresses("game-authority"):
        with grpc.insecure_channel(address) as own:
            rooms_of(Caller(own, ana.token))
    assert (stack.keys_dir / SESSION_KEYS / f"{made['new']}.pem").stat().st_mode & 0o077 == 0


def test_an_old_key_goes_when_its_last_token_has_run_out_and_not_before(ctl: Command, tmp_path: Path) -> None:
    prepare_key_folder(tmp_path)
    words = ("rotate-keys", "--keys", str(tmp_path))
    first = ctl.done(*words, "--wait", "0")["new"]
    newer = tmp_path / SESSION_KEYS / f"{first}.pem"
    for age, gone in ((TOKEN_SECONDS, []), (TOKEN_SECONDS + 61, ["1"])):
        signed = time.time() - age
        os.utime(newer, (signed, signed))
        assert ctl.done(*words, "--prune-only")["removed"] == gone
    second = ctl.done(*words, "--wait", "0")["new"]
    assert int(second) > int(first), "also in the same second"
    assert KeyRotation(tmp_path).private_keys() == [second, first]


def test_no_process_signs_with_a_key_that_others_may_not_know_yet(tmp_path: Path) -> None:
    prepare_key_folder(tmp_path)
    settings = Settings(keys_dir=tmp_path)
    rotation = KeyRotation(tmp_path)
    kid, private = rotation.publish()
    token, _ = TokenSigner(settings).sign("p_1", "Ana", "s_1")
    assert jwt.get_unverified_header(token)["kid"] == "1"
    verifier = TokenVerifier(settings)  # looks at the folder now, not again for two seconds
    rotation.sign_with(kid, private)
    token, _ = TokenSigner(settings).sign("p_1", "Ana", "s_1")
    assert jwt.get_unverified_header(token)["kid"] == kid
    assert verifier.verify(token).player_id == "p_1"


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_folder_without_keys_is_left_alone(ctl: Command, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / SESSION_KEYS).mkdir()
        (tmp_path / SESSION_KEYS / "1.pem").write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    ran = ctl("rotate-keys", "--keys", str(tmp_path))
    assert (ran.code, ran.reason) == (2, "KEYS")
    assert sorted(tmp_path.rglob("*")) == before

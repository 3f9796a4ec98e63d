"""Resume tokens say where a client stands, and tokens that this server did not make for the room are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.wire.errors import Refusal
from services.wire.resume import read_resume_token, resume_token, token_text

MARK = bytes(range(8))


@given(st.integers(0, 2**63), st.binary(min_size=8, max_size=8))
def test_a_token_says_version_and_mark(version: int, mark: bytes) -> None:
    assert read_resume_token(resume_token("room", version, mark), "room") == (version, mark)


def refused(token: bytes, room: str = "room") -> None:
    with pytest.raises(Refusal) as caught:
        read_resume_token(token, room)
    assert caught.value.reason == "BAD_RESUME_TOKEN"


def test_a_token_of_another_room_is_refused() -> None:
    refused(resume_token("room", 7, MARK), "moor")


@given(st.binary(max_size=40))
def test_foreign_bytes_are_refused(token: bytes) -> None:
    refused(token)


def test_a_token_with_any_bit_changed_cut_or_lengthened_is_refused() -> None:
    token = resume_token("room", 7, MARK)
    for index in range(len(token)):
        refused(token[:index] + bytes([token[index] ^ 1]) + token[index + 1 :])
        refused(token[:index])
    refused(token + b"\x00")


def test_a_token_is_small_and_its_text_fits_into_metadata() -> None:
    token = resume_token("a" * 64, 10_000, MARK)
    assert len(token) <= 24
    assert len(token_text(token)) <= 100
    assert token_text(token).isascii()

"""Plain fields of requests: what is taken, what is refused, and how it is said."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.wire.errors import Refusal
from services.wire.validate import chat_text, display_name, player_id, request_id, room_id


@pytest.mark.parametrize(
    "name", ["Al", "Ana Lúcia", "Ömer", "李小龍", "नमस्ते", "B0b_the-best!", "🂡 ace", "❤\ufe0f Bo", "a" * 24]
)
def test_a_name_of_any_script_is_taken(name: str) -> None:
    assert display_name(name) == name


def test_a_name_is_brought_into_normal_form() -> None:
    assert display_name("Jose\u0301") == "José"
    assert display_name("e\u0301" * 24) == "é" * 24


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "a" * 25,
        "a\nb",
        "a\tb",
        "a\x00b",
        "ab\u202ecd",
        "\u2066ab",
        "a\u200bb",
        "a\ud800b",
        "a\ue000b",
        " ab",
        "ab ",
        "a  b",
        "a\u00a0b",
        "a\u2028b",
        "\u0301ab",
        "\u3164\u3164",
        "Alice\u034f",
        "Al\ufe0fice",
        "Alice\ufe00",
        "Alice\U000e0100",
        "Al\u180bice",
        "Al\u17b4ice",
        "a" * 100_000,
    ],
    ids=ascii,
)
def test_a_name_that_misleads_the_eye_or_has_no_right_length_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        display_name(name)
    assert caught.value.reason == "INVALID_FIELD"
    assert caught.value.metadata["field"] == "display_name"
    assert caught.value.metadata["value"].isprintable()


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_a_name_that_is_taken_is_normal_printable_and_taken_again(name: str) -> None:
    try:
        taken = display_name(name)
    except Refusal:
        return
    assert 2 <= len(taken) <= 24
    assert taken.isprintable()
    assert unicodedata.is_normalized("NFC", taken)
    assert display_name(taken) == taken


def test_a_request_id_has_16_bytes() -> None:
    assert request_id(b"0123456789abcdef") == b"0123456789abcdef"
    for wrong in (b"", b"0123456789abcde", b"0123456789abcdefg"):
        with pytest.raises(Refusal) as caught:
            request_id(wrong)
        assert caught.value.metadata["expected"] == "16 bytes"


@pytest.mark.parametrize("wrong", ["", "a" * 65, "a b", "a{b}", "ä", "a\n", "../x"])
def test_a_room_id_that_is_none_is_refused(wrong: str) -> None:
    assert room_id("Room_1-x") == "Room_1-x"
    with pytest.raises(Refusal):
        room_id(wrong)


@pytest.mark.parametrize("wrong", ["", "a" * 129, "a\nb"])
def test_a_player_id_that_is_none_is_refused(wrong: str) -> None:
    assert player_id("auth0|5f7c") == "auth0|5f7c"
    with pytest.raises(Refusal):
        player_id(wrong)


def test_a_chat_text_loses_the_space_around_it_and_keeps_joined_emoji() -> None:
    assert chat_text("  well played 👩\u200d💻 \n") == "well played 👩\u200d💻"


@pytest.mark.parametrize("wrong", ["", "   ", "a" * 301, "a\nb", "a\u202eb", "a" * 100_000])
def test_a_chat_text_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(Refusal) as caught:
        chat_text(wrong)
    assert caught.value.metadata["field"] == "text"

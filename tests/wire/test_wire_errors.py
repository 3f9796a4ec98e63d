"""The catalogue of reasons, the exceptions of all layers and what callers get of them are one table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from hypothesis import given
from hypothesis import strategies as st
from maumau.v1 import errors_pb2

from services.rules.reasons import IllegalAction, Reason
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.ruleset import RulesetError
from services.wire.errors import CATALOGUE, Refusal, Violation, invalid_field, refusal, refusal_of, register

RULESET_REASONS = ("UNKNOWN_RULESET", "UNKNOWN_OPTION", "OPTION_NOT_IN_GAME", "BAD_OPTION_VALUE", "OPTIONS_CONFLICT")
RULES = Path(__file__).parents[2] / "services" / "rules"


def error_info(status: status_pb2.Status) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info


def refused(error: Exception) -> Refusal:
    found = refusal_of(error)
    assert found is not None
    return found


def test_the_catalogue_has_every_reason_of_games_rooms_and_rulesets() -> None:
    rules = {reason.name for reason in Reason} | {reason.name for reason in RoomReason} | set(RULESET_REASONS)
    assert rules - CATALOGUE.keys() == set()


@pytest.mark.parametrize("reason", [*Reason, *RoomReason], ids=lambda reason: f"{type(reason).__name__}.{reason.name}")
def test_the_catalogue_says_of_a_reason_what_the_rules_say(reason: Reason | RoomReason) -> None:
    assert CATALOGUE[reason.name].sentence == reason.sentence


def test_every_value_of_the_catalogue_is_described() -> None:
    described = {f"ERROR_REASON_{name}" for name in CATALOGUE} | {"ERROR_REASON_UNSPECIFIED"}
    assert described == set(errors_pb2.ErrorReason.keys())
    assert all(description.sentence.endswith(".") for description in CATALOGUE.values())


@pytest.mark.parametrize("reason", sorted(CATALOGUE))
def test_a_status_carries_code_reason_domain_and_its_own_metadata_keys(reason: str) -> None:
    described = CATALOGUE[reason]
    status = Refusal(reason, dict.fromkeys(described.metadata, 7)).to_status()
    info = error_info(status)
    assert status.code == described.code.value[0]
    assert status.message.startswith(described.sentence)
    assert (info.reason, info.domain) == (reason, "maumau")
    assert dict(info.metadata) == dict.fromkeys(described.metadata, "7")


def test_a_reason_or_key_that_the_catalogue_lacks_is_a_mistake_of_the_server() -> None:
    with pytest.raises(LookupError):
        refusal("NO_SUCH_REASON")
    with pytest.raises(LookupError, match="turn"):
        refusal("STALE", turn=3)


def test_an_invalid_field_names_path_value_and_what_would_be_right() -> None:
    status = invalid_field("request_id", b"abc", "16 bytes").to_status()
    assert dict(error_info(status).metadata) == {"field": "request_id", "value": "3 bytes", "expected": "16 bytes"}
    bad_request = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad_request)
    assert [(v.field, v.description) for v in bad_request.field_violations] == [
        ("request_id", "got 3 bytes; expected 16 bytes.")
    ]
    assert status.message.endswith("request_id: got 3 bytes; expected 16 bytes.")


def test_a_limit_says_when_to_try_again() -> None:
    limited = refusal("RATE_LIMITED", limit="10 a minute", retry_after=1.5)
    retry = error_details_pb2.RetryInfo()
    assert limited.to_status().details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1500
    assert limited.to_refusal_message().retry_after_milliseconds == 1500


def test_what_is_unavailable_may_be_tried_again() -> None:
    for passes in ("STORE_UNAVAILABLE", "SERVER_FULL"):
        assert refusal(passes).to_refusal_message().retry_after_milliseconds == 1000
    assert len(refusal("STORE_UNAVAILABLE").to_status().details) == 2


def test_an_answer_on_a_stream_says_what_the_status_would() -> None:
    stale = refusal("STALE", version=7, began=9, subject="turn")
    answer, status = stale.to_refusal_message(), stale.to_status()
    assert (answer.code, answer.message) == (status.code, status.message)
    assert answer.reason == "STALE"
    assert dict(answer.metadata) == {"version": "7", "began": "9", "subject": "turn"}
    assert answer.retry_after_milliseconds == 0


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_a_value_is_shown_short_and_printable_whatever_was_sent(value: str) -> None:
    shown = invalid_field("title", value, "a title").metadata["value"]
    assert len(shown) <= 100
    assert shown.isprintable()
    invalid_field("title", value, "a title").to_status().SerializeToString()


def test_a_bidirectional_override_is_shown_by_its_code_point() -> None:
    assert invalid_field("title", "a\u202eb", "a title").metadata["value"] == "a\\u202eb"


def test_a_refusal_of_the_rules_keeps_reason_and_public_details() -> None:
    found = refused(IllegalAction(Reason.NOT_YOUR_TURN, turn=3))
    assert (found.reason, found.code, found.metadata) == (
        "NOT_YOUR_TURN",
        StatusCode.FAILED_PRECONDITION,
        {"turn": "3"},
    )


def test_details_that_the_catalogue_does_not_list_are_not_told() -> None:
    assert refused(IllegalAction(Reason.CARD_NOT_IN_HAND, card="7S")).metadata == {}


def test_a_refusal_of_the_room_for_a_bad_setting_names_the_field() -> None:
    found = refused(RoomRefusal(RoomReason.INVALID_FIELD, field="settings.turn_seconds", value=1, expected="5 to 300"))
    assert found.violations == (Violation("settings.turn_seconds", "got 1; expected 5 to 300."),)


def test_options_in_conflict_are_all_named() -> None:
    found = refused(RulesetError("OPTIONS_CONFLICT", ("deck", "hand"), 40, "fewer cards"))
    assert found.metadata == {"option": "deck, hand", "value": "40", "expected": "fewer cards"}
    assert found.violations[0].field == "ruleset.options[deck], ruleset.options[hand]"


def test_an_unknown_preset_names_the_field_of_the_preset() -> None:
    found = refused(RulesetError("UNKNOWN_RULESET", ("ruleset",), "bridge", "one of uno, tranca"))
    assert found.metadata == {"value": "bridge", "expected": "one of uno, tranca"}
    assert found.violations[0].field == "ruleset.preset"


class AwayError(Exception):
    """A fault of a layer that the wire does not know."""


class FarAwayError(AwayError):
    pass


def test_an_exception_of_a_foreign_layer_is_known_once_registered_with_its_subclasses() -> None:
    register(AwayError, lambda _: refusal("STORE_UNAVAILABLE", retry_after=1))
    assert refused(FarAwayError()).code is StatusCode.UNAVAILABLE


def test_an_exception_that_nobody_foresaw_is_no_refusal() -> None:
    assert refusal_of(ZeroDivisionError()) is None


def _refusals_in(source: Path) -> list[tuple[str, set[str]]]:
    """Reason and metadata keys of every refusal that the file raises."""
    found = []
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            if node.func.id in ("IllegalAction", "RoomRefusal") and isinstance(first, ast.Attribute):
                found.append((first.attr, {keyword.arg for keyword in node.keywords if keyword.arg}))
    return found


def test_every_detail_that_the_rules_give_with_a_refusal_is_in_the_catalogue() -> None:
    found = [(path.name, *given) for path in RULES.rglob("*.py") for given in _refusals_in(path)]
    assert found
    assert [entry for entry in found if entry[2] - set(CATALOGUE[entry[1]].metadata)] == []


def test_a_refusal_for_one_more_call_says_the_same_and_belongs_to_that_call_alone() -> None:
    first = refusal("RATE_LIMITED", retry_after=0.05, limit="act: 20/s burst 60")
    with pytest.raises(Refusal) as caught:
        raise first.again()
    other = first.again()
    assert caught.value is not other
    assert caught.value.to_answer() == other.to_answer()
    assert other.to_answer().details == first.to_status().SerializeToString()
    assert other.to_refusal_message() == first.to_refusal_message()
    assert first.__traceback__ is other.__traceback__ is None

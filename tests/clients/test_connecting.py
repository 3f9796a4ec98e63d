"""Finding the server, the options of the connection, and the calls besides rooms."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import maumau
import pytest
from google.protobuf.descriptor import MethodDescriptor
from maumau import Client, address, backoff, channel
from maumau.rulesets import make_ruleset, parse_option, text_of
from maumau.v1 import authority_pb2, identity_pb2, matchmaking_pb2, rules_pb2, scoring_pb2

from tests.clients.fake_server import FakeServer, status_of

PUBLIC = (authority_pb2, identity_pb2, matchmaking_pb2, scoring_pb2)


def test_the_address_comes_from_the_environment_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _write_run_file(tmp_path, {"address": "127.0.0.1:1"})
    monkeypatch.setenv("MAUMAU_ADDRESS", "example.org:443")
    assert address.find_place(tmp_path).address == "example.org:443"


def test_the_address_of_a_running_server_is_found_from_a_folder_below(tmp_path: Path) -> None:
    _write_run_file(tmp_path, {"address": "127.0.0.1:4711"})
    below = tmp_path / "clients" / "python"
    below.mkdir(parents=True)
    assert address.find_place(below).address == "127.0.0.1:4711"


def test_without_any_hint_the_address_is_the_default(tmp_path: Path) -> None:
    assert address.find_place(tmp_path).address == "127.0.0.1:7700"


@pytest.mark.parametrize("content", ["{", "{}", '{"address": 7700}', '{"address": ""}', "[]"])
def test_a_run_file_without_an_address_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "run.json").write_text(content, encoding="utf-8")
    with pytest.raises(maumau.MaumauError, match=r"run\.json"):
        address.find_place(tmp_path)


async def test_without_a_proxy_each_service_is_reached_at_its_own_address(
    fake: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"127.0.0.1:{unused_port()}"
    services = [service.full_name for file in PUBLIC for service in file.DESCRIPTOR.services_by_name.values()]
    _write_run_file(tmp_path, {"address": nowhere, "routes": {name: [nowhere, fake.address] for name in services}})
    monkeypatch.chdir(tmp_path)
    async with maumau.connect(name="Ana") as client, await client.create_room("mau-mau-32", seats=2) as room:
        assert room.own_seat == 0


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _write_run_file(folder: Path, content: dict[str, Any]) -> None:
    (folder / "var").mkdir()
    (folder / "var" / "run.json").write_text(json.dumps(content), encoding="utf-8")


def _methods() -> list[MethodDescriptor]:
    return [m for file in PUBLIC for s in file.DESCRIPTOR.services_by_name.values() for m in s.methods]


def test_the_service_config_retries_reads_and_calls_with_a_request_id_and_nothing_else() -> None:
    (policy,) = json.loads(channel.service_config())["methodConfig"]
    listed = {(name["service"], name["method"]) for name in policy["name"]}
    repeatable = {
        (method.containing_service.full_name, method.name)
        for method in _methods()
        if not method.server_streaming
        and (method.name.startswith(("Get", "List")) or "request_id" in method.input_type.fields_by_name)
    }
    assert listed == repeatable


def test_the_service_config_retries_unavailable_alone_and_at_most_five_times() -> None:
    config = json.loads(channel.service_config())
    retry = config["methodConfig"][0]["retryPolicy"]
    assert retry["retryableStatusCodes"] == ["UNAVAILABLE"]
    assert retry["maxAttempts"] <= 5
    assert config["retryThrottling"]["maxTokens"] > 0


def test_a_dead_connection_is_noticed_by_pings() -> None:
    options = dict(channel.channel_options())
    assert options["grpc.keepalive_time_ms"] == 10_000
    assert options["grpc.keepalive_timeout_ms"] == options["grpc.http2.ping_timeout_ms"] == 5_000


def test_waits_are_spread_from_zero_to_a_bound_that_doubles_up_to_a_cap() -> None:
    waits = backoff.Backoff()
    drawn = [waits.next_wait() for _ in range(200)]
    assert all(0 <= wait <= backoff.CAP_SECONDS for wait in drawn)
    assert min(drawn) < backoff.CAP_SECONDS / 4
    assert max(drawn[20:]) > backoff.CAP_SECONDS / 2
    waits.reset()
    assert waits.next_wait() <= backoff.FIRST_SECONDS
    assert waits.next_wait(at_least=3.0) >= 3.0


async def test_no_server_is_reported_within_seconds_by_a_typed_error(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maumau.client._FIRST_CALL_SECONDS", 0.3)
    await fake.stop()
    with pytest.raises(maumau.Unavailable):
        async with maumau.connect(fake.address):
            pass


async def test_a_room_whose_creation_was_answered_too_late_is_made_once(fake: FakeServer, client: Client) -> None:
    fake.refuse_creates += [status_of("STORE_UNAVAILABLE", retry_after=0.01)] * 2
    room = await client.create_room("mau-mau-32", seats=2)
    assert [room.id] == list(fake.rooms)


async def test_rooms_are_listed_over_all_pages(fake: FakeServer, client: Client) -> None:
    made = [(await client.create_room("mau-mau-32")).id for _ in range(5)]
    assert [room.room_id async for room in client.rooms()] == made


async def test_joining_twice_is_joining_once(fake: FakeServer, client: Client) -> None:
    room = await client.create_room("mau-mau-32", seats=2)
    async with maumau.connect(fake.address, name="Bea") as other:
        for _ in range(2):
            async with await other.join_room(room.id) as joined:
                assert joined.own_seat == 1
    assert fake.room().version == 2


async def test_a_full_room_refuses_with_its_reason(fake: FakeServer, client: Client) -> None:
    room = await client.create_room("mau-mau-32", seats=1)
    async with maumau.connect(fake.address, name="Bea") as other:
        with pytest.raises(maumau.Refused) as refused:
            await other.join_room(room.id)
    assert refused.value.reason == "ROOM_FULL"
    assert refused.value.metadata == {"seats": "1"}


async def test_a_method_that_the_server_does_not_have_is_refused_without_a_reason(client: Client) -> None:
    with pytest.raises(maumau.Refused) as refused:
        await client.scoring.match("match-1")
    assert refused.value.code == "UNIMPLEMENTED"
    assert refused.value.reason == ""


async def test_calls_after_closing_say_so(fake: FakeServer) -> None:
    async with maumau.connect(fake.address) as client:
        pass
    with pytest.raises(maumau.Closed):
        await client.player()


def test_options_take_their_kind_from_the_preset() -> None:
    preset = rules_pb2.Preset(ruleset=rules_pb2.Ruleset(preset="p"))
    for key, value in (("a", _option(flag=True)), ("b", _option(number=1)), ("c", _option(choice="x"))):
        preset.options.add(key=key).preset_value.CopyFrom(value)
    preset.options.add(key="d").preset_value.table.entries["7"] = "draw"
    parsed = dict(parse_option(text, preset) for text in ("a=off", "b=single", "c=12", "d=7:skip,8:none"))
    assert parsed == {"a": False, "b": "single", "c": 12, "d": {"7": "skip", "8": "none"}}
    ruleset = make_ruleset("p", parsed)
    assert {key: text_of(value) for key, value in ruleset.options.items()} == {
        "a": "false",
        "b": "single",
        "c": "12",
        "d": "7:skip,8:none",
    }


@pytest.mark.parametrize(("text", "named"), [("a", "key=value"), ("z=1", "no option 'z'"), ("a=maybe", "'maybe'")])
def test_an_option_that_cannot_be_read_is_named(text: str, named: str) -> None:
    preset = rules_pb2.Preset(ruleset=rules_pb2.Ruleset(preset="p"))
    preset.options.add(key="a").preset_value.flag = True
    preset.options.add(key="b").preset_value.number = 1
    with pytest.raises(maumau.MaumauError, match=named):
        parse_option(text, preset)


def _option(**value: object) -> rules_pb2.OptionValue:
    return rules_pb2.OptionValue(**value)  # type: ignore[arg-type]


def test_everything_that_is_exported_exists() -> None:
    assert all(hasattr(maumau, name) for name in maumau.__all__)
    assert sorted(maumau.__all__, key=lambda name: (name[0].islower(), name)) == maumau.__all__


def test_whoever_needs_the_messages_alone_does_not_load_the_client() -> None:
    asked = (
        "import sys, maumau.v1.authority_pb2_grpc; print(*sorted(m for m in sys.modules if m.startswith('maumau.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert all(name.startswith("maumau.v1") for name in loaded), loaded


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    assert not hasattr(maumau, "nothing_of_the_kind")
    assert set(maumau.__all__) <= set(dir(maumau))


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("cards.example:7700", address.Place("cards.example:7700")),
        ("https://cards.example", address.Place("cards.example:443", tls=True)),
        ("https://cards.example:7700/", address.Place("cards.example:7700", tls=True)),
        ("https://[::1]", address.Place("[::1]:443", tls=True)),
        ("http://cards.example", address.Place("cards.example:80")),
        ("dns:///cards.example:7700", address.Place("dns:///cards.example:7700")),
    ],
)
def test_an_address_says_by_its_scheme_whether_tls_is_spoken(typed: str, place: address.Place) -> None:
    assert address.place_of(typed) == place


@pytest.mark.parametrize("typed", ["https://", "https://cards.example/table"])
def test_an_address_with_a_path_or_without_a_host_is_refused(typed: str) -> None:
    with pytest.raises(maumau.MaumauError, match="without a path"):
        address.place_of(typed)

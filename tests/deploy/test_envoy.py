"""Envoy's configuration: valid, generated, each setting in place; then a live Envoy in front of fake services."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import grpc
import pytest
import yaml
from google.protobuf import descriptor_pool
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from grpc_status import rpc_status

from services.local.envoy import CONTAINER_TLS_DIR, CONTAINER_TLS_PORT, TEMPLATES, container_config, envoy_config
from services.local.plan import StackOptions, make_plan
from services.local.stack import Stack, find_envoy
from services.runtime.limits import ACT, METHODS, READ, read_rate
from services.runtime.routes import PUBLIC, SERVICES, STREAMING, load_contract
from services.runtime.server import server_options
from services.runtime.settings import Settings
from services.wire.errors import refusal
from tests.security.certificates import Authority

LIMIT = 12_345


@pytest.fixture(scope="module")
def config() -> Any:
    """A local configuration with recognisable numbers."""
    settings = Settings(max_requests=LIMIT, max_metadata_bytes=8192, max_connection_streams=777)
    plan = make_plan(settings, 0, 2)
    return yaml.safe_load(envoy_config(plan.edge, plan.endpoints(), settings, dns=False))


def listener(config: Any) -> Any:
    return next(each for each in config["static_resources"]["listeners"] if each["name"] == "public")


def connections(config: Any) -> Any:
    """The settings of the public HTTP connection manager."""
    return listener(config)["filter_chains"][0]["filters"][0]["typed_config"]


def routes(config: Any) -> list[Any]:
    return list(connections(config)["route_config"]["virtual_hosts"][0]["routes"])


def clusters(config: Any) -> list[Any]:
    return [each for each in config["static_resources"]["clusters"] if each["name"] in SERVICES]


def http2(config: Any) -> Any:
    return connections(config)["http2_protocol_options"]


def test_all_forms_are_accepted_by_envoy_itself(config: Any, tmp_path: Path) -> None:
    local = tmp_path / "local.yaml"
    local.write_text(yaml.safe_dump(config))
    secured = tmp_path / "envoy-tls.yaml"
    folder = Authority("ours").issue(tmp_path / "tls")
    secured.write_text(container_config(tls=True).replace(f"{CONTAINER_TLS_DIR}/", f"{folder}/"))
    for file in (local, TEMPLATES / "envoy.yaml", secured):
        validated = subprocess.run(
            [str(find_envoy()), "--mode", "validate", "-c", str(file), "--log-level", "warning"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert validated.returncode == 0, validated.stderr
        assert "eprecated" not in validated.stderr


def test_the_committed_forms_for_containers_are_what_the_templates_give() -> None:
    assert (TEMPLATES / "envoy.yaml").read_text() == container_config(), "run `make docs`"
    assert (TEMPLATES / "envoy-tls.yaml").read_text() == container_config(tls=True), "run `make docs`"


def _found(node: Any, key: str) -> Iterator[Any]:
    """The values of this key, wherever it is."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if name == key:
            yield value
        yield from _found(value, key)


@pytest.mark.parametrize("tls", [False, True])
def test_what_an_operator_sets_comes_into_the_files_of_containers_too(tls: bool) -> None:
    page = r"https://cards\.example"
    chosen = Settings(cors_origins_regex=page, max_requests=LIMIT, public_tls_dir=Path("/elsewhere"))
    made = container_config(chosen, tls=tls)
    allowed = list(_found(yaml.safe_load(made), "allow_origin_string_match"))
    assert allowed == [[{"safe_regex": {"regex": page}}]] * (2 if tls else 1)
    assert str(LIMIT) in made
    assert (str(CONTAINER_TLS_DIR / "tls.crt") in made) is tls
    assert "/elsewhere" not in made


def test_the_form_with_tls_serves_the_same_once_more_over_tls() -> None:
    plain, secured = (
        yaml.safe_load(container_config(tls=tls))["static_resources"]["listeners"] for tls in (False, True)
    )
    (added,) = [each for each in secured if each not in plain]
    assert [each for each in secured if each is not added] == plain
    assert added["address"]["socket_address"]["port_value"] == CONTAINER_TLS_PORT
    assert added["filter_chains"][0].pop("transport_socket")["name"] == "envoy.transport_sockets.tls"
    assert added["filter_chains"] == listener({"static_resources": {"listeners": plain}})["filter_chains"]


def test_the_table_of_routes_names_every_public_service_and_every_endless_stream() -> None:
    load_contract()
    pool = descriptor_pool.Default()
    files = {pool.FindFileContainingSymbol(name) for name in PUBLIC}
    declared = [service for file in files for service in file.services_by_name.values()]
    assert {service.full_name for service in declared} == set(PUBLIC)
    streams = {
        f"/{service.full_name}/{method.name}"
        for service in declared
        for method in service.methods
        if method.server_streaming
    }
    assert streams == set(STREAMING)


def test_every_public_service_has_its_route_and_nothing_internal_has_one(config: Any) -> None:
    by_prefix = {r["match"]["prefix"]: r["route"]["cluster"] for r in routes(config) if "prefix" in r["match"]}
    assert {name: by_prefix[f"/{name}/"] for name in PUBLIC} == dict(PUBLIC)
    assert not any("internal" in str(route["match"]) for route in routes(config))


def test_streams_have_no_route_timeout_and_calls_have_one(config: Any) -> None:
    timeouts = {str(r["match"].get("path", r["match"].get("prefix"))): r["route"]["timeout"] for r in routes(config)}
    assert {timeouts[path] for path in STREAMING} == {"0s"}
    assert {timeouts[f"/{name}/"] for name in PUBLIC} == {"35s"}
    order = [route["match"].get("path") or route["match"]["prefix"] for route in routes(config)]
    assert max(map(order.index, STREAMING)) < order.index("/maumau.v1.GameAuthorityService/"), "the first match wins"


def test_a_stream_silent_for_a_minute_is_ended(config: Any) -> None:
    assert connections(config)["stream_idle_timeout"] == "60s"


def test_a_frozen_client_is_found_by_pings(config: Any) -> None:
    assert http2(config)["connection_keepalive"] == {"interval": "5s", "timeout": "5s"}


def test_a_client_that_does_not_read_costs_64_kib_here_and_upstream(config: Any) -> None:
    assert http2(config)["initial_stream_window_size"] == 65536
    assert listener(config)["per_connection_buffer_limit_bytes"] == 65536
    for cluster in clusters(config):
        assert cluster["per_connection_buffer_limit_bytes"] == 65536
        upstream = next(iter(cluster["typed_extension_protocol_options"].values()))
        assert upstream["explicit_http_config"]["http2_protocol_options"]["initial_stream_window_size"] == 65536


def test_many_small_messages_of_one_player_do_not_end_the_connection_that_all_share(config: Any) -> None:
    for cluster in clusters(config):
        upstream = next(iter(cluster["typed_extension_protocol_options"].values()))
        http2_upstream = upstream["explicit_http_config"]["http2_protocol_options"]
        assert http2_upstream["max_inbound_window_update_frames_per_data_frame_sent"] >= 1_000


def test_limits_of_streams_and_connections_come_from_one_setting(config: Any) -> None:
    for cluster in clusters(config):
        for threshold in cluster["circuit_breakers"]["thresholds"]:
            assert {threshold[f"max_{what}"] for what in ("requests", "connections", "pending_requests")} == {LIMIT}
    monitor = config["overload_manager"]["resource_monitors"][0]["typed_config"]
    assert monitor["max_active_downstream_connections"] == LIMIT
    assert http2(config)["max_concurrent_streams"] == 777


def test_headers_are_capped_like_the_servers_metadata(config: Any) -> None:
    assert connections(config)["max_request_headers_kb"] == 8
    assert connections(config)["common_http_protocol_options"]["max_headers_count"] == 64


def test_every_process_is_asked_for_its_health_each_second_on_its_internal_port(config: Any) -> None:
    for cluster in clusters(config):
        (check,) = cluster["health_checks"]
        assert (check["interval"], check["no_traffic_interval"], check["grpc_health_check"]) == ("1s", "1s", {})
        for each in cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]:
            public = each["endpoint"]["address"]["socket_address"]["port_value"]
            assert each["endpoint"]["health_check_config"]["port_value"] not in (0, public)


def test_only_processes_that_cannot_be_reached_are_ejected(config: Any) -> None:
    for cluster in clusters(config):
        outliers = cluster["outlier_detection"]
        assert outliers["split_external_local_origin_errors"] is True
        assert outliers["enforcing_consecutive_local_origin_failure"] == 100
        enforced = {name: value for name, value in outliers.items() if name.startswith("enforcing") and value}
        assert list(enforced) == ["enforcing_consecutive_local_origin_failure"]


def test_envoy_repeats_only_what_no_service_has_seen(config: Any) -> None:
    host = connections(config)["route_config"]["virtual_hosts"][0]
    assert host["retry_policy"]["retry_on"] == "connect-failure,refused-stream"
    assert not any("retry_policy" in route["route"] for route in routes(config))


def test_calls_of_a_room_are_hashed_on_its_metadata(config: Any) -> None:
    by_room = [{"header": {"header_name": "x-maumau-room"}}]
    hashed = [route for route in routes(config) if "hash_policy" in route["route"]]
    assert all(route["route"]["hash_policy"] == by_room for route in hashed)
    assert {route["route"]["cluster"] for route in hashed} == {"game-authority"}
    assert next(c for c in clusters(config) if c["name"] == "game-authority")["lb_policy"] == "RING_HASH"


def test_both_authorities_are_behind_the_one_address(config: Any) -> None:
    cluster = next(each for each in clusters(config) if each["name"] == "game-authority")
    assert len(cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]) == 2


def test_health_checks_are_limited_unless_nothing_is() -> None:
    def limited(settings: Settings) -> set[str]:
        plan = make_plan(settings, 0, 2)
        given = yaml.safe_load(envoy_config(plan.edge, plan.endpoints(), settings, dns=False))
        by_filter = [(r["match"].get("prefix", ""), r.get("typed_per_filter_config", {})) for r in routes(given)]
        return {prefix for prefix, filters in by_filter if "envoy.filters.http.local_ratelimit" in filters}

    assert limited(Settings()) == {"/grpc.health.v1.Health/"}
    assert limited(Settings(rate_limits=False)) == set()


def ceilings(settings: Settings) -> dict[str, Any]:
    """The limiting filters of each call, by the last part of their names."""
    plan = make_plan(settings, 0, 2)
    given = yaml.safe_load(envoy_config(plan.edge, plan.endpoints(), settings, dns=False))
    filters = connections(given)["http_filters"]
    prefix = "envoy.filters.http.local_ratelimit."
    return {f["name"].removeprefix(prefix): f["typed_config"] for f in filters if f["name"].startswith(prefix)}


def test_calls_of_a_session_have_a_ceiling_at_twice_the_limit_where_that_is_high_enough() -> None:
    found = ceilings(Settings(limit_act="30/s burst 7"))
    assert set(found) == {"act", "read"}
    (bucket,) = (each["token_bucket"] for each in found["act"]["descriptors"])
    assert bucket == {"max_tokens": 14, "tokens_per_fill": 3, "fill_interval": "0.050000s"}
    named = {
        each["actions"][0]["header_value_match"]["headers"][0]["string_match"]["exact"]: name
        for name, filter_ in found.items()
        for each in filter_["rate_limits"]
    }
    assert named == {path: limit.name for path, limit in METHODS.items() if limit in (ACT, READ)}
    assert set(ceilings(Settings(limit_read="9/s burst 7"))) == {"act"}, "its wait would be told wrong"
    assert ceilings(Settings(rate_limits=False)) == {}


# A live Envoy


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    options = StackOptions(
        var_dir=tmp_path_factory.mktemp("edge"),
        port=0,
        authorities=2,
        modules=dict.fromkeys(SERVICES, "tests.services.fake_service"),
    )
    with Stack(options) as running:
        yield running


@pytest.fixture
def channel(stack: Stack) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(stack.address) as opened:
        yield opened


def health(channel: grpc.Channel, service: str) -> Any:
    return HealthStub(channel).Check(HealthCheckRequest(service=service), timeout=10).status


def test_reflection_works_through_the_one_address(channel: grpc.Channel) -> None:
    asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    (answer,) = ServerReflectionStub(channel).ServerReflectionInfo(asked, timeout=10)
    assert set(PUBLIC) <= {service.name for service in answer.list_services_response.service}


def test_a_browser_may_ask_and_call_through_grpc_web(stack: Stack) -> None:
    path = "/maumau.v1.ScoringService/GetRating"
    browser = HTTPConnection(stack.address, timeout=10)
    page = {"Origin": "https://cards.example"}
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-grpc-web,x-maumau-room"}
    browser.request("OPTIONS", path, headers=page | preflight)
    allowed = browser.getresponse()
    allowed.read()
    assert allowed.status == 200
    assert allowed.headers["access-control-allow-origin"] == "https://cards.example"
    assert "x-maumau-room" in allowed.headers["access-control-allow-headers"]
    browser.request(
        "POST", path, b"\0\0\0\0\0", page | {"Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1"}
    )
    answer = browser.getresponse()
    assert answer.status == 200
    assert b"grpc-status:0" in answer.read()


def test_prometheus_and_probes_have_a_port_of_their_own(stack: Stack) -> None:
    assert "envoy_cluster_upstream_rq_total" in stack.metrics("envoy")
    with urllib.request.urlopen(f"http://127.0.0.1:{stack.edge.operations_port}/ready", timeout=10) as ready:
        assert ready.status == 200


def test_a_call_that_no_route_has_is_unimplemented(channel: grpc.Channel) -> None:
    call: Any = channel.unary_unary("/maumau.internal.v1.RoomControlService/CreateRoom")
    with pytest.raises(grpc.RpcError) as caught:
        call(b"", timeout=10)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_health_check_with_a_service_name_is_answered_by_that_service(stack: Stack, channel: grpc.Channel) -> None:
    assert {health(channel, name) for name in ("", *PUBLIC)} == {HealthCheckResponse.SERVING}
    scoring = stack["scoring"]
    scoring.restart = False
    scoring.kill()
    scoring.wait_ended(10)
    try:
        assert health(channel, "maumau.v1.MatchmakingService") == HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            health(channel, "maumau.v1.ScoringService")
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        scoring.restart = True
        stack.wait_ready()
    assert health(channel, "maumau.v1.ScoringService") == HealthCheckResponse.SERVING


def test_health_checks_above_the_limit_of_one_connection_are_refused_as_the_services_would_refuse_them(
    stack: Stack,
) -> None:
    own = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(stack.address, own) as busy, grpc.insecure_channel(stack.address, own) as other:
        with pytest.raises(grpc.RpcError) as caught:
            list(iter(lambda: health(busy, ""), HealthCheckResponse.NOT_SERVING))
        assert health(other, "") == HealthCheckResponse.SERVING
    expected = refusal("RATE_LIMITED", retry_after=0.05, limit=f"tool: {Settings().limit_tool}").to_status()
    told = rpc_status.from_call(caught.value)
    assert (told.code, list(told.details)) == (expected.code, list(expected.details))


def test_calls_of_one_session_far_above_a_limit_are_refused_as_the_services_would_and_others_of_its_connection_go_on(
    channel: grpc.Channel,
) -> None:
    get_rating: Any = channel.unary_unary("/maumau.v1.ScoringService/GetRating")

    def ask(times: int, *session: tuple[str, str]) -> list[Any]:
        calls = [get_rating.future(b"", metadata=session, timeout=10) for _ in range(times)]
        return [call for call in calls if call.exception() is not None]

    often = 2 * read_rate(Settings().limit_read).burst
    refused = ask(3 * often, ("authorization", "Bearer eve"))
    assert often / 2 < len(refused) <= 2 * often
    expected = refusal("RATE_LIMITED", retry_after=0.05, limit=f"read: {Settings().limit_read}").to_status()
    told = [rpc_status.from_call(call) for call in refused]
    assert all((each.code, list(each.details)) == (expected.code, list(expected.details)) for each in told)
    assert ask(often // 2, ("authorization", "Bearer ana")) == ask(3 * often) == []


def test_an_authority_that_is_rolled_fails_no_call(stack: Stack, channel: grpc.Channel) -> None:
    get_room: Any = channel.unary_unary("/maumau.v1.GameAuthorityService/GetRoom")
    child = stack["game-authority-1"]
    starts = child.starts
    child.terminate()
    asked = 0
    while child.starts == starts or not child.ready:
        asked += 1
        get_room(
            b"", metadata=[("x-maumau-room", f"room-{asked % 50}")], timeout=10
        )  # raises: nothing is repeated here
    assert asked > 0


def watch_of(channel: grpc.Channel) -> Any:
    """The call that opens an endless stream of bytes."""
    return channel.unary_stream("/maumau.v1.GameAuthorityService/Watch")


def test_a_drained_envoy_says_not_ready_and_keeps_its_open_streams(stack: Stack) -> None:
    edge = stack.edge
    with grpc.insecure_channel(stack.address) as channel:
        watch = watch_of(channel)(b"")
        assert next(watch) == b""
        subprocess.run([TEMPLATES / "drain", "0"], env={**os.environ, "ADMIN_PORT": str(edge.admin_port)}, check=True)
        with pytest.raises(HTTPError) as caught:
            urllib.request.urlopen(f"http://127.0.0.1:{edge.operations_port}/ready", timeout=10)
        assert caught.value.code == 503
        assert next(watch) == b""
        assert watch.is_active()
        watch.cancel()
    stack["envoy"].kill()
    stack.wait_ready()


def test_no_server_ends_connections_by_their_age(config: Any) -> None:
    assert not [name for name, _ in server_options(Settings(), 1_024) if "connection_age" in name]
    assert "max_connection_duration" not in str(config)

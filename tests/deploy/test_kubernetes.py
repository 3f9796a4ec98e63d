"""The Kubernetes manifests: they build, keep to the restricted profile, and are of one mind with the code about ports,
probes, settings, secrets, names and who may speak to whom. `make k8s-check` adds the schemas and the policy checks."""

from __future__ import annotations

import os
import re
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from services.local.envoy import CONTAINER_EDGE
from services.runtime.health import LIVENESS
from services.runtime.key_folder import INTERNAL_FILE, INVITE_FILE, OPERATOR_FILE, SESSION_KEYS, prepare_key_folder
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, SCORING, SERVICES, module_of
from services.runtime.settings import Settings, read_settings
from tests.deploy import manifests
from tests.deploy.manifests import COMPONENTS, OVERLAYS, Manifest, container, named, of_kind
from tests.deploy.pods import IMAGE_ENVIRON

pytestmark = pytest.mark.needs("kubectl")

ROOT: Final = Path(__file__).parents[2]
DEFAULTS: Final = Settings.model_construct()
BASE: Final = "base"
EVERYWHERE: Final = [f"overlays/{name}" for name in OVERLAYS]
WORKLOADS: Final = ("Deployment", "StatefulSet")


@pytest.fixture(params=EVERYWHERE)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pod_of(workload: Manifest) -> Manifest:
    return dict(workload["spec"]["template"]["spec"])


def labels_of(workload: Manifest) -> dict[str, str]:
    return dict(workload["spec"]["template"]["metadata"]["labels"])


# Each service as the code has it.


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_started_and_probed_as_the_code_has_it(service: str) -> None:
    deployed = named(BASE, "Deployment", service)
    started = container(deployed)
    assert started["args"] == [module_of(service)]
    ports = {port["name"]: port["containerPort"] for port in started["ports"]}
    assert ports == {
        "public": DEFAULTS.public_port,
        "internal": DEFAULTS.internal_port,
        "metrics": DEFAULTS.metrics_port,
    }
    assert started["startupProbe"]["grpc"] == {"port": DEFAULTS.internal_port, "service": LIVENESS}
    assert started["livenessProbe"]["grpc"] == {"port": DEFAULTS.internal_port, "service": LIVENESS}
    assert started["readinessProbe"]["grpc"] == {"port": DEFAULTS.internal_port}
    assert not pod_of(deployed)["enableServiceLinks"], "its variables would be taken for settings"


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_has_the_time_that_its_streams_need_to_move(service: str) -> None:
    deployed = named(BASE, "Deployment", service)
    wait = container(deployed)["lifecycle"]["preStop"]["sleep"]["seconds"]
    stop = DEFAULTS.stop_notice_seconds + DEFAULTS.stop_grace_seconds
    assert pod_of(deployed)["terminationGracePeriodSeconds"] >= wait + stop + 20
    assert deployed["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@pytest.mark.parametrize("name", [*SERVICES, "envoy"])
def test_there_are_two_or_more_of_each_and_one_at_a_time_may_go(overlay: str, name: str) -> None:
    assert "replicas" not in named(overlay, "Deployment", name)["spec"], "the autoscaler says how many"
    scaler = named(overlay, "HorizontalPodAutoscaler", name)["spec"]
    assert scaler["minReplicas"] >= 2
    assert scaler["scaleTargetRef"]["name"] == name
    assert named(overlay, "PodDisruptionBudget", name)["spec"]["maxUnavailable"] == 1


def test_every_service_reads_its_settings(overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = manifests.secrets(tmp_path, "redis://redis:6379/0")
    for name in [name for name in os.environ if name.startswith("MAUMAU_")]:
        monkeypatch.delenv(name)
    for service in SERVICES:
        environ = manifests.environ(overlay, named(overlay, "Deployment", service), hidden)
        for name, value in environ.items():
            if name.startswith("MAUMAU_"):
                monkeypatch.setenv(name, value)
        settings = read_settings()  # refuses what it does not know and what is out of range
        assert settings.redis_url == "redis://redis:6379/0"
        for target in SERVICES:
            reached = getattr(settings, f"{target.replace('-', '_')}_target")
            assert reached == f"dns:///{target}:{DEFAULTS.internal_port}"
            assert named(overlay, "Service", target)["spec"]["clusterIP"] == "None", "every pod by its own address"


@pytest.mark.needs("openssl")
def test_the_secrets_are_the_key_folder_that_the_services_read(tmp_path: Path) -> None:
    hidden = manifests.secrets(tmp_path / "keys", "redis://somewhere:6379/0")
    assert hidden["maumau-redis"] == {"url": b"redis://somewhere:6379/0"}
    assert set(hidden["maumau-secrets"]) == {INTERNAL_FILE, OPERATOR_FILE, INVITE_FILE}
    assert list(hidden["maumau-session-keys"]) == ["1.pem"]
    before = {path: path.read_bytes() for path in (tmp_path / "keys").rglob("*") if path.is_file()}
    prepare_key_folder(tmp_path / "keys")
    after = {path: path.read_bytes() for path in (tmp_path / "keys").rglob("*") if path.is_file()}
    assert after == before, "nothing was missing or unreadable"
    assert manifests.secrets(tmp_path / "keys", "redis://somewhere:6379/0") == hidden, "a second run changes nothing"


@pytest.mark.parametrize("service", SERVICES)
def test_the_keys_are_mounted_where_the_image_looks(service: str) -> None:
    folder = IMAGE_ENVIRON["MAUMAU_KEYS_DIR"]
    places = {mount["mountPath"] for mount in container(named(BASE, "Deployment", service))["volumeMounts"]}
    expected = {f"{folder}/{name}" for name in (SESSION_KEYS, INTERNAL_FILE, OPERATOR_FILE, INVITE_FILE)}
    assert places == {"/tmp", folder, *expected}


def test_envoy_has_the_configuration_of_docker_compose() -> None:
    deployed = named(BASE, "Deployment", "envoy")
    (volume,) = [each for each in pod_of(deployed)["volumes"] if "configMap" in each]
    content = manifests.config_maps(BASE)[volume["configMap"]["name"]]
    assert content == {name: (ROOT / "deploy/envoy" / name).read_bytes() for name in ("envoy.yaml", "drain")}
    ports = {port["name"]: port["containerPort"] for port in container(deployed)["ports"]}
    assert ports == {"public": CONTAINER_EDGE.port, "operations": CONTAINER_EDGE.operations_port}
    drain = container(deployed)["lifecycle"]["preStop"]["exec"]["command"]
    assert drain[:2] == ["bash", "/etc/envoy/drain"]
    assert int(drain[2]) < pod_of(deployed)["terminationGracePeriodSeconds"]


def test_prometheus_has_the_configuration_and_the_rules_of_docker_compose() -> None:
    deployed = named("overlays/local", "StatefulSet", "prometheus")
    (volume,) = [each for each in pod_of(deployed)["volumes"] if "configMap" in each]
    content = manifests.config_maps("overlays/local")[volume["configMap"]["name"]]
    folder = ROOT / "deploy" / "prometheus"
    asked = yaml.safe_load(content["prometheus.yml"])
    assert content == {name: (folder / name).read_bytes() for name in ("prometheus.yml", *asked["rule_files"])}
    services = {each["metadata"]["name"]: each["spec"]["ports"] for each in of_kind("overlays/local", "Service")}
    for job in asked["scrape_configs"]:
        for found in job["dns_sd_configs"]:
            for name in found["names"]:
                assert found["port"] in [port["port"] for port in services[name]]


def test_images_are_those_of_docker_compose() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    synthetic = container(named("overlays/local", "Deployment", "synthetic"))["args"]
    assert synthetic == [arg.replace("envoy:", "maumau:") for arg in compose["synthetic"]["command"]]
    for name in ("envoy", "redis", "prometheus"):
        (deployed,) = [each for each in of_kind("overlays/local", *WORKLOADS) if each["metadata"]["name"] == name]
        assert container(deployed)["image"] == compose[name]["image"]
    redis = container(named("overlays/local", "StatefulSet", "redis"))
    ours, theirs = [*redis["command"], *redis["args"]], compose["redis"]["command"]
    assert ours[0] == theirs[0]
    said = dict(zip(theirs[1::2], theirs[2::2], strict=True))
    replicas = {"--min-replicas-to-write", "--min-replicas-max-lag", "--repl-diskless-sync-delay"}  # there are none
    assert dict(zip(ours[1::2], ours[2::2], strict=True)) == {
        name: value for name, value in said.items() if name not in replicas
    }


# Hardening.


def test_every_pod_keeps_to_the_restricted_profile_and_cannot_write(overlay: str) -> None:
    namespace = named(overlay, "Namespace", "maumau")["metadata"]["labels"]
    assert namespace["pod-security.kubernetes.io/enforce"] == "restricted"
    for workload in of_kind(overlay, *WORKLOADS):
        pod, name = pod_of(workload), workload["metadata"]["name"]
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["runAsUser"] > 0, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["serviceAccountName"] == name
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod), name
        inner = container(workload)["securityContext"]
        assert inner["allowPrivilegeEscalation"] is False, name
        assert inner["readOnlyRootFilesystem"] is True, name
        assert inner["capabilities"] == {"drop": ["ALL"]}, name
        assert container(workload)["resources"].keys() == {"requests", "limits"}, name
    for account in of_kind(overlay, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def test_no_secret_is_in_a_config_map(overlay: str) -> None:
    assert not of_kind(overlay, "Secret")
    secret = [name for name, field in Settings.model_fields.items() if not field.repr]
    text = "\n".join(value.decode() for each in manifests.config_maps(overlay).values() for value in each.values())
    assert not [name for name in secret if f"MAUMAU_{name.upper()}" in text]


# Who may speak to whom.

PUBLIC, INTERNAL, METRICS = DEFAULTS.public_port, DEFAULTS.internal_port, DEFAULTS.metrics_port
OPERATIONS: Final = CONTAINER_EDGE.operations_port
SYNTHETIC: Final = 7803
FLOWS: Final = frozenset(
    {
        *(("envoy", service, port) for service in SERVICES for port in (PUBLIC, INTERNAL)),
        *((MATCHMAKING, service, INTERNAL) for service in SERVICES),  # to itself: maumauctl in one of its pods
        (GAME_AUTHORITY, SCORING, INTERNAL),
        *(("operator", service, INTERNAL) for service in SERVICES),
        *((each, "redis", 6379) for each in (*SERVICES, "operator")),
        *(("prometheus", service, METRICS) for service in SERVICES),
        ("prometheus", "envoy", OPERATIONS),
        ("prometheus", "synthetic", SYNTHETIC),
        ("synthetic", "envoy", CONTAINER_EDGE.port),
    }
)
"""From, to, port: all that the local overlay lets pass between its pods."""


def _selects(selector: Manifest, labels: dict[str, str]) -> bool:
    fits = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return fits and all(
        labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", ()) if _is_in(each)
    )


def _is_in(expression: Manifest) -> bool:
    assert expression["operator"] == "In"
    return True


def _peer(peers: list[Manifest] | None, labels: dict[str, str]) -> bool:
    """Whether a pod of our namespace with these labels is among the peers of a rule."""
    if peers is None:
        return True
    return any("namespaceSelector" not in peer and _selects(peer["podSelector"], labels) for peer in peers)


def _allows(policies: list[Manifest], way: str, subject: dict[str, str], other: dict[str, str], port: int) -> bool:
    side, rule = ("from", "ingress") if way == "Ingress" else ("to", "egress")
    for spec in (policy["spec"] for policy in policies):
        if way in spec["policyTypes"] and _selects(spec["podSelector"], subject):
            for each in spec.get(rule, ()):
                if port in [named["port"] for named in each["ports"]] and _peer(each.get(side), other):
                    return True
    return False


def test_the_network_policies_let_pass_what_the_services_need_and_nothing_else() -> None:
    folder = "overlays/local"
    policies = of_kind(folder, "NetworkPolicy")
    pods = {each["metadata"]["name"]: labels_of(each) for each in of_kind(folder, *WORKLOADS)}
    pods["operator"] = {"app.kubernetes.io/component": "operator"}
    ports = {port for _, _, port in FLOWS} | {1, 9090, 9901}
    passing = {
        (source, target, port)
        for source, target, port in product(pods, pods, ports)
        if _allows(policies, "Egress", pods[source], pods[target], port)
        and _allows(policies, "Ingress", pods[target], pods[source], port)
    }
    assert passing == FLOWS


def test_the_world_reaches_envoy_alone() -> None:
    policies = of_kind("overlays/production", "NetworkPolicy")
    open_to_all = {
        (policy["metadata"]["name"], tuple(port["port"] for port in rule["ports"]))
        for policy in policies
        for rule in policy["spec"].get("ingress", ())
        if "from" not in rule
    }
    assert open_to_all == {("envoy", (CONTAINER_EDGE.port,))}
    (everything,) = [each for each in policies if each["metadata"]["name"] == "nothing-else"]
    assert everything["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


# Whole.


def test_selectors_find_their_pods(overlay: str) -> None:
    pods = [labels_of(each) for each in of_kind(overlay, *WORKLOADS)]
    for service in of_kind(overlay, "Service"):
        found = [labels for labels in pods if _selects({"matchLabels": service["spec"]["selector"]}, labels)]
        assert len(found) == 1, service["metadata"]["name"]
    for workload in of_kind(overlay, *WORKLOADS):
        assert _selects(workload["spec"]["selector"], labels_of(workload))


def test_target_ports_exist(overlay: str) -> None:
    workloads = of_kind(overlay, *WORKLOADS)
    for service in of_kind(overlay, "Service"):
        (workload,) = [
            each for each in workloads if _selects({"matchLabels": service["spec"]["selector"]}, labels_of(each))
        ]
        names = {port["name"]: port["containerPort"] for port in container(workload)["ports"]}
        for port in service["spec"]["ports"]:
            assert names[port["targetPort"]] == port["port"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_goes_with_the_production_overlay(component: str, tmp_path: Path) -> None:
    built = manifests.composed(tmp_path, "overlays/production", component)
    kinds = {each["kind"] for each in built}
    expected = {
        "pod-monitor": {"PodMonitor"},
        "gateway": {"Gateway", "GRPCRoute", "HTTPRoute"},
        "streams-scaling": {"ScaledObject"},
        "prometheus": {"StatefulSet"},
    }
    assert expected[component] <= kinds
    if component == "streams-scaling":
        scalers = [each["metadata"]["name"] for each in built if each["kind"] == "HorizontalPodAutoscaler"]
        assert GAME_AUTHORITY not in scalers, "two autoscalers would fight"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_behind_a_gateway_each_player_has_limits_of_his_own(overlay: str, tmp_path: Path) -> None:
    """The last entry of x-forwarded-for is the gateway's own address there, and the one before it is the player's; so
    nobody may reach Envoy past the gateway, since he would write that one himself."""
    built = manifests.composed(tmp_path, f"overlays/{overlay}", "gateway")
    (settings,) = [each for each in built if each["kind"] == "ConfigMap" and "maumau-settings" in str(each["metadata"])]
    assert settings["data"]["MAUMAU_TRUSTED_HOPS"] == "2"
    for service in SERVICES:
        (deployed,) = [each for each in built if (each["kind"], each["metadata"]["name"]) == ("Deployment", service)]
        assert container(deployed)["envFrom"] == [{"configMapRef": {"name": settings["metadata"]["name"]}}]
    (reached,) = [each for each in built if (each["kind"], each["metadata"]["name"]) == ("Service", "maumau")]
    assert reached["spec"]["type"] == "ClusterIP"
    assert "externalTrafficPolicy" not in reached["spec"]


def test_the_streams_that_authorities_are_scaled_by_are_counted(tmp_path: Path) -> None:
    built = manifests.composed(tmp_path, "overlays/production", "streams-scaling")
    (scaled,) = [each for each in built if each["kind"] == "ScaledObject"]
    (query,) = [
        trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"] if trigger["type"] == "prometheus"
    ]
    (metric,) = re.findall(r"maumau_\w+", query)
    assert f"`{metric}`" in (ROOT / "docs/metrics.md").read_text()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_scaled_by_streams_there_are_no_fewer_authorities_than_without(overlay: str, tmp_path: Path) -> None:
    before = named(f"overlays/{overlay}", "HorizontalPodAutoscaler", GAME_AUTHORITY)["spec"]["minReplicas"]
    built = manifests.composed(tmp_path, f"overlays/{overlay}", "streams-scaling")
    (scaled,) = [each for each in built if each["kind"] == "ScaledObject"]
    assert scaled["spec"]["minReplicaCount"] == before


def test_names_are_declared_once(overlay: str) -> None:
    seen: list[Any] = [(each["kind"], each["metadata"]["name"]) for each in manifests.built(overlay)]
    assert len(seen) == len(set(seen))

"""What kustomize makes of the manifests, and what the pods in them are started with."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.pods import IMAGE_ENVIRON, Volume

KUBERNETES: Final = Path(__file__).parents[2] / "deploy" / "kubernetes"
OVERLAYS: Final = tuple(sorted(path.name for path in (KUBERNETES / "overlays").iterdir()))
COMPONENTS: Final = tuple(sorted(path.name for path in (KUBERNETES / "components").iterdir()))

Manifest = dict[str, Any]


@cache
def built(folder: str) -> tuple[Manifest, ...]:
    """All objects of `kubectl kustomize deploy/kubernetes/<folder>`."""
    return tuple(yaml.safe_load_all(kustomize(KUBERNETES / folder)))


def composed(work: Path, overlay: str, *components: str) -> list[Manifest]:
    """An overlay with components, as an operator would write it into a kustomization of their own."""
    # Kustomize takes relative paths alone, and compares them without links.
    path = partial(os.path.relpath, start=work.resolve())
    (work / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "namespace": "maumau",
                "resources": [path(KUBERNETES / overlay)],
                "components": [path(KUBERNETES / "components" / name) for name in components],
            }
        )
    )
    return list(yaml.safe_load_all(kustomize(work)))


def kustomize(folder: Path) -> str:
    ended = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def of_kind(folder: str, *kinds: str) -> list[Manifest]:
    return [each for each in built(folder) if each["kind"] in kinds]


def named(folder: str, kind: str, name: str) -> Manifest:
    (found,) = [each for each in of_kind(folder, kind) if each["metadata"]["name"] == name]
    return found


def container(workload: Manifest) -> Manifest:
    """The one container of a Deployment or StatefulSet."""
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(found)


def secrets(keys: Path, redis_url: str) -> dict[str, dict[str, bytes]]:
    """What `deploy/kubernetes/secrets` prints, by name of the secret."""
    command: list[str | Path] = [KUBERNETES / "secrets", "--keys", keys, "--redis-url", redis_url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {
        each["metadata"]["name"]: {key: base64.b64decode(value) for key, value in each["data"].items()}
        for each in yaml.safe_load_all(text)
        if each["kind"] == "Secret"
    }


def config_maps(folder: str) -> dict[str, dict[str, bytes]]:
    return {
        each["metadata"]["name"]: {key: value.encode() for key, value in each["data"].items()}
        for each in of_kind(folder, "ConfigMap")
    }


def environ(folder: str, workload: Manifest, hidden: Mapping[str, dict[str, bytes]]) -> dict[str, str]:
    """The variables that a service's container has: of the image, of its ConfigMaps and of its secrets."""
    found = dict(IMAGE_ENVIRON)
    found["PATH"] = "/opt/maumau/bin:/usr/local/bin:/usr/bin:/bin"
    maps, pod = config_maps(folder), container(workload)
    for source in pod.get("envFrom", ()):
        found |= {name: value.decode() for name, value in maps[source["configMapRef"]["name"]].items()}
    for variable in pod.get("env", ()):
        place = variable["valueFrom"]["secretKeyRef"]
        found[variable["name"]] = hidden[place["name"]][place["key"]].decode()
    return found


def volumes(folder: str, workload: Manifest, hidden: Mapping[str, dict[str, bytes]]) -> list[Volume]:
    """The mounts of a workload's container, in the order in which they must be made."""
    pod = workload["spec"]["template"]["spec"]
    sources = {volume["name"]: _content(folder, volume, hidden) for volume in pod.get("volumes", ())}
    claims = [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())]
    sources |= {name: {} for name in claims}
    found = []
    for mount in container(workload)["volumeMounts"]:
        files = sources[mount["name"]]
        if "subPath" in mount:
            files = {mount["subPath"]: files[mount["subPath"]]}
        found.append(Volume(mount["mountPath"], files, mount.get("readOnly", False)))
    return found


def _content(folder: str, volume: Manifest, hidden: Mapping[str, dict[str, bytes]]) -> dict[str, bytes]:
    if "secret" in volume:
        return hidden[volume["secret"]["secretName"]]
    if "configMap" in volume:
        return config_maps(folder)[volume["configMap"]["name"]]
    return {}

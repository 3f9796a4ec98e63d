"""`maumauctl check` finds what would break the server, and says what would be right."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.local.stack import Stack
from services.runtime.key_folder import prepare_key_folder
from tests.maumauctl.running import Command
from tests.security.certificates import Authority
from tests.servers import Server, kinds, running


def checked(command: Command, *words: str, code: int) -> dict[str, Any]:
    ran = command("--json", "check", *words)
    assert ran.code == code, ran
    return {finding["subject"]: finding for finding in json.loads(ran.out)}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    prepare_key_folder(folder)
    return folder


@pytest.fixture(scope="module")
def wrong_redis() -> Iterator[Server]:
    wrong = ("--appendonly", "no", "--maxmemory-policy", "allkeys-lru", "--min-replicas-to-write", "0")
    with running(kinds()[0], *wrong) as server:
        yield server


def test_a_running_server_is_without_a_fault(ctl: Command, stack: Stack) -> None:
    found = checked(ctl, code=0)
    assert {finding["level"] for finding in found.values()} <= {"ok", "warning"}
    assert {"settings", "internal.secret", "operator.secret", "invite.secret", "session keys"} <= set(found)
    assert {"reachable", "version", "role", "appendonly", "maxmemory-policy", "maxmemory"} <= set(found)
    assert {"min-replicas-to-write", "latency", "prefix maumau", "pub/sub"} <= set(found)
    assert all(finding["right"] for finding in found.values() if finding["level"] != "ok")
    ran = ctl("check")
    assert ran.out.split()[:4] == ["subject", "level", "found", "right"]


def test_a_redis_that_may_lose_rooms_is_a_fault(keys: Path, wrong_redis: Server) -> None:
    command = Command({"MAUMAU_KEYS_DIR": str(keys), "MAUMAU_REDIS_URL": wrong_redis.url})
    found = checked(command, code=4)
    assert {name for name, finding in found.items() if finding["level"] == "fault"} == {
        "appendonly",
        "maxmemory-policy",
    }
    assert found["appendonly"]["right"] == "appendonly yes"
    assert found["maxmemory-policy"]["right"] == "noeviction"
    assert found["maxmemory"]["level"] == "warning"
    assert found["pub/sub"]["level"] == "ok"
    assert command("check").err == "maumauctl: FAULTS: 2 found.\n"


def test_replicas_that_are_waited_for_have_to_be_there(keys: Path, wrong_redis: Server) -> None:
    environ = {"MAUMAU_KEYS_DIR": str(keys), "MAUMAU_REDIS_URL": wrong_redis.url, "MAUMAU_REDIS_WAIT_REPLICAS": "1"}
    finding = checked(Command(environ), code=4)["min-replicas-to-write"]
    assert finding["level"] == "fault"
    assert "at least 1 replicas" in finding["right"]


def test_a_redis_that_is_away_is_one_fault(keys: Path) -> None:
    command = Command({"MAUMAU_KEYS_DIR": str(keys), "MAUMAU_REDIS_URL": "redis://:hunter2@127.0.0.1:1/0"})
    found = checked(command, code=4)
    assert [name for name, finding in found.items() if finding["level"] == "fault"] == ["reachable"]
    assert "MAUMAU_REDIS_URL" in found["reachable"]["right"]
    assert "hunter2" not in command("check").out
    assert checked(command, "--no-redis", code=0)


def test_a_redis_user_with_too_few_rights_is_told_what_is_missing(keys: Path) -> None:
    with running(kinds()[0]) as server:
        client: Any = server.client()
        client.execute_command("ACL", "SETUSER", "default", "-ssubscribe", "-config", "-set")
        command = Command({"MAUMAU_KEYS_DIR": str(keys), "MAUMAU_REDIS_URL": server.url})
        found = checked(command, code=4)
        client.close()
    assert found["pub/sub"]["level"] == "fault"
    assert "SSUBSCRIBE" in found["pub/sub"]["right"]
    assert found["prefix maumau"]["level"] == "fault"
    assert found["min-replicas-to-write"]["level"] == "ok", "INFO says it, so CONFIG may be forbidden"


def test_every_wrong_setting_is_named_at_once(keys: Path) -> None:
    wrong = {"MAUMAU_TURN_SECONDS": "1", "MAUMAU_TRUN_SECONDS": "30", "MAUMAU_LIMIT_ACT": "often"}
    ran = Command({"MAUMAU_KEYS_DIR": str(keys), **wrong})("--json", "check")
    assert ran.code == 4
    lines = [finding["found"] for finding in json.loads(ran.out)]
    assert {name for name in wrong for line in lines if line.startswith(name)} == set(wrong)


def test_a_key_folder_with_missing_and_broken_files_is_faulty_file_by_file(tmp_path: Path) -> None:
    prepare_key_folder(tmp_path)
    (tmp_path / "internal.secret").unlink()
    (tmp_path / "invite.secret").write_text("short")
    (tmp_path / "operator.secret").chmod(0o644)
    (tmp_path / "sessions" / "1.pem").write_text("no key")
    found = checked(Command({"MAUMAU_KEYS_DIR": str(tmp_path)}), "--no-redis", code=4)
    levels = {name: finding["level"] for name, finding in found.items()}
    assert levels["internal.secret"] == levels["invite.secret"] == levels["session keys"] == "fault"
    assert levels["operator.secret"] == "warning"


def test_certificates_are_looked_at(keys: Path, tmp_path: Path) -> None:
    ours = Authority("ours")
    ours.issue(tmp_path / "good")
    ours.issue(tmp_path / "other")
    (tmp_path / "mixed").mkdir()
    for source, file in (("good", "tls.crt"), ("other", "tls.key"), ("good", "ca.crt")):
        (tmp_path / "mixed" / file).write_bytes((tmp_path / source / file).read_bytes())
    environ = {"MAUMAU_KEYS_DIR": str(keys), "MAUMAU_PUBLIC_TLS_DIR": str(tmp_path / "good")}
    found = checked(Command({**environ, "MAUMAU_INTERNAL_TLS_DIR": str(tmp_path / "mixed")}), "--no-redis", code=4)
    assert found["public_tls_dir"]["level"] != "fault"
    assert found["internal_tls_dir"]["level"] == "fault"
    found = checked(Command({**environ, "MAUMAU_INTERNAL_TLS_DIR": str(tmp_path)}), "--no-redis", code=4)
    assert "tls.crt, tls.key, ca.crt" in found["internal_tls_dir"]["right"]


def test_an_identity_provider_without_keys_is_a_fault(keys: Path, tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    provider = {"URL": file.as_uri(), "ISSUER": "https://ours", "AUDIENCE": "cards"}
    environ = {f"MAUMAU_JWKS_{name}": value for name, value in provider.items()}
    command = Command({"MAUMAU_KEYS_DIR": str(keys), **environ})
    assert "No such file" in checked(command, "--no-redis", code=4)["jwks_url"]["found"]
    file.write_text('{"keys": []}')
    assert checked(command, "--no-redis", code=4)["jwks_url"]["right"]
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    published = {"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": base64.urlsafe_b64encode(key).decode().rstrip("=")}
    file.write_text(json.dumps({"keys": [published]}))
    assert checked(command, "--no-redis", code=0)["jwks_url"]["found"] == "1 keys"

"""A real Prometheus over a stack, with rules whose durations are divided."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from deploy.prometheus.rules import rules
from services.local.ports import free_ports

DIVIDED_BY: Final = 120
READY_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.3

Sample = tuple[dict[str, str], float]


class Prometheus:
    """Scrapes the targets twice a second. `target` and `forget` change what it scrapes while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._targets: dict[str, dict[str, dict[str, str]]] = {"services": {}, "envoy": {}, "synthetic": {}}
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    def target(self, job: str, address: str, **labels: str) -> None:
        """Scrapes this address, too."""
        self._targets[job][address] = labels
        self._write_targets(job)

    def forget(self, job: str, address: str) -> None:
        """Scrapes it no more."""
        del self._targets[job][address]
        self._write_targets(job)

    def _write_targets(self, job: str) -> None:
        groups = [{"targets": [address], "labels": labels} for address, labels in self._targets[job].items()]
        draft = self.folder / "draft"
        draft.write_text(json.dumps(groups))
        draft.replace(self.folder / f"{job}.json")

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "rules.yml").write_text(yaml.safe_dump(rules(DIVIDED_BY)))
        for job in self._targets:
            self._write_targets(job)
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [self._job(job) for job in self._targets],
        }
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        command = ["prometheus", f"--config.file={self.folder}/prometheus.yml", "--log.level=warn"]
        command += [f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait_ready()
        return self

    def _job(self, job: str) -> dict[str, Any]:
        # Envoy has thousands of samples; a busy machine takes more than half a second for them.
        slow = {"scrape_interval": "1s", "scrape_timeout": "1s"} if job == "envoy" else {}
        return {"job_name": job, **slow, "file_sd_configs": [{"files": [f"{job}.json"]}]}

    def _wait_ready(self) -> None:
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                self._get("/-/ready")
            except OSError:
                assert self._process is not None
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end, "Prometheus does not get ready"
                time.sleep(0.1)
            else:
                return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return str(answer.read(), "utf-8")

    def ask(self, expr: str) -> list[Sample]:
        """The samples that an instant query gives now."""
        answer = json.loads(self._get(f"/api/v1/query?{urllib.parse.urlencode({'query': expr})}"))
        assert answer["status"] == "success", answer
        return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]

    def fired(self, since: float) -> set[str]:
        """The alerts that were firing at some time since then (`time.monotonic`): `Name`, or `Name/window`."""
        back = max(1, round((time.monotonic() - since) * 1000))
        found = self.ask(f'count by (alertname, window) (count_over_time(ALERTS{{alertstate="firing"}}[{back}ms]))')
        return {"/".join(filter(None, (labels["alertname"], labels.get("window")))) for labels, _ in found}

    async def fires(self, *alerts: str, since: float, within: float = 120.0) -> None:
        """Waits until each has fired since then. Fails the test, naming those that have not, after `within` seconds."""
        end = time.monotonic() + within
        while missing := set(alerts) - await asyncio.to_thread(self.fired, since):
            assert time.monotonic() < end, f"not within {within:g} s: {', '.join(sorted(missing))}"
            await asyncio.sleep(LOOK_SECONDS)

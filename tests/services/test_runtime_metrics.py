"""Metrics: documented, named by Prometheus's customs, without ids as labels, and there to be scraped."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from services.runtime import tallies
from services.runtime.metrics import ruleset_label
from services.runtime.reference import declared_metrics, metrics_page
from tests.services.serving import Serving, serving

DOCS = Path(__file__).parents[2] / "docs"


def fetch(served: Serving, path: str) -> tuple[int, str]:
    """Status and body of a path on the metrics port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{served.runtime.metrics_port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def get(served: Serving, path: str) -> tuple[int, str]:
    """As `fetch`, beside the loop that is asked about."""
    return await asyncio.to_thread(fetch, served, path)


def test_every_metric_is_in_the_reference_page_with_a_sentence() -> None:
    assert (DOCS / "metrics.md").read_text() == metrics_page(), "run `make docs`"
    assert all(meaning.endswith(".") for *_, meaning in declared_metrics())


def test_names_carry_their_unit_and_no_label_is_an_id() -> None:
    for name, kind, labels, _ in declared_metrics():
        assert name.startswith(("grpc_server_", "maumau_")), name
        assert kind != "counter" or name.endswith("_total"), name
        assert kind != "histogram" or name.endswith("_seconds"), name
        assert not {"room", "player", "seat", "request_id"} & set(labels.replace("`", "").split(", ")), name


def test_a_ruleset_label_is_a_preset_or_custom() -> None:
    assert ruleset_label("mau-mau-32", {"mau-mau-32", "uno"}) == "mau-mau-32"
    assert ruleset_label("anything a player wrote", {"mau-mau-32", "uno"}) == "custom"


async def test_what_is_declared_can_be_scraped() -> None:
    async with serving() as served:
        code, text = await get(served, "/metrics")
    shown = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    assert code == 200
    assert {name for name, *_ in declared_metrics()} <= shown


async def test_liveness_and_readiness_answer_over_http_and_other_paths_do_not() -> None:
    async with serving(ready_check_seconds=0.01) as served:
        assert (await get(served, "/livez"))[0] == 200
        assert (await get(served, "/readyz"))[0] == 200
        served.probe.can_commit = False
        async with asyncio.timeout(10):
            while served.runtime.readiness.ready:
                await served.runtime.readiness.changed()
        assert (await get(served, "/readyz"))[0] == 503
        assert (await get(served, "/livez"))[0] == 200
        assert (await get(served, "/"))[0] == 404


async def test_a_loop_that_hangs_is_seen_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on the loop can say so: probes and the alerts on `maumau_ready` hear it from the thread."""
    monkeypatch.setattr("services.runtime.http.STUCK_SECONDS", 2.0)
    seen: dict[str, tuple[int, str]] = {}
    async with serving() as served:
        assert "\nmaumau_ready 1.0\n" in (await get(served, "/metrics"))[1]

        def look() -> None:
            while "/livez" not in seen or seen["/livez"][0] == 200:
                time.sleep(0.05)
                seen["/livez"] = fetch(served, "/livez")
            seen.update({path: fetch(served, path) for path in ("/readyz", "/metrics")})

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(60)
    assert (seen["/livez"][0], seen["/readyz"][0]) == (503, 503)
    assert "\nmaumau_ready 0.0\n" in seen["/metrics"][1]


def test_tallies_say_what_the_metrics_of_prometheus_client_say() -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    for module, registry in zip((prometheus_client, tallies), registries, strict=True):
        counter = module.Counter("told", "Told.", ("to",), registry=registry)
        histogram = module.Histogram("waited_seconds", "Waited.", registry=registry, buckets=(0.5, 1.0))
        counter.labels("ann").inc()
        counter.labels("ann").inc(2)
        for seconds in [0.25, 0.5, 0.75, 1.0, 30.0] * 1_000:
            histogram.observe(seconds)
    ours, theirs = [
        [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
        for registry in registries
    ]
    assert ours == theirs
    assert ours == [line for line in generate_latest(registries[1]).decode().splitlines() if "_created" not in line], (
        "whoever asks again is told the same"
    )
    with pytest.raises(AttributeError):
        tallies.Counter("told", "Told.", ("to",), registry=CollectorRegistry()).inc()


def test_a_scrape_in_the_middle_of_an_action_neither_breaks_it_nor_counts_anything_twice() -> None:
    registry = CollectorRegistry()
    histogram = tallies.Histogram("waited_seconds", "Waited.", registry=registry, buckets=(0.5,))
    done = threading.Event()

    def scrape() -> None:
        while not done.is_set():
            generate_latest(registry)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    scraping = threading.Thread(target=scrape)
    scraping.start()
    try:
        for _ in range(10 * tallies.MOST_WAITING):
            histogram.observe(0.25)
    finally:
        done.set()
        scraping.join()
        sys.setswitchinterval(before)
    assert f"waited_seconds_count {10.0 * tallies.MOST_WAITING}" in generate_latest(registry).decode()

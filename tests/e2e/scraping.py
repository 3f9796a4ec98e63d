"""What Prometheus would read: the samples of all processes of a stack, added up."""

from __future__ import annotations

import asyncio
import urllib.request
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from services.local.stack import Stack

Samples = Counter[str]


def read_samples(address: str) -> Samples:
    """The samples at `address`/metrics: `name{label="value"}`, labels in alphabetical order, with their values."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found: Samples = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] += sample.value  # type: ignore[assignment]
    return found


async def scrape(stack: Stack) -> Samples:
    """The sum over all services of a stack."""
    assert stack.plan is not None
    addresses = [f"{process.host}:{process.metrics_port}" for process in stack.plan.processes]
    each = await asyncio.gather(*(asyncio.to_thread(read_samples, address) for address in addresses))
    together: Samples = Counter()
    for samples in each:
        together.update(samples)  # keeps the zeros, which `+` would drop
    return together

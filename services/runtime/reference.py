"""Prints the reference pages that are made from code: `python -m services.runtime.reference settings`, `metrics`,
`rulesets` or `errors`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MinLen
from prometheus_client import REGISTRY, Metric
from pydantic.fields import FieldInfo

from services.runtime import metrics
from services.runtime.rulesets_page import rulesets_page
from services.runtime.settings import CLIENT_VARIABLES, Settings, variable
from services.wire.errors import CATALOGUE


def settings_page() -> str:
    """docs/settings.md: every setting with its default and its limits, section by section."""
    lines = [
        "# Settings",
        "",
        "Generated from `services/runtime/settings.py` by `make docs`. Every process reads its environment once, when",
        "it starts. A value out of range, or a variable that begins with `MAUMAU_` and is not listed here, stops it",
        "with a sentence that names what is wrong.",
    ]
    by_section = groupby(Settings.model_fields.items(), key=lambda item: _extra(item[1])["section"])
    for section, fields in by_section:
        lines += ["", f"## {section}", "", "| variable | default | limits | meaning |", "| --- | --- | --- | --- |"]
        lines += [_setting_row(name, field) for name, field in fields]
    lines += ["", "## The client's own", "", "| variable | meaning |", "| --- | --- |"]
    lines += [f"| `{name}` | {meaning[0].upper()}{meaning[1:]}. |" for name, meaning in CLIENT_VARIABLES.items()]
    return "\n".join(lines) + "\n"


def _setting_row(name: str, field: FieldInfo) -> str:
    default = "none" if field.default is None else f"`{_plain(field.default)}`"
    return f"| `{variable(name)}` | {default} | {', '.join(_limits(field))} | {field.description} |"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _limits(field: FieldInfo) -> Iterator[str]:
    if getattr(field.annotation, "__args__", None) and "Literal" in str(field.annotation):
        yield ", ".join(map(str, field.annotation.__args__))  # type: ignore[union-attr]
    above_zero = any(isinstance(limit, Gt) or (isinstance(limit, Ge) and limit.ge) for limit in field.metadata)
    for limit in field.metadata:
        if isinstance(limit, Ge) and (limit.ge or not above_zero):
            yield f"≥ {limit.ge}"
        elif isinstance(limit, Gt):
            yield f"> {limit.gt}"
        elif isinstance(limit, Le):
            yield f"≤ {limit.le}"
        elif isinstance(limit, Lt):
            yield f"< {limit.lt}"
        elif isinstance(limit, MinLen):
            yield "not empty"


def _extra(field: FieldInfo) -> dict[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def metrics_page() -> str:
    """docs/metrics.md: every metric that this code declares, with its type, labels and meaning."""
    lines = [
        "# Metrics",
        "",
        "Generated from `services/runtime/metrics.py` by `make docs`. Every process serves them at `/metrics` on its",
        "metrics port, Envoy its own at `/metrics` on the operations port. Libraries add `process_*` and `python_*`.",
        "",
        "| metric | type | labels | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{name}` | {kind} | {labels} | {meaning} |" for name, kind, labels, meaning in declared_metrics()]
    return "\n".join(lines) + "\n"


def declared_metrics() -> Iterable[tuple[str, str, str, str]]:
    """Name as Prometheus shows it, type, labels and description of every metric in `services.runtime.metrics`."""
    for collector in vars(metrics).values():
        described = getattr(collector, "describe", None)
        if described is None or collector not in REGISTRY._collector_to_names:
            continue
        for family in described():
            labels = ", ".join(f"`{label}`" for label in collector._labelnames)
            yield _shown(family), family.type, labels, family.documentation


def _shown(family: Metric) -> str:
    return family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")


def errors_page() -> str:
    """docs/errors.md: every reason of the catalogue with its code, metadata and sentence."""
    lines = [
        "# Errors",
        "",
        "Generated from `protos/maumau/v1/errors.proto` by `make docs`. Every refusal carries `google.rpc.ErrorInfo`",
        "with domain `maumau`, one of these reasons and at most the metadata listed with it. `BadRequest` names the",
        "fields of a request that are wrong; `RetryInfo` comes with every `RATE_LIMITED`, `SERVER_FULL` and code",
        "`UNAVAILABLE` and says when to try again. A `resume_token` in metadata is URL-safe base64 without padding.",
        "Reasons and metadata keys are stable, sentences are not.",
        "",
        "| reason | code | metadata | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for reason, known in CATALOGUE.items():
        keys = ", ".join(f"`{key}`" for key in known.metadata)
        lines.append(f"| `{reason}` | `{known.code.name}` | {keys} | {known.sentence} |")
    return "\n".join(lines) + "\n"


PAGES = {"settings": settings_page, "metrics": metrics_page, "rulesets": rulesets_page, "errors": errors_page}

if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1]]())

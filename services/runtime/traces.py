"""Traces by OpenTelemetry, off unless `MAUMAU_TRACES_URL` says where they go; needs the extra `traces`.

A unary RPC is a span, below the caller's where another service calls, and so is an action on a `Play` stream; a stream
of hours is none. A commit in Redis is a span of its own. What a commit brings to viewers is a trace of its own with a
link to the commit, since it may outlast the call that caused it. Names and attributes hold no id and no card.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from services.runtime.settings import Settings

TRACEPARENT: Final = "traceparent"
INTERNAL: Final = "maumau.internal."
KEPT_COMMITS: Final = 256
"""Commits that a delivery may still be linked to."""

Attributes = Mapping[str, str | int]
Metadata = Iterable[tuple[str, str | bytes]]


class TracesMissingError(ImportError):
    """Traces are asked for and OpenTelemetry is not installed."""


class Traces:
    """What all processes have: nothing is traced."""

    def call(self, path: str, metadata: Metadata) -> contextlib.AbstractContextManager[None]:
        """Around the handler of a unary RPC; `metadata` is the caller's."""
        return _NOTHING

    def work(self, name: str, attributes: Attributes = {}) -> contextlib.AbstractContextManager[None]:  # noqa: B006
        """Around a part of the present call."""
        return _NOTHING

    def commit(self, mark: bytes) -> contextlib.AbstractContextManager[None]:
        """Around a commit, which `delivery` finds by its mark."""
        return _NOTHING

    def delivery(self, mark: bytes) -> contextlib.AbstractContextManager[None]:
        """Around what brings a commit to its viewers."""
        return _NOTHING

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What a call to another service says of the present span."""
        return ()


_NOTHING: Final = contextlib.nullcontext()


class OpenTelemetry(Traces):
    """Traces through a provider of OpenTelemetry."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = provider.get_tracer("maumau")
        self._propagator = TraceContextTextMapPropagator()
        self._commits: dict[bytes, Any] = {}

    @contextlib.contextmanager
    def call(self, path: str, metadata: Metadata) -> Iterator[None]:
        name = path.lstrip("/")
        service, _, method = name.partition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
        # What strangers say decides nothing, least of all how much is traced.
        believed = metadata if service.startswith(INTERNAL) else ()
        carrier = {key: value for key, value in believed if key == TRACEPARENT}
        with self._span(name, "SERVER", attributes, context=self._propagator.extract(carrier) if carrier else None):
            yield

    @contextlib.contextmanager
    def work(self, name: str, attributes: Attributes = {}) -> Iterator[None]:  # noqa: B006
        with self._span(name, "INTERNAL", attributes):
            yield

    @contextlib.contextmanager
    def commit(self, mark: bytes) -> Iterator[None]:
        with self._span("commit", "CLIENT", {"db.system.name": "redis", "db.operation.name": "commit"}) as span:
            if span.is_recording():
                self._commits[mark] = span.get_span_context()
                if len(self._commits) > KEPT_COMMITS:
                    del self._commits[next(iter(self._commits))]
            yield

    @contextlib.contextmanager
    def delivery(self, mark: bytes) -> Iterator[None]:
        commit = self._commits.pop(mark, None)
        if commit is None:  # not sampled, or another process's
            yield
            return
        link = self._trace.Link(commit)
        nobodys = self._trace.set_span_in_context(self._trace.INVALID_SPAN)
        with self._span("delivery", "PRODUCER", {}, context=nobodys, links=[link]):
            yield

    def metadata(self) -> tuple[tuple[str, str], ...]:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return tuple(carrier.items())

    @contextlib.contextmanager
    def _span(self, name: str, kind: str, attributes: Attributes, **more: Any) -> Iterator[Any]:
        # An exception's text may name a room or a player: only its kind is told.
        with self._tracer.start_as_current_span(
            name,
            kind=self._trace.SpanKind[kind],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
            **more,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                raise


class _Switch:
    """Holds the traces of this process."""

    def __init__(self) -> None:
        self.now: Traces = Traces()


_switch: Final = _Switch()


def traces() -> Traces:
    """The traces of this process."""
    return _switch.now


def use(chosen: Traces) -> None:
    """From now on these."""
    _switch.now = chosen


def start_traces(service: str, settings: Settings) -> None:
    """Sends traces to the collector that the settings name, if they name one. Raises `TracesMissingError`."""
    if settings.traces_url is None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as missing:
        raise TracesMissingError("MAUMAU_TRACES_URL is set; install maumau-server[traces]") from missing
    provider = TracerProvider(
        resource=Resource.create({"service.namespace": "maumau", "service.name": service}),
        sampler=ParentBased(TraceIdRatioBased(settings.traces_percent / 100)),
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.traces_url)))
    use(OpenTelemetry(provider))

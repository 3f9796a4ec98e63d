"""Traces: off they do nothing; on, a call is followed across services to its commit, and nothing tells an id."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from services.runtime.traces import OpenTelemetry, Traces, traces, use

ACT, CREATE = "/maumau.v1.GameAuthorityService/Act", "/maumau.internal.v1.RoomControlService/CreateRoom"
MARK = b"12345678"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    use(OpenTelemetry(provider))
    yield exporter
    use(Traces())


def by_name(exported: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exported.get_finished_spans()}


def ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id


def test_without_an_address_nothing_is_traced() -> None:
    with traces().call(ACT, ()), traces().commit(MARK), traces().delivery(MARK):
        assert traces().metadata() == ()


def test_a_call_from_another_service_is_below_that_services_own(exported: InMemorySpanExporter) -> None:
    with traces().call(ACT, ()):
        said = traces().metadata()
    with traces().call(CREATE, said), traces().commit(MARK):
        pass
    spans = by_name(exported)
    act, create, commit = spans[ACT[1:]], spans[CREATE[1:]], spans["commit"]
    assert create.parent is not None
    assert (create.parent.trace_id, create.parent.span_id) == ids(act)
    assert commit.parent is not None
    assert commit.parent.span_id == ids(create)[1]


def test_what_a_stranger_says_of_traces_is_not_believed(exported: InMemorySpanExporter) -> None:
    with traces().call(ACT, [("traceparent", f"00-{'a' * 32}-{'b' * 16}-01")]):
        pass
    (span,) = exported.get_finished_spans()
    assert span.parent is None


def test_a_delivery_is_a_trace_of_its_own_with_a_link_to_its_commit(exported: InMemorySpanExporter) -> None:
    with traces().call(ACT, ()), traces().commit(MARK):
        pass
    with traces().call(ACT, ()), traces().delivery(MARK):
        pass
    with traces().delivery(b"another."):
        pass
    spans = by_name(exported)
    delivery, commit = spans["delivery"], spans["commit"]
    assert delivery.parent is None
    (link,) = delivery.links
    assert (link.context.trace_id, link.context.span_id) == ids(commit)
    assert sum(span.name == "delivery" for span in exported.get_finished_spans()) == 1


def test_an_error_tells_its_kind_and_not_its_text(exported: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), traces().call(ACT, ()):
        raise ValueError("room r_secret")
    (span,) = exported.get_finished_spans()
    assert "secret" not in span.to_json()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"

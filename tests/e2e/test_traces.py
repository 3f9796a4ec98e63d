"""With a collector named, a call is followed across services and Redis, and no span tells who played what."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from services.local.stack import Stack
from tests.e2e.calls import channel_to, duel, read_to
from tests.e2e.eventually import eventually
from tests.e2e.stacks import complaints, options


class Collector(http.server.ThreadingHTTPServer):
    """Takes what services export."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.exports: list[ExportTraceServiceRequest] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def spans(self) -> list[tuple[str, Any]]:
        """Every span with its service."""
        return [
            (resource.resource.attributes[0].value.string_value, span)
            for export in self.exports
            for resource in export.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Taking(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.exports.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so named by the base class
        """Exports are no news."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.shutdown()
    running.server_close()


async def test_a_call_is_one_trace_across_services_and_redis(collector: Collector, tmp_path: Path) -> None:
    environ = {"MAUMAU_TRACES_URL": collector.url, "MAUMAU_TRACES_PERCENT": "100", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    with Stack(options(tmp_path, authorities=1, environ=environ)) as stack:
        async with channel_to(stack.address) as channel:
            pair = await duel(channel)
            await pair.start()
            stream = pair.ana.watch(pair.room)
            await read_to(stream, 1)
            await read_to(stream, await pair.turn())

            def names() -> set[str]:
                return {span.name for _, span in collector.spans()}

            wanted = {"maumau.v1.MatchmakingService/CreateRoom", "commit", "delivery"}
            wanted |= {"maumau.internal.v1.RoomControlService/CreateRoom", "maumau.v1.GameAuthorityService/Act"}
            await eventually(lambda: names() >= wanted, f"spans {sorted(wanted)}")
            stream.cancel()
        assert complaints(stack) == []
    spans = collector.spans()
    (made,) = [span for _, span in spans if span.name == "maumau.v1.MatchmakingService/CreateRoom"]
    trace = [(span.name, span.parent_span_id) for _, span in spans if span.trace_id == made.trace_id]
    (inner,) = [span for _, span in spans if span.name == "maumau.internal.v1.RoomControlService/CreateRoom"]
    assert (inner.name, made.span_id) in trace
    assert ("commit", inner.span_id) in trace
    commits = {(span.trace_id, span.span_id) for _, span in spans if span.name == "commit"}
    deliveries = [span for _, span in spans if span.name == "delivery"]
    assert all((link.trace_id, link.span_id) in commits for span in deliveries for link in span.links)
    assert not [span.name for _, span in spans if span.name.endswith(("/Watch", "/Play"))], "a stream is no span"
    text = "".join(MessageToJson(export) for export in collector.exports)
    assert not [secret for secret in (pair.room, pair.ana.id, pair.bo.id, "RANK_", "SUIT_") if secret in text]

"""/metrics, /livez and /readyz over HTTP on a port of their own, answered by a thread.

The thread sees what the event loop cannot say about itself: when the loop has not turned for ten seconds, `/livez` and
`/readyz` fail and `maumau_ready` is 0.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

STUCK_SECONDS: Final = 10.0


class LoopPulse:
    """When the event loop last turned; written by the loop, read by the thread."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def beat(self) -> None:
        self.last = time.monotonic()

    @property
    def alive(self) -> bool:
        return time.monotonic() - self.last < STUCK_SECONDS


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Scrapes are no news."""


class MetricsServer:
    """Serves until `close`. Raises OSError when the port is taken."""

    def __init__(self, host: str, port: int, alive: Callable[[], bool], ready: Callable[[], bool]) -> None:
        self._probes = {"/livez": alive, "/readyz": ready}
        self._metrics = make_wsgi_app()
        self._server = make_server(host, port, self._answer, server_class=_Server, handler_class=_Silent)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="metrics", daemon=True).start()

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            return self._metrics(environ, start_response)  # type: ignore[no-any-return]
        if path not in self._probes:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"/metrics, /livez and /readyz are here\n"]
        good = self._probes[path]()
        start_response("200 OK" if good else "503 Service Unavailable", [("Content-Type", "text/plain")])
        return [b"ok\n" if good else b"not now\n"]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

"""JSON lines on standard output: time, level, event and service, and what is bound to the present call.

`bind(room=..., seat=..., request_id=..., version=...)` adds to every later line of the same call (each call is a task
of its own, so nothing leaks to others). A card never shows its face: whatever is no plain value is written by its
`repr`, and that of a card is blank.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, BinaryIO, Final

import msgspec
import structlog

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}

bind = structlog.contextvars.bind_contextvars
log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

METADATA_OF_STRANGERS: Final = "Invalid encoding on"

_written_from = 0

_encode = msgspec.json.Encoder(enc_hook=repr).encode
_KEYS: Final = (str, int, float, bool, bytes, type(None))


def configure_logs(service: str, level: str = "info", stream: BinaryIO | None = None) -> None:
    """Sends structlog's and the standard library's records to `stream` (standard output) as JSON lines."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _name_service(service),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
        _render,
    ]
    global _written_from
    _written_from = LEVELS[level]
    out = stream or sys.stdout.buffer
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Foreign()], level=max(LEVELS[level], logging.WARNING), force=True)


def is_written(level: str) -> bool:
    """Whether lines of this level are written, for those whose making costs more than the rest of a refused call."""
    return LEVELS[level] >= _written_from


def _name_service(service: str) -> Any:
    def add(_: Any, __: str, line: dict[str, Any]) -> dict[str, Any]:
        line["service"] = service
        return line

    return add


def _render(_: Any, __: str, line: dict[str, Any]) -> bytes:
    """Plain values as they are, anything else by its `repr`: no field of an object gets into a line by accident."""
    return _encode({key: value if isinstance(value, _KEYS) else repr(value) for key, value in line.items()})


class _Foreign(logging.Handler):
    """Records of libraries, written like ours, but for one that holds what a stranger sent: gRPC complains of metadata
    that is no UTF-8 with all of its text, a session token for instance, each time that it is looked at."""

    def emit(self, record: logging.LogRecord) -> None:
        if str(record.msg).startswith(METADATA_OF_STRANGERS):
            return
        level = record.levelname.lower() if record.levelno <= logging.ERROR else "error"
        getattr(log, level, log.warning)(record.getMessage(), logger=record.name, exc_info=record.exc_info)

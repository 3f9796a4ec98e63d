"""What the container tests share: an engine, the image of this tree, and the base images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.engine import PYTHON_IMAGE, Engine, Wheels, engine, wheels
from tests.faults.history import History

IMAGE = "maumau:latest"


@pytest.fixture(scope="session")
def docker() -> Iterator[Engine]:
    with engine() as answering:
        answering.make_base_images()
        yield answering


@pytest.fixture(scope="session")
def index(docker: Engine) -> Iterator[Wheels]:
    script = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    with wheels(docker.docker("run", "--rm", PYTHON_IMAGE, "python3", "-c", script).strip()) as served:
        yield served


@pytest.fixture(scope="session")
def image(docker: Engine, index: Wheels) -> str:
    """The tag of our image, as the compose file names it."""
    docker.build(IMAGE, index)
    return IMAGE


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()

"""Settings: what is refused and how it is told, and that the reference page is the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from services.runtime.limits import LIMITS, read_rate
from services.runtime.reference import settings_page
from services.runtime.settings import CLIENT_VARIABLES, Settings, SettingsError, read_settings, variable

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*map(variable, Settings.model_fields), *CLIENT_VARIABLES]:
        monkeypatch.delenv(name, raising=False)


def test_an_unknown_variable_is_refused_naming_the_near_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUMAU_REDIS_URI", "redis://elsewhere")
    with pytest.raises(SettingsError, match=r"MAUMAU_REDIS_URI is no setting .* MAUMAU_REDIS_URL") as caught:
        read_settings()
    assert "elsewhere" not in str(caught.value)


def test_all_faults_are_told_at_once_with_variable_value_and_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUMAU_PUBLIC_PORT", "70000")
    monkeypatch.setenv("MAUMAU_TURN_SECONDS", "soon")
    monkeypatch.setenv("MAUMAU_TURNS", "5")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    told = str(caught.value).splitlines()
    assert len(told) == 3
    assert "MAUMAU_PUBLIC_PORT='70000': Input should be less than or equal to 65535" in told
    assert any(line.startswith("MAUMAU_TURN_SECONDS='soon': Input should be a valid number") for line in told)


def test_no_setting_takes_what_is_beyond_the_limits_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just beyond each of them, one at a time."""
    for name, field in Settings.model_fields.items():
        for limit in field.metadata:
            for kind, step in (("ge", -1), ("gt", 0), ("le", 1), ("lt", 0)):
                edge = getattr(limit, kind, None)
                if edge is None:
                    continue
                with monkeypatch.context() as patch:
                    patch.setenv(variable(name), str(edge + step))
                    with pytest.raises(SettingsError, match=variable(name)):
                        read_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("MAUMAU_LIMIT_ACT", rate) for rate in ("0/s burst 5", "0.00/min burst 5", "5/day burst 5", "5/s", "")),
        ("MAUMAU_REDIS_PREFIX", "two words"),
        ("MAUMAU_CORS_ORIGINS_REGEX", "https://(cards"),
        ("MAUMAU_TRUSTED_PROXIES", "10.0.0.0/40"),
    ],
)
def test_what_no_process_could_work_with_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{name}="):
        read_settings()


@pytest.mark.parametrize("rate", ["0.5/h burst 1", "10/min burst 20", "007.50/s burst 60"])
def test_any_rate_above_nothing_is_taken(monkeypatch: pytest.MonkeyPatch, rate: str) -> None:
    monkeypatch.setenv("MAUMAU_LIMIT_ACT", rate)
    assert read_rate(read_settings().limit_act).per_second > 0


def test_the_value_of_a_secret_is_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUMAU_REDIS_URL", "")
    monkeypatch.setenv("MAUMAU_PORT", "7")
    with pytest.raises(SettingsError, match=r"^MAUMAU_REDIS_URL: "):
        read_settings()
    assert "hunter2" not in repr(Settings(redis_url="redis://:hunter2@host"))


def test_settings_that_contradict_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUMAU_BOT_MOVE_MIN_SECONDS", "9")
    with pytest.raises(SettingsError, match="BOT_MOVE_MIN_SECONDS must not be above MAUMAU_BOT_MOVE_MAX_SECONDS"):
        read_settings()


def test_the_clients_variables_are_no_fault_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    files = (DOCS.parent / "clients" / "python" / "maumau").glob("*.py")
    read = {name for file in files for name in re.findall(r'"(MAUMAU_[A-Z_]+)"', file.read_text())}
    assert read == set(CLIENT_VARIABLES)
    for name in read:
        monkeypatch.setenv(name, "what the client takes")
    assert read_settings().port == 7700


def test_settings_do_not_change_after_the_start() -> None:
    with pytest.raises(ValidationError):
        read_settings().port = 1


def test_every_number_has_its_unit_in_its_name_or_counts_things() -> None:
    units = re.compile(r"_(seconds|bytes|days|percent|port|connections|streams|requests|replicas|players|rooms)$")
    counted = {"port", "authorities", "trusted_hops"}
    numbers = [n for n, field in Settings.model_fields.items() if isinstance(field.default, (int, float))]
    bare = [n for n in numbers if not isinstance(Settings.model_fields[n].default, bool) and not units.search(n)]
    assert set(bare) == counted


def test_every_setting_is_read_by_somebody() -> None:
    """Limits are read by their names from a table."""
    services = DOCS.parent / "services"
    declared = services / "runtime" / "settings.py"
    texts = [path.read_text() for path in services.rglob("*.py") if path != declared]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    limits = {f"limit_{limit.name}" for limit in LIMITS}
    assert Settings.model_fields.keys() - words == limits - words


def test_every_setting_is_described_in_the_reference_page() -> None:
    assert (DOCS / "settings.md").read_text() == settings_page(), "run `make docs`"
    assert all(field.description for field in Settings.model_fields.values())

"""The bill of materials says what the lock file says: names, versions, hashes. What the image has installed is compared
with it in tests/containers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deploy.bill import ROOT, write_bill

LOCKED = re.compile(r"^([a-z0-9.-]+)==([^ ;\\]+)[^\\]*((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
Entries = dict[tuple[str, str], set[str]]


def locked() -> Entries:
    text = (ROOT / "requirements.lock").read_text()
    found = {
        (name, version): set(re.findall(r"sha256:(\w+)", hashes)) for name, version, hashes in LOCKED.findall(text)
    }
    assert len(found) == len(re.findall(r"^\w", text, re.MULTILINE))
    assert sum(map(len, found.values())) == text.count("--hash=")
    return found


@pytest.mark.needs("make")
def test_the_bill_of_materials_equals_the_lock_file(tmp_path: Path) -> None:
    bill = write_bill(tmp_path / "sbom.json")
    listed: Entries = {
        (component["name"], component["version"]): {
            each["content"]
            for reference in component["externalReferences"]
            for each in reference["hashes"]
            if each["alg"] == "SHA-256"
        }
        for component in bill["components"]
    }
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "maumau-server"
    assert listed == locked()


@pytest.mark.needs("make")
def test_two_bills_of_one_lock_file_are_the_same(tmp_path: Path) -> None:
    assert write_bill(tmp_path / "first.json") == write_bill(tmp_path / "second.json")

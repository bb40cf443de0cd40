"""docs/recordings.md and README.md name what is recorded."""

from __future__ import annotations

from recordings.recorded import ROOT
from support import docs


def test_the_versions_that_the_page_names_are_those_that_are_recorded() -> None:
    told = docs.rows(docs.section((docs.ROOT / "docs" / "recordings.md").read_text(), "What is recorded"))
    versions = {engine.name: {version.name for version in engine.iterdir()} for engine in ROOT.iterdir()}
    assert {engine: set(names.split(", ")) for engine, names in told} == versions
    total = sum(map(len, versions.values()))
    readme = " ".join((docs.ROOT / "README.md").read_text().split())
    assert f"[recordings](docs/recordings.md) of {total} versions of engines" in readme

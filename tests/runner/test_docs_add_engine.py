"""docs/add-an-engine.md: its tables are the form, its excerpts are the example's, and its package brings an engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_agent_runner.engines.added import form, profile_form
from support import docs
from support.added import PROFILE, WREN, program
from support.cli import Cli

PAGE = (docs.ROOT / "docs/add-an-engine.md").read_text()
EXAMPLE = (docs.ROOT / "docs/examples/pi.yaml").read_text()
RECORDED = docs.ROOT / "tests/extractors/declared/pi/0.73.1"
# Where a key that there is not makes the form name those that there are: heading -> (what is replaced, by what).
PLACES = {
    "The profile": ("schema: 1", "schema: 1\nnosuch: 1"),
    "session": ("{field: session", "{nosuch: 1, field: session"),
    "start, resume, continue": ("start: {argv", "start: {nosuch: 1, argv"),
    "terminal": ("store:", "terminal: {nosuch: 1}\nstore:"),
    "options": ("{names: --yolo", "{nosuch: 1, names: --yolo"),
    "events": ("said: {gives", "said: {nosuch: 1, gives"),
    "errors": ("{line: ", "{nosuch: 1, line: "),
    "store": ("  folder: .mine", "  nosuch: 1\n  folder: .mine"),
}


def documented(heading: str) -> tuple[set[str], set[str]]:
    """(all keys of the table, those in bold)."""
    cells = [row[0] for row in docs.rows(docs.section(PAGE, heading))]
    return {key for cell in cells for key in re.findall("`([^`]+)`", cell)}, {
        key for cell in cells for key in re.findall(r"\*\*`([^`]+)`\*\*", cell)
    }


def complaint(text: str) -> str:
    with pytest.raises(form.FormError) as error:
        profile_form.read(text, "mine")
    return error.value.text


@pytest.mark.parametrize("heading", PLACES)
def test_the_tables_hold_every_key(heading: str) -> None:
    old, new = PLACES[heading]
    assert old in PROFILE
    found = re.search(r"expected one of the keys (.*), not 'nosuch'", complaint(PROFILE.replace(old, new, 1)))
    assert found
    assert documented(heading)[0] == set(found[1].split(", "))


@pytest.mark.parametrize(
    ("heading", "mapping", "emptied"),
    [
        pytest.param("The profile", "(?s).*", "{}", id="the profile"),
        pytest.param("session", "session: {f.*", "session: {}", id="session"),
        pytest.param("start, resume, continue", "start: .*", "start: {}", id="start"),
        pytest.param("options", "- {names: --yolo.*", "- {}", id="options"),
        pytest.param("events", "said: .*", "said: {}", id="events"),
        pytest.param("errors", "- {line.*", "- {}", id="errors"),
        pytest.param("store", "(?s)store:.*", "store: {}", id="store"),
    ],
)
def test_what_is_bold_is_needed(heading: str, mapping: str, emptied: str) -> None:
    found = re.search(r"expected the key '([a-z]+)'", complaint(re.sub(mapping, emptied, PROFILE, count=1)))
    assert found
    assert found[1] in documented(heading)[1]


def test_the_excerpts_are_the_examples() -> None:
    excerpts = docs.blocks(PAGE, "yaml")
    assert len(excerpts) == 10
    assert [text for text in excerpts[:6] if text not in EXAMPLE] == []
    assert [text for text in excerpts[6:] if text not in WREN.read_text()] == []


def test_the_lines_are_what_pi_printed() -> None:
    (printed,) = docs.blocks(PAGE, "json")
    assert (RECORDED / "start/stdout").read_text().startswith(printed)


def test_the_package_brings_its_engine(cli: Cli, tmp_path: Path) -> None:
    """The page's module and entry point, installed as pip leaves them."""
    (module,), (toml,) = docs.blocks(PAGE, "python"), docs.blocks(PAGE, "toml")
    name, target = re.findall(r'^(\w+) = "(\w+)"$', toml, re.MULTILINE)[0]
    info, code = tmp_path / "my_agent-1.0.dist-info", tmp_path / target
    info.mkdir()
    code.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-agent\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[git_agent.engines]\n{name} = {target}\n")
    assert '[project.entry-points."git_agent.engines"]' in toml
    (code / "__init__.py").write_text(module)
    (code / "mine.yaml").write_text(PROFILE)
    path = f"{tmp_path}:{cli.environ()['PYTHONPATH']}"
    cli.repo.git("config", "agent.mine.binary", str(program(cli.home)))
    (row,) = [row for row in cli.ok("engines", "--json", PYTHONPATH=path).json["engines"] if row["engine"] == name]
    assert (row["profile"], row["resume"]) == ("package my-agent 1.0", "yes")
    assert "broken" not in cli.ok("engines", "--check", name, PYTHONPATH=path).out

"""The pages that people need (faults F12): all are in the index; links, flags, settings and messages are real."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from git_agent_extractors.model import Refusal
from git_agent_fixtures.engines import NEWEST
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.arguments import parse, rejected, widening
from git_agent_runner.engines.spec import Version
from support import docs
from support.cli import Cli
from support.gitrepo import GitRepo

INDEX = docs.ROOT / "docs/README.md"
PERMISSIONS = (docs.ROOT / "docs/permissions.md").read_text()
BY_ENGINE = {row[0]: row[1:] for row in docs.rows(docs.section(PERMISSIONS, "By engine"))}
VERSIONS: dict[str, Version] = {pin.engine: tuple(map(int, pin.version.split("."))) for pin in NEWEST}
SOURCES = "\n".join(
    path.read_text()
    for place in ("runner", "hooks", "extractors")
    for path in sorted((docs.ROOT / place).rglob("*.py"))
)


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings: lower case, letters, digits, dashes and blanks, which become dashes."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    for link in docs.links(page.read_text()):
        file, _, anchor = link.partition("#")
        if anchor and "://" not in link:
            assert anchor in anchors(page.parent / file if file else page), link


def test_the_index_has_every_page() -> None:
    linked = {(INDEX.parent / link.partition("#")[0]).resolve() for link in docs.links(INDEX.read_text())}
    assert {page for page in docs.PAGES if page.parent != docs.ROOT} - {INDEX} <= linked
    assert "docs/README.md" in docs.links((docs.ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_setting_that_is_named_exists(page: Path) -> None:
    rows = docs.rows(docs.section((docs.ROOT / "docs/reference.md").read_text(), "Configuration"))
    known = {row[0].strip("`") for row in rows} | {"agent.onDead", "agent.onError", "agent.onIdle", "agent.onCi"}
    for key in re.findall(r"git config (?:--global )?(agent\.[\w.<>]+)", page.read_text()):
        assert key in known or re.sub(r"^agent\.\w+\.", "agent.<engine>.", key) in known, key


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_yaml_block_can_be_read(page: Path) -> None:
    for text in docs.blocks(page.read_text(), "yaml"):
        YAML(typ="safe").load(text)


def test_permissions_has_every_engine() -> None:
    assert sorted(BY_ENGINE) == sorted(MODULES)


def test_the_readme_has_the_flags_of_the_permissions_page() -> None:
    """Those that let an agent edit files and run commands."""
    rows = [row for row in docs.rows((docs.ROOT / "README.md").read_text()) if len(row) == 2]
    named = {name: docs.inline_code(flags)[0] for names, flags in rows for name in names.split(", ")}
    assert named == {name: docs.inline_code(cells[2])[0] for name, cells in BY_ENGINE.items() if cells[2]}


@pytest.mark.parametrize("name", VERSIONS)
def test_the_flags_of_the_permissions_page_are_taken_and_widen(name: str) -> None:
    """The newest recorded version takes them, and they are among those that a note never brings."""
    engine = load(name)
    for cell in BY_ENGINE[name][1:]:
        for code in docs.inline_code(cell):
            words = tuple(code.split(" "))
            assert all(word.option for word in parse(engine.options, words)), code
            assert not rejected(engine.options, words, VERSIONS[name]), code
            assert widening(engine.options, words), code


@pytest.mark.parametrize("name", VERSIONS)
def test_the_flag_that_the_summary_names_is_on_the_permissions_page(name: str) -> None:
    shown = {code.split("=")[0] for cell in BY_ENGINE[name][1:] for code in docs.inline_code(cell)}
    for allowance in load(name).allow(VERSIONS[name], (), (Refusal("Bash", "make"),)):
        assert " ".join(allowance.flags).split("=")[0] in shown


def test_every_symptom_is_one_that_is_printed() -> None:
    text = (docs.ROOT / "docs/troubleshooting.md").read_text()
    symptoms = [code for row in docs.rows(text) for code in docs.inline_code(row[0]) if not code.startswith("git ")]
    assert len(symptoms) > 20
    for symptom in symptoms:
        for piece in re.split("'?…'?", symptom):
            assert piece.strip(" ,") in SOURCES, symptom


def checked_out(cli: Cli, remote: GitRepo, *depth: str) -> None:
    """As a CI job begins: a new clone in the old place, and what was saved of the job before."""
    saved = cli.home / "saved"
    if cli.repo.path.exists():
        shutil.move(cli.layout.root, saved)
        shutil.rmtree(cli.repo.path)
    cli.repo.path.mkdir()
    cli.repo.git("init", "-q")
    cli.repo.git("remote", "add", "origin", remote.path.as_uri())
    cli.repo.git("fetch", "-q", *depth, "origin", "+refs/heads/main:refs/remotes/origin/main")
    cli.repo.git("checkout", "-q", "-B", "main", "refs/remotes/origin/main")
    if saved.exists():
        shutil.move(saved, Path(cli.layout.root).parent / "agent")


@pytest.mark.parametrize(("depth", "resumed"), [((), True), (("--depth=1",), False)], ids=["whole", "shallow"])
def test_a_ci_job_continues_the_session_of_the_one_before(
    cli: Cli, tmp_path: Path, depth: tuple[str, ...], resumed: bool
) -> None:
    """docs/ci.md: the saved .git/agent is enough, with no home and no pointer left, if the start commit is there."""
    remote = cli.repo.clone(tmp_path / "remote.git", "--bare")
    record = cli.begin("claude")
    cli.repo.commit("more")
    cli.repo.git("push", "-q", str(remote.path), "main")
    checked_out(cli, remote, *depth)
    cli.repo.git("config", "agent.engine", "claude")
    home = tmp_path / "another home"
    home.mkdir()
    told = cli.ok("start", "--resume", "--json", "again", HOME=str(home)).json
    assert (told["handle"] == record.handle, told["session"]["value"] == record.session.value) == (resumed, resumed)

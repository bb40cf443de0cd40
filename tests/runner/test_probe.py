"""Which program is an engine's, and what it says of itself: real programs, counted when they are started."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import load
from git_agent_runner.engines.probe import Probe, flags, probe, user_cache_dir
from git_agent_runner.engines.spec import Engine, Version, parse_version

ROOT = Path(__file__).parents[2]
ENGINES = ROOT / "tests" / "support" / "engines"


def engine(name: str = "codex") -> Engine:
    """An engine of that name that reads any version."""
    install = "npm install -g @openai/codex"
    return load("gemini")._replace(name=name, binary=name, install=install, parse_version=parse_version)


class Place:
    """A folder on PATH with a program in it, and a cache; `starts` counts how often programs were started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.count = folder / "count"
        self.environ = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(folder), "COUNT": str(self.count)}

    def program(self, body: str, path: Path | None = None) -> Path:
        target = path or self.bin / "codex"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f'#!/bin/sh\necho >> "$COUNT"\n{body}\n')
        target.chmod(0o755)
        return target

    def starts(self) -> int:
        return len(self.count.read_text()) if self.count.exists() else 0

    def probe(self, setting: str | None = None, work_tree: str | None = None) -> Probe:
        return probe(engine(), setting, self.environ, str(self.folder / "cache"), work_tree)

    def refusal(self, setting: str | None = None, work_tree: str | None = None) -> UserError:
        with pytest.raises(UserError) as caught:
            self.probe(setting, work_tree)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("codex", (0, 171, 0), id="codex-cli 0.171.0"),
        pytest.param("claude", (2, 1, 332), id="2.1.332 (Claude Code)"),
        pytest.param("gemini", (0, 61, 0), id="0.61.0"),
    ],
)
def test_found_on_path(tmp_path: Path, name: str, version: Version) -> None:
    environ = dict(os.environ) | {"PATH": f"/no/such/place:{ENGINES}:{os.environ['PATH']}"}
    assert probe(engine(name), None, environ, str(tmp_path)) == Probe(str(ENGINES / name), version)


@pytest.mark.parametrize(
    ("output", "version"),
    [
        pytest.param("Now using node v20.20.2 (npm v10.8.2)\ncodex-cli 0.171.0", (0, 171, 0), id="before"),
        pytest.param("v0.171.0", (0, 171, 0), id="v"),
        pytest.param("mise 2025.1.0 ready\n\n0.98.0\n", (0, 98, 0), id="blank lines"),
        pytest.param("0.61.0-nightly.20261101\n", (0, 61, 0), id="nightly"),
        pytest.param("the version of codex is 0.5.0", (0, 5, 0), id="in a sentence"),
    ],
)
def test_version_managers_may_talk_first(place: Place, output: str, version: Version) -> None:
    place.program(f"cat <<'E'\n{output}\nE")
    assert place.probe().version == version


def test_asked_once(place: Place) -> None:
    place.program("echo 0.171.0")
    assert place.probe() == place.probe() == Probe(str(place.bin / "codex"), (0, 171, 0))
    assert place.starts() == 1


def test_a_remembered_answer_imports_no_process_machinery(place: Place) -> None:
    place.program("echo 0.171.0")
    place.probe()
    code = f"""
import sys
from types import SimpleNamespace
from git_agent_runner.engines.probe import probe
engine = SimpleNamespace(name="codex", binary="codex")
print(probe(engine, None, {place.environ!r}, {str(place.folder / "cache")!r}).version)
print({{"psutil", "selectors", "subprocess", "platformdirs"}} & set(sys.modules))
"""
    env = dict(os.environ) | {"PYTHONPATH": f"{ROOT}/runner:{ROOT}/extractors"}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "(0, 171, 0)\nset()\n"


@pytest.mark.parametrize(
    "text",
    [pytest.param("echo 0.172.0", id="same size"), pytest.param("echo 0.1720.0", id="other size")],
)
def test_a_new_file_is_asked_again_whatever_its_times(place: Place, text: str) -> None:
    program = place.program("echo 0.171.0")
    place.probe()
    times = program.stat()
    place.program(text)
    os.utime(program, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert place.probe().version[1] in {172, 1720}
    assert place.starts() == 2


def test_a_node_package_is_known_by_its_package_json(place: Place) -> None:
    package = place.folder / "lib/node_modules/@openai/codex"
    script = place.program("cat $(dirname $(readlink -f $0))/../package.json", package / "bin/codex.js")
    (package / "package.json").write_text('{"version":"0.171.0"}')
    (place.bin / "codex").symlink_to(script)
    assert place.probe() == Probe(str(place.bin / "codex"), (0, 171, 0))
    (package / "package.json").write_text('{"version":"0.172.0"}')
    assert place.probe().version == (0, 172, 0)
    assert place.starts() == 2


@pytest.mark.parametrize(
    ("name", "first"),
    [
        pytest.param("asdf-shim", '# asdf-plugin: nodejs 20\n: exec asdf exec codex "$@"', id="script of asdf"),
        pytest.param("mise", "", id="link to mise"),
        pytest.param("volta-shim", "", id="link to volta"),
    ],
)
def test_what_picks_a_version_by_itself_is_asked_each_time(place: Place, name: str, first: str) -> None:
    target = place.program(f"{first}\necho 0.171.0", place.folder / "shims" / name)
    (place.bin / "codex").symlink_to(target)
    place.probe()
    place.probe()
    assert place.starts() == 2


def test_it_runs_apart_from_the_repository(place: Place) -> None:
    place.environ |= {"GIT_DIR": "/repo/.git", "GIT_INDEX_FILE": "index", "PWD": "/repo"}
    place.program(f'(pwd -P; echo "$PWD"; env | grep ^GIT_; readlink /proc/self/fd/0) > {place.folder}/seen; echo 1.2')
    place.probe()
    assert (place.folder / "seen").read_text().split() == ["/", "/", os.devnull]


def test_the_cache_is_private_and_disposable(place: Place) -> None:
    place.program("echo 0.171.0")
    place.probe()
    cache = place.folder / "cache" / "probe-codex.json"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.parent.stat().st_mode) == 0o700
    for damage in ("", "[1]", '{"x"', json.dumps({str(place.bin / "codex"): 3})):
        cache.write_text(damage)
        assert place.probe().version == (0, 171, 0)


def test_no_cache_no_matter(place: Place) -> None:
    (place.folder / "cache").write_text("in the way")
    place.program("echo 0.171.0")
    assert place.probe().version == place.probe().version
    assert place.starts() == 2


def test_eight_installations_are_remembered(place: Place) -> None:
    settings = [str(place.program("echo 1.0", place.folder / f"v{number}/codex")) for number in range(10)]
    for setting in settings:
        place.probe(setting)
    cache = json.loads((place.folder / "cache/probe-codex.json").read_text())
    assert list(cache) == settings[-8:]


@pytest.mark.parametrize("setting", ["{bin}/codex", "~/bin/codex", "codex"])
def test_setting(place: Place, setting: str) -> None:
    place.program("echo 1.0")
    assert place.probe(setting.format(bin=place.bin)).binary == str(place.bin / "codex")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param("tools/codex", "agent.codex.binary is the relative path 'tools/codex'", id="relative"),
        pytest.param("/no/such/codex", "'/no/such/codex' is not a program that can be run", id="gone"),
        pytest.param(os.devnull, f"'{os.devnull}' is not a program that can be run", id="no program"),
        pytest.param("no-such-engine", "'no-such-engine' is not on PATH", id="no such name"),
    ],
)
def test_missing(place: Place, setting: str, message: str) -> None:
    refusal = place.refusal(setting)
    assert (refusal.code, refusal.message) == ("binary_missing", message)
    assert refusal.hints == (
        "install it: npm install -g @openai/codex",
        "or set 'git config agent.codex.binary' to its absolute path",
    )


def test_folders_relative_to_where_we_are_do_not_count(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.program("echo 1.0")
    monkeypatch.chdir(place.bin)
    place.environ["PATH"] = ".::bin"
    assert place.refusal().code == "binary_missing"


@pytest.mark.parametrize("where", ["inside", "link inside to outside", "link outside to inside"])
def test_the_repository_does_not_choose_what_runs(place: Place, where: str) -> None:
    tree = place.folder / "repo"
    inside, outside = tree / "node_modules/.bin/codex", place.folder / "elsewhere/codex"
    for path in (inside, outside):
        path.parent.mkdir(parents=True)
    target, link = (outside, inside) if where == "link inside to outside" else (inside, outside)
    place.program("echo 1.0", target)
    link.symlink_to(target)
    named = {"inside": inside, "link inside to outside": inside}.get(where, outside)
    refusal = place.refusal(str(named), str(tree))
    assert refusal.code == "binary_in_repository"
    assert str(named) in refusal.message
    assert place.starts() == 0


def test_path_goes_on_after_the_repository(place: Place) -> None:
    tree = place.folder / "repo"
    place.program("echo 6.6", tree / "bin/codex")
    place.program("echo 1.0")
    place.environ["PATH"] = f"{tree}/bin:{place.environ['PATH']}"
    assert place.probe(None, str(tree)) == Probe(str(place.bin / "codex"), (1, 0))
    (place.bin / "codex").unlink()
    assert place.refusal(None, str(tree)).code == "binary_in_repository"


def test_a_probe_that_fails_shows_what_it_said(place: Place) -> None:
    place.program("echo '\x1b[31mError: Cannot find module' >&2; exit 3")
    refusal = place.refusal()
    assert refusal.code == "probe_failed"
    assert refusal.message == f"{place.bin}/codex --version failed with 3"
    assert refusal.hints[0] == "\x1b[31mError: Cannot find module"  # made visible where hints are printed


def test_a_program_without_its_interpreter(place: Place) -> None:
    place.program("").write_text("#!/no/such/node\n")
    assert place.refusal().message == (
        f"{place.bin}/codex --version cannot be started: the program that its first line (#!) names does not exist"
    )


def test_a_program_that_hangs_is_ended_with_its_children(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("git_agent_runner.engines.probe.TIMEOUT", 2.0)
    place.program(f"trap '' INT TERM; echo $$ > {place.folder}/pid; sleep 600 & sleep 600")
    assert place.refusal().message == f"{place.bin}/codex --version gave no answer in 2 s"
    assert not Path(f"/proc/{(place.folder / 'pid').read_text().strip()}").exists()


def test_a_program_that_does_not_know_its_version(place: Place) -> None:
    place.program("echo hello")
    refusal = place.refusal()
    assert refusal.code == "version_unknown"
    assert refusal.hints == ("hello", "set 'git config agent.codex.binary' to the right program")


def test_failures_are_not_remembered(place: Place) -> None:
    place.program("exit 1")
    place.refusal()
    place.refusal()
    assert place.starts() == 2


def test_flags_are_those_of_the_headless_form(place: Place) -> None:
    place.program(
        """case "$*" in
--version) echo 0.171.0 ;;
"exec --help") printf '%s\\n' Options: '  -m, --model <MODEL>  Model, see --models' '      --json' ;;
"exec resume --help") printf '%s\\n' '  --last=<N>' 'prose with --not-this' ;;
*) exit 9 ;;
esac"""
    )
    found = place.probe()
    for _ in range(2):
        described = flags(engine(), found, place.environ, str(place.folder / "cache"))
        assert described == {"-m", "--model", "--json", "--last"}
    assert place.probe() == found
    assert place.starts() == 3


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/git-agent", id="XDG"),
        pytest.param({"HOME": "/h"}, "/h/.cache/git-agent", id="home"),
        pytest.param({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/git-agent", id="relative"),
    ],
)
def test_cache_folder(environ: dict[str, str], folder: str) -> None:
    assert user_cache_dir(environ) == folder

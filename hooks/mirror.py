"""Write the content of a repository that has only our pre-commit hooks: the manifest, and a package that depends on the
released one.

A team that names such a repository clones no sources and no recordings. The program is a dependency of the package, not
of each hook, so that `additional_dependencies` in a team's file add to it and do not replace it.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MANIFEST = ".pre-commit-hooks.yaml"
PACKAGE = """\
[build-system]
requires = ["hatchling>=1.27,<2"]
build-backend = "hatchling.build"

[project]
name = "{name}-pre-commit"
version = "{version}"
requires-python = "{python}"
dependencies = ["{name}=={version}"]

[tool.hatch.build.targets.wheel]
bypass-selection = true
"""
README = """\
# git-agent for pre-commit

The hooks of git-agent {version}, made by `make hooks-mirror` in its sources; see docs/hooks.md there. Tag: v{version}.
"""


def write(folder: Path) -> None:
    """The files of the repository; its history is the caller's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    facts = {"name": project["name"], "version": project["version"], "python": project["requires-python"]}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).write_bytes((ROOT / MANIFEST).read_bytes())
    (folder / "pyproject.toml").write_text(PACKAGE.format(**facts))
    (folder / "README.md").write_text(README.format(**facts))


if __name__ == "__main__":
    write(Path(sys.argv[1]))

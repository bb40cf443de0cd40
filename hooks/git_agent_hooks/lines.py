"""What a person adds to a hook manager's own files, so that it calls our hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from git_agent_hooks.place import SIMPLE

# pre-commit's hooks by their names, and where they run.
_BY_PRE_COMMIT = {
    "record": ("post-commit",),
    "carry": ("post-commit", "post-rewrite", "post-merge"),
    "hint": ("post-checkout",),
}


def text(manager: str, names: Sequence[str], folder: Path) -> str:
    """For these hooks. `folder` is where a manager that has a file for each hook keeps them."""
    return BY_MANAGER.get(manager, _files)(names, folder)


def call(name: str, words: str = '"$@"') -> str:
    """A line of sh that calls our hook of this clone, where it has one."""
    return f'h="$(git rev-parse --git-common-dir)/agent/hooks/{name}"; [ ! -x "$h" ] || "$h" {words}'


def _files(names: Sequence[str], folder: Path) -> str:
    return "\n".join(f"# {folder / name}\n{call(name)}" for name in names)


def _lefthook(names: Sequence[str], _folder: Path) -> str:
    return "\n".join(
        f"{name}:\n  jobs:\n    - name: git-agent\n      run: {call(name, '{0}')}"
        + ("\n      use_stdin: true" if name == "post-rewrite" else "")
        for name in names
    )


def _simple(names: Sequence[str], _folder: Path) -> str:
    rows = [f"  {json.dumps(name)}: {json.dumps(call(name))}" for name in names]
    return f'"{SIMPLE}": {{\n' + ",\n".join(rows) + "\n}"


def _pre_commit(names: Sequence[str], _folder: Path) -> str:
    """From the package's release: no repository has to be named."""
    from importlib.metadata import version

    package = f"git-agent-runner=={version('git-agent-runner')}"
    hooks = [
        f"  - id: git-agent-{word}\n"
        f"    name: git-agent {word}\n"
        f"    language: python\n"
        f"    additional_dependencies: [{package}]\n"
        f"    entry: git-agent-hook {word}\n"
        f"    stages: [{', '.join(stages)}]\n"
        f"    always_run: true\n"
        f"    pass_filenames: false"
        for word, stages in _BY_PRE_COMMIT.items()
    ]
    types = f"default_install_hook_types: [pre-commit, {', '.join(names)}]"
    return "\n".join([types, "repos:", "- repo: local", "  hooks:", *hooks])


BY_MANAGER: dict[str, Callable[[Sequence[str], Path], str]] = {
    "git": _files,
    "husky": _files,
    "lefthook": _lefthook,
    SIMPLE: _simple,
    "pre-commit": _pre_commit,
    "prek": _pre_commit,
}

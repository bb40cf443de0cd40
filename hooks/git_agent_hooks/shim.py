"""The text of an installed hook: plain sh that decides, before Python starts, whether there is anything to do.

Builtins of sh and at most one git process: a commit on a branch without a run must not feel them. A rebase runs
post-commit for each commit that it makes, so that hook's first line is about it.
"""

from __future__ import annotations

import hashlib

from git_agent_hooks.sh import HAS_RUN

MARK = "# Made by `git agent hooks install`; `git agent hooks uninstall` takes it out."
# Beside the directory of hooks, as deep as it, and under its own name: what a hook finds by its `$0` it finds there.
CHAINED = ".git-agent-chained"

_HEAD = """\
dir=${{GIT_DIR:-.git}}
before="${{0%/*}}{chained}/{hook}"
start() {{
  [ ! -x {python} ] || {python} -I -c "import sys
try: from git_agent_hooks.entry import installed
except ImportError: sys.exit()
sys.exit(installed())" {hook} "$@"
}}
"""
_CHAIN = """\
status=0
if [ -f "$before" ] && [ -x "$before" ]; then "$before" "$@"; status=$?; fi
if wanted "$@"; then start "$@" </dev/null; fi
exit $status
"""
_REBASING = """\
if [ -d "$dir/rebase-merge" ] && [ ! -e "$before" ]; then exit 0; fi
"""
_POST_COMMIT = """\
wanted() {
  if rebasing; then return 1; fi
  if [ -n "$GIT_AGENT_HANDLE" ] || [ -e "$dir/CHERRY_PICK_HEAD" ] || [ -e "$dir/agent-sources" ]; then return 0; fi
  has_run
}
"""
_CHECKOUT = """\
wanted() {
  if [ "$3" != 1 ] || [ -n "$GIT_AGENT_HANDLE" ] || [ ! -t 2 ] || rebasing; then return 1; fi
  has_run
}
"""
_PREPARE = """\
wanted() { [ -n "$GIT_AGENT_HANDLE" ]; }
"""
_MERGE = """\
wanted() { [ "$1" = 1 ]; }
"""
# What git writes there goes to both, and is there once. `notes` are the blobs that the old, or the new, commits have as
# notes: a path there has no, one or two slashes. `wanted`: have the new ones others, or fewer, than the old ones?
_REWRITE = """\
set -f
IFS='
'
pairs=$(cat 2>/dev/null)
told() { printf '%s' "${pairs:+$pairs$IFS}"; }
notes() {
  for pair in $pairs; do
    new=${pair#* }
    case $1 in old) oid=${pair%% *} ;; new) oid=${new%% *} ;; esac
    tail=${oid#??}
    first=${oid%"$tail"}
    rest=${tail#??}
    printf "$tree:%s\\n" "$oid" "$first/$tail" "$first/${tail%"$rest"}/$rest"
  done | git cat-file --batch-check='%(objectname)' | grep -v ' missing$'
}
wanted() {
  if [ -z "$pairs" ]; then return 0; fi
  tree=$(git rev-parse -q --verify 'refs/notes/agent^{tree}') || return 1
  old=$(notes old)
  [ -n "$old" ] && [ "$old" != "$(notes new)" ]
}
status=0
if [ -f "$before" ] && [ -x "$before" ]; then told | "$before" "$@"; status=$?; fi
if wanted; then told | start "$@"; fi
exit $status
"""

BODIES = {
    "post-commit": _REBASING + HAS_RUN + _POST_COMMIT + _CHAIN,
    "post-checkout": _REBASING + HAS_RUN + _CHECKOUT + _CHAIN,
    "post-merge": _MERGE + _CHAIN,
    "post-rewrite": _REWRITE,
    "prepare-commit-msg": _PREPARE + _CHAIN,
}


def text(hook: str, python: str) -> str:
    """The hook's file. `python` is the absolute path of an interpreter that has this package."""
    rest = _HEAD.format(hook=hook, chained=CHAINED, python=quoted(python)) + BODIES[hook]
    return f"#!/bin/sh\n{MARK}\n{sum_line(rest)}\n{rest}"


def is_whole(content: str) -> bool:
    """Is this file one of ours and unchanged, whichever version and interpreter wrote it?"""
    first, _, rest = content.partition(f"\n{MARK}\n")
    line, _, rest = rest.partition("\n")
    return (first, line) == ("#!/bin/sh", sum_line(rest))


def sum_line(rest: str) -> str:
    """The checksum line: it shows that nobody has changed the file, whatever this version would write."""
    return f"# Its sum: {hashlib.sha256(rest.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def quoted(path: str) -> str:
    """One word for sh, whatever it holds."""
    return "'" + path.replace("'", "'\\''") + "'"

"""The text of an installed hook: plain sh that decides, before Python starts, whether there is anything to do.

Builtins of sh and at most one git process: a commit on a branch without a run must not feel them. A rebase runs
post-commit for each commit that it makes, so that hook's first line is about it.
"""

from __future__ import annotations

import re

MARK = "# Made by `git agent hooks install`; `git agent hooks uninstall` takes it out."
CHAINED = ".git-agent-chained"  # the hook that stood here before, which goes first

_HEAD = """\
#!/bin/sh
{mark}
dir=${{GIT_DIR:-.git}}
before="${{0%/*}}/{hook}{chained}"
"""
_START = """\
start() {{
  [ ! -x {python} ] || {python} -I -c "import sys
try: import git_agent_hooks.main as main
except ImportError: sys.exit()
sys.exit(main.installed(sys.argv[1:]))" {hook} "$@"
}}
"""
_CHAIN = """\
status=0
if [ -f "$before" ] && [ -x "$before" ]; then "$before" "$@"; status=$?; fi
"""
_TAIL = """\
if wanted "$@"; then start "$@" </dev/null; fi
exit $status
"""
_REBASING = """\
if [ -d "$dir/rebase-merge" ] && [ ! -e "$before" ]; then exit 0; fi
"""
_HAS_RUN = """\
rebasing() { [ -d "$dir/rebase-merge" ] || [ -d "$dir/rebase-apply" ]; }
has_run() {
  read -r head 2>/dev/null <"$dir/HEAD" || return 0
  case $head in
    "ref: refs/heads/.invalid") return 0 ;;
    "ref: refs/heads/"*) git config --get "branch.${head#ref: refs/heads/}.agentHandle" >/dev/null ;;
    *) return 1 ;;
  esac
}
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
# What git writes there goes to both, and is there once. A note's path has no, one or two slashes: git is asked for all
# three of each commit at once. `wanted`: has a new commit another note than its old one, or none where that has one?
_REWRITE = """\
pairs=
while read -r old new rest; do
  pairs="$pairs$old $new
"
done
told() { printf %s "$pairs"; }
paths() {
  tail=${1#??}
  first=${1%"$tail"}
  printf '%s\\n' "refs/notes/agent:$1" "refs/notes/agent:$first/$tail"
  printf '%s\\n' "refs/notes/agent:$first/${tail%"${tail#??}"}/${tail#??}"
}
ask() {
  told | while read -r old new; do
    paths "$old"
    paths "$new"
  done | git cat-file --batch-check='%(objectname)'
}
note() {
  note=
  for _ in 1 2 3; do
    read -r line || return 1
    case $line in *" missing") ;; *) note=$line ;; esac
  done
}
wanted() {
  if [ -z "$pairs" ]; then return 0; fi
  asked=$(ask)
  while note; do
    old=$note
    note
    if [ -n "$old" ] && [ "$old" != "$note" ]; then return 0; fi
  done <<END
$asked
END
  return 1
}
status=0
if [ -f "$before" ] && [ -x "$before" ]; then told | "$before" "$@"; status=$?; fi
if wanted; then told | start "$@"; fi
exit $status
"""

BODIES = {
    "post-commit": _REBASING + _HAS_RUN + _POST_COMMIT + _START + _CHAIN + _TAIL,
    "post-checkout": _REBASING + _HAS_RUN + _CHECKOUT + _START + _CHAIN + _TAIL,
    "post-merge": _MERGE + _START + _CHAIN + _TAIL,
    "post-rewrite": _START + _REWRITE,
    "prepare-commit-msg": _PREPARE + _START + _CHAIN + _TAIL,
}


def text(hook: str, python: str) -> str:
    """The hook's file. `python` is the absolute path of an interpreter that has this package."""
    head = _HEAD.format(mark=MARK, hook=hook, chained=CHAINED)
    start = _START.format(python=quoted(python), hook=hook)
    return head + BODIES[hook].replace(_START, start)


def is_whole(content: str, hook: str) -> bool:
    """Is this our file as we wrote it, for whichever interpreter?"""
    found = re.search(r"\[ ! -x ('(?:[^']|'\\'')*') \] \|\| ", content)
    return found is not None and content == text(hook, found[1][1:-1].replace("'\\''", "'"))


def quoted(path: str) -> str:
    """One word for sh, whatever it holds."""
    return "'" + path.replace("'", "'\\''") + "'"

"""The text of an installed hook: plain sh that decides, before Python starts, whether there is anything to do.

Only builtins of sh and at most one git process: a commit on a branch without a run must not feel them.
"""

from __future__ import annotations

MARK = "# Made by `git agent hooks install`; `git agent hooks uninstall` takes it out."
CHAINED = ".git-agent-chained"  # the hook that stood here before, which goes first

_HEAD = """\
#!/bin/sh
{mark}
python={python}
start="import sys, git_agent_hooks.main as main; sys.exit(main.installed(sys.argv[1:]))"
before="${{0%/*}}/{hook}{chained}"
dir=${{GIT_DIR:-.git}}
status=0
rebasing() {{ [ -d "$dir/rebase-merge" ] || [ -d "$dir/rebase-apply" ]; }}
has_run() {{
  read -r head 2>/dev/null <"$dir/HEAD" || return 0
  case $head in
    "ref: refs/heads/.invalid") return 0 ;;
    "ref: refs/heads/"*) git config --get "branch.${{head#ref: refs/heads/}}.agentHandle" >/dev/null ;;
    *) return 1 ;;
  esac
}}
"""
_CHAIN = """\
if [ -x "$before" ]; then "$before" "$@"; status=$?; fi
"""
_TAIL = """\
if [ -x "$python" ] && wanted "$@"; then "$python" -I -c "$start" {hook} "$@" </dev/null; fi
exit $status
"""

_POST_COMMIT = """\
wanted() {
  if rebasing; then return 1; fi
  if [ -n "$GIT_AGENT_HANDLE" ] || [ -e "$dir/CHERRY_PICK_HEAD" ] || [ -e "$dir/agent-sources" ]; then return 0; fi
  has_run
}
"""
# A cherry-pick that met a conflict has lost its CHERRY_PICK_HEAD when post-commit comes.
_PREPARE = """\
wanted() { [ -n "$GIT_AGENT_HANDLE" ]; }
if [ -e "$dir/CHERRY_PICK_HEAD" ] && ! rebasing; then
  read -r source <"$dir/CHERRY_PICK_HEAD" && { echo "$source" >"$dir/agent-sources"; } 2>/dev/null
fi
"""
_CHECKOUT = """\
wanted() {
  if [ "$3" != 1 ] || [ -n "$GIT_AGENT_HANDLE" ] || [ ! -t 2 ] || rebasing; then return 1; fi
  has_run
}
"""
_MERGE = """\
wanted() { [ "$1" = 1 ]; }
"""
# What git writes there goes to both, and is there once.
_REWRITE = """\
pairs=$(cat)
told() { [ -z "$pairs" ] || printf '%s\\n' "$pairs"; }
if [ -x "$before" ]; then told | "$before" "$@"; status=$?; fi
if [ -x "$python" ] && git rev-parse --quiet --verify refs/notes/agent >/dev/null; then
  told | "$python" -I -c "$start" post-rewrite "$@"
fi
exit $status
"""
BODIES = {
    "prepare-commit-msg": _PREPARE + _CHAIN + _TAIL,
    "post-commit": _POST_COMMIT + _CHAIN + _TAIL,
    "post-checkout": _CHECKOUT + _CHAIN + _TAIL,
    "post-merge": _MERGE + _CHAIN + _TAIL,
    "post-rewrite": _REWRITE,
}


def text(hook: str, python: str) -> str:
    """The hook's file. `python` is the absolute path of an interpreter that has this package."""
    head = _HEAD.format(mark=MARK, python=quoted(python), hook=hook, chained=CHAINED)
    return head + BODIES[hook].replace("{hook}", hook)


def quoted(path: str) -> str:
    """One word for sh, whatever it holds."""
    return "'" + path.replace("'", "'\\''") + "'"

"""Shell code that decides, before Python has started, whether a hook has anything to do. It needs `$dir`."""

from git_agent_runner.core.marks import DETACHED

# To ask git costs more than all the rest. NONE holds what HEAD said when the answer was no, and counts as long as it is
# newer than the configuration. It is written before git is asked: a pointer that is set meanwhile is newer still.
# The other file is in a work tree where a run without a branch began. A branch that is made there takes that run along:
# one without a pointer is looked at once.
NONE = "agent-none"
HAS_RUN = """\
rebasing() { [ -d "$dir/rebase-merge" ] || [ -d "$dir/rebase-apply" ]; }
has_run() {
  read -r head 2>/dev/null <"$dir/HEAD" || return 0
  case $head in
    "ref: refs/heads/.invalid") return 0 ;;
    "ref: refs/heads/"*) ;;
    *) [ -e "$dir/{mark}" ]; return ;;
  esac
  common=.
  if [ -e "$dir/commondir" ]; then read -r common <"$dir/commondir"; fi
  case $common in /*) ;; *) common=$dir/$common ;; esac
  none="$dir/{none}"
  if [ "$none" -nt "$common/config" ] && read -r known <"$none" && [ "$known" = "$head" ]; then return 1; fi
  tell "$head"
  if git config --get "branch.${head#ref: refs/heads/}.agentHandle" >/dev/null; then tell; else [ -e "$dir/{mark}" ]; fi
}
tell() { { printf '%s\\n' "$1" >"$none"; } 2>/dev/null || :; }
""".replace("{none}", NONE).replace("{mark}", DETACHED)

_QUIET = """\
dir=${GIT_DIR:-.git}
if [ -n "$GIT_AGENT_HANDLE" ] || [ -d "$dir/agent/verdicts/untold" ]; then exit 0; fi
"""
_NOTED = "git rev-parse -q --verify refs/notes/agent >/dev/null"
# Exit status 1: pre-commit's hook of that name has nothing to do. An installed hook asks the same, or less.
IDLE = {
    "record": f"{_QUIET}{HAS_RUN}! rebasing && has_run",
    "carry": f"""{_QUIET}{HAS_RUN}
if [ -n "$PRE_COMMIT_REWRITE_COMMAND" ]; then {_NOTED}; exit; fi
if [ -n "$PRE_COMMIT_IS_SQUASH_MERGE" ]; then [ "$PRE_COMMIT_IS_SQUASH_MERGE" = 1 ]; exit; fi
if rebasing; then exit 1; fi
[ -e "$dir/CHERRY_PICK_HEAD" ] || [ -e "$dir/agent-sources" ] || has_run""",
    "hint": f'{_QUIET}{HAS_RUN}[ "$PRE_COMMIT_CHECKOUT_TYPE" = 1 ] && ! rebasing && has_run',
    "check": f"{_QUIET}{HAS_RUN}! git diff --cached --quiet -- ':(glob,top)**/recordings/**' || {_NOTED} || has_run",
}

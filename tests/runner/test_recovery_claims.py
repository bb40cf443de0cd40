"""What docs/recovery.md promises, sentence by sentence: the table names the tests, some are here."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import platformdirs
import pytest

from git_agent_runner import engines
from git_agent_runner.engines.spec import StoreQuery
from git_agent_runner.store import notes
from git_agent_runner.store.files import locks
from support import docs
from support.cli import Cli, ask
from support.gitrepo import GitRepo, make
from support.noted import raw
from support.runs import leave

PAGE = (docs.ROOT / "docs/recovery.md").read_text()
REPAIRED = "test_cli_doctor::test_what_is_repaired"
A, B = "aaaaaaaa", "bbbbbbbb"
OLD = "2020-01-01T00:00:00.000Z"

# The beginning of a sentence, or of a table's row, and the tests of this folder that hold it.
PROMISES: dict[str, str] = {
    "What to do after a crash": REPAIRED + " test_cli_push::test_a_run_goes_to_another_clone",
    "Nothing here starts an engine": "test_recovery_claims::test_nothing_on_the_page_starts_an_engine",
    "`git agent doctor` changes nothing": REPAIRED,
    "It prints each problem with its fix": REPAIRED,
    "`--repair` rebuilds damaged": REPAIRED,
    "It never deletes intact data": "test_cli_doctor::test_what_the_agent_printed_is_never_touched",
    "A damaged file is kept as": "test_cli_doctor::test_what_the_agent_printed_is_never_touched",
    "`--prune` also deletes": "test_cli_doctor::test_a_pointer_to_nothing_is_pruned"
    " test_cli_doctor::test_a_lock_that_git_left",
    "`attempt_empty`": REPAIRED,
    "`attempt_interrupted`": REPAIRED + " test_cli_killed::test_killed_with_its_engine",
    "`attempt_unreadable`": REPAIRED,
    "`changes_put_aside`": "test_doctor_aside::test_changes_that_were_never_put_back_are_named",
    "`engine_unwatched`": "test_cli_turns::test_an_engine_that_outlives_its_launcher_is_at_work",
    "`git_lock_stale`": "test_cli_doctor::test_a_lock_that_git_left",
    "`hook_lost`": "../hooks/test_hooks_lost::test_pre_commit_install_f_is_noticed",
    "`identity_missing`": "test_cli_places::test_without_an_identity",
    "`note_malformed`": "test_cli_show::test_doctor_names_a_note_that_cannot_be_read"
    " test_cli_push::test_a_time_to_come_wins_no_join",
    "`note_missing`": REPAIRED,
    "`notes_damaged`": "test_doctor_notes::test_it_is_named_and_goes_back_to_what_was_whole"
    " test_doctor_notes::test_without_a_reflog_it_can_be_deleted",
    "`notes_lossy`": "test_cli_doctor::test_settings_that_lose_notes",
    "`notes_not_carried`": REPAIRED,
    "`pointer_dangling`": "test_cli_doctor::test_a_pointer_to_nothing_is_pruned",
    "`pointers_many`": "test_costs::test_doctor_says_when_pointers_slow_every_git_command",
    "`read_only`": "test_cli_doctor::test_a_repository_that_may_not_be_written",
    "`record_corrupt`": REPAIRED,
    "`record_doubled`": "test_records_edited::test_doctor_names_a_key_that_is_there_twice_until_one_line_is_deleted",
    "`record_missing`": REPAIRED,
    "`run_directory_missing`": REPAIRED + " test_cli_doctor::test_a_record_without_a_run_directory_may_be_forgotten",
    "`run_empty`": REPAIRED,
    "`scraps`": REPAIRED + " test_cli_prune::test_what_a_killed_prune_left_is_a_scrap",
    "`session_expiring`": "test_cli_doctor::test_a_session_that_claude_soon_deletes",
    "`session_lost`": "test_cli_doctor::test_a_session_that_its_engine_lost",
    "A terminal in which git-agent was killed": "test_cli_outcomes::test_a_terminal_that_was_left_raw_is_named",
    "The next command about that run": "test_cli_outcomes::test_a_terminal_that_was_left_raw_is_named",
    "Others are the codes of settings": "test_settings_wrong::test_doctor_names_a_tracked_setting"
    " test_recovery_claims::test_doctor_names_an_engine_that_is_not_there",
    "Sessions are looked for on the machine": "test_cli_doctor::test_a_session_of_another_machine_is_not_missed",
    "Engines delete sessions": "test_cli_doctor::test_a_session_that_claude_soon_deletes"
    " test_retention::test_when_claude_deletes_a_session"
    " test_retention::test_when_gemini_deletes_a_session",
    "A note of another clone's run": "test_cli_doctor::test_a_note_from_elsewhere_is_no_problem",
    "Locks of git-agent itsel": "test_store_locks::test_a_killed_holder_leaves_nothing_behind",
    "A run may continue in another home": "test_cli_stores::test_two_homes_in_turn_lose_nothing",
    "Each resume compares": "test_cli_stores::test_two_homes_in_turn_lose_nothing"
    " test_cli_stores::test_states_that_parted_are_both_kept_and_none_is_chosen",
    "If the engine has an older state or none": "test_cli_stores::test_two_homes_in_turn_lose_nothing",
    "A state that was continued elsewhere": "test_cli_stores::test_states_that_parted_are_both_kept_and_none_is_chosen",
    "Where a variable names the store": "test_recovery_claims::test_the_page_names_the_variables"
    " test_cli_stores::test_another_account_s_store_is_not_entered",
    "Then a resume is refused": "test_cli_stores::test_another_account_s_store_is_not_entered",
    "Set the variable as it was": "test_cli_stores::test_another_account_s_store_is_not_entered",
    "`git agent adopt ENGINE SESSION` ties": "test_cli_adopt::test_a_session_begun_by_hand_becomes_this_branchs_run",
    "No engine is started": "test_cli_adopt::test_a_session_begun_by_hand_becomes_this_branchs_run"
    " test_cli_adopt::test_refusals_write_nothing test_cli_adopt::test_a_session_of_another_directory",
    "Without SESSION it is": "test_cli_adopt::test_the_only_session_of_this_directory_is_taken"
    " test_cli_adopt::test_several_sessions_are_named",
    "`--branch NAME` ties it to another": "test_cli_adopt::test_flags_and_branch_are_kept",
    "Flags for the engine follow": "test_cli_adopt::test_flags_and_branch_are_kept",
    "`git agent adopt HANDLE` ties": "test_cli_adopt::test_a_run_is_tied_to_another_branch"
    " test_cli_adopt::test_a_run_is_tied_to_a_work_tree_without_a_branch",
    "What it was tied to before": "test_cli_adopt::test_a_run_is_tied_to_another_branch",
    "It does the same for a run known only": "test_cli_adopt::test_a_run_that_only_a_note_knows_is_taken_up"
    " test_cli_adopt::test_after_the_runs_were_lost",
    "`git agent resume` does it by itsel": "test_cli_adopt::test_a_run_that_only_a_note_knows_is_taken_up",
    "Anyone who can push may have written": "test_hostile_notes::test_notes_that_are_never_followed",
    "the engine must be one that you have used": "test_notes_unproven::test_an_engine_that_the_person_never_used"
    " test_cli_adopt::test_a_hostile_note_starts_nothing",
    "the engine's store on this machine": "test_notes_unproven::test_another_projects_session_is_not_carried_here"
    " test_notes_unproven::test_a_session_of_a_repository_inside_this_one_is_another_projects",
    "What a store does not show": "test_notes_unproven::test_a_store_that_proves_nothing"
    " test_notes_unproven::test_a_session_file_that_names_no_directory",
    "flags that give the agent more permissions": "test_hostile_notes::test_no_flag_that_widens_comes_from_a_note"
    " test_cli_adopt::test_flags_that_widen_need_trust",
    "values that were hidden": "test_cli_adopt::test_what_a_note_hides_is_said",
    "`git agent prune` forgets runs": "test_cli_prune::test_what_is_forgotten"
    " test_cli_prune::test_an_unmerged_branchs_run_stays_unless_it_is_named",
    "The engines' own stores": "test_recovery_claims::test_a_forgotten_runs_session_stays"
    " test_cli_prune::test_a_run_that_was_forgotten_here_is_not_said_to_be_elsewhere",
    "`--older-than AGE`": "test_cli_prune::test_what_is_forgotten",
    "`--merged`": "test_cli_prune::test_merged_branches test_identity::test_prune_spares_the_runs_of_a_renamed_branch"
    " test_identity::test_prune_spares_a_branch_that_has_only_caught_up",
    "`--keep-size SIZE`": "test_cli_prune::test_what_is_forgotten",
    "A run must match all criteria": "test_cli_prune::test_what_is_forgotten"
    " test_cli_prune::test_refusals_remove_nothing",
    "A run that is running, is waited for": "test_cli_prune::test_a_run_that_goes_on_stays"
    " test_cli_prune::test_a_run_that_was_never_settled_stays"
    " test_recovery_claims::test_a_run_that_is_waited_for_stays"
    " test_cli_prune::test_an_unmerged_branchs_run_stays_unless_it_is_named",
    "`-n` only prints what would be removed": "test_cli_prune::test_what_is_forgotten",
    "Lines in notes are kept": "test_recovery_claims::test_a_resume_takes_up_anew_what_was_forgotten",
    "`--notes` removes them": "test_cli_prune::test_notes_are_taken_along_when_asked",
    "Git carries notes between clones only": "test_recovery_claims::test_what_git_alone_makes_of_two_sides"
    " test_trust_claims::test_a_plain_push_carries_nothing_of_ours",
    "Without REMOTE it is": "test_recovery_claims::test_which_remote_it_is",
    "Its notes are fetched to": "test_recovery_claims::test_which_remote_it_is test_cli_push::test_both_sides_keep_all"
    " test_cli_push::test_of_two_lines_of_one_run_the_newest_counts",
    "Both also share the verdicts": "test_review_background::test_verdicts_are_shared_and_count_only_where_"
    "they_are_trusted",
    "Nothing is forced": "test_cli_push::test_a_push_that_another_clone_was_faster_than",
    "If another clone pushed first": "test_cli_push::test_a_push_that_another_clone_was_faster_than"
    " test_recovery_claims::test_hooks_for_pushes_are_not_run",
    "A line that was removed here": "test_recovery_claims::test_a_line_that_was_taken_out_comes_back",
    "What is fetched starts nothing": "test_recovery_claims::test_what_is_fetched_starts_nothing",
    "`git agent list` shows the runs": "test_cli_push::test_a_run_goes_to_another_clone",
    "It removes our hooks": "test_docs_recovery::test_git_agent_is_uninstalled_from_a_repository",
    "Sessions stay": "test_recovery_claims::test_a_forgotten_runs_session_stays",
    "What is not ours to delete": "test_docs_recovery::test_what_is_left_is_named_with_a_command_that_works"
    " test_recovery_claims::test_what_else_is_left_is_named",
    "It refuses while a run": "test_docs_recovery::test_a_run_at_work_is_not_taken_away",
    "Remove the program itself": "test_recovery_claims::test_the_page_names_the_package_and_its_places",
    "After that, `~/.config/git-agent`": "test_recovery_claims::test_the_page_names_the_package_and_its_places",
}


def promised() -> list[str]:
    """The sentences of the page, and the rows of its tables."""
    prose = re.sub(r"^```.*?^```$|^[#|][^\n]*$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    parts = [
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", part) for part in re.split(r"\n\s*\n|^- ", prose, flags=re.MULTILINE)
    ]
    plain = [re.sub(r"\s+", " ", part).strip() for part in parts if part.strip()]
    return [part for text in plain for part in re.split(r"(?<=\.) (?=[A-Z`])", text)] + [
        row[0] for row in docs.rows(PAGE)
    ]


def test_every_sentence_has_a_test_and_every_row_a_sentence() -> None:
    begins = tuple(PROMISES)
    assert [text for text in promised() if not text.startswith(begins)] == []
    assert [begin for begin in begins if not any(text.startswith(begin) for text in promised())] == []


def test_every_test_that_is_named_exists() -> None:
    for named in {named for tests in PROMISES.values() for named in tests.split()}:
        module, _, function = named.partition("::")
        text = (Path(__file__).parent / f"{module}.py").read_text()
        assert re.search(rf"^def {function}\b", text, re.MULTILINE), named


@pytest.fixture
def two(here: Cli, tmp_path: Path) -> tuple[Cli, GitRepo]:
    """A clone with a remote, and another clone of that."""
    bare = make(tmp_path / "bare", "--bare")
    here.repo.git("remote", "add", "origin", str(bare.path))
    here.repo.git("push", "-q", "origin", "main")
    return here, bare.clone(tmp_path / "clone")


def test_nothing_on_the_page_starts_an_engine(two: tuple[Cli, GitRepo]) -> None:
    here, _ = two
    assert ask("start", "-e", "codex", "begin") == 0
    handle = here.record().handle
    page = (
        "doctor --repair --prune",
        "push",
        "push -n",
        "fetch",
        f"adopt {handle}",
        f"prune {handle}",
    )
    for words in (*page, f"adopt {handle}", "doctor", "uninstall"):
        assert ask(*words.split()) == 0
    assert [call["stdin"] for call in here.calls()] == ["begin"]


def test_doctor_names_an_engine_that_is_not_there(here: Cli) -> None:
    leave(here.repo, A)
    here.repo.git("config", "agent.codex.binary", "/nowhere/codex")
    assert "binary_missing" in [one["code"] for one in here.run("doctor", "--json").json["problems"]]


def test_the_page_names_the_variables() -> None:
    """Those that name an engine's store, where they are set."""
    words = docs.inline_code(docs.section(PAGE, "Two homes, two accounts"))
    said = {word for word in words if word.isupper()}
    query = StoreQuery({"HOME": "/home/a", **dict.fromkeys(said, "/home/b")}, "/", (99,))
    found = {engines.load(name).store(query) for name in engines.MODULES}
    assert {store.variable for store in found if store and store.variable} == said


def test_a_forgotten_runs_session_stays(here: Cli) -> None:
    for words in (["prune", "--merged"], ["uninstall"]):
        here.repo.switch_new(words[0])
        assert ask("start", "-e", "codex", "begin") == 0
        here.repo.commit("work")
        here.repo.git("checkout", "-q", "main")
        here.repo.git("branch", "-q", "-D", words[0])
        before = {path: path.read_bytes() for path in here.home.glob(".codex/**/*") if path.is_file()}
        assert ask(*words) == 0
        assert before == {path: path.read_bytes() for path in here.home.glob(".codex/**/*") if path.is_file()}
        assert not list(Path(here.layout.common_dir).glob("agent/runs/*"))
        shutil.rmtree(here.home / ".codex")


def test_a_run_that_is_waited_for_stays(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    leave(here.repo, A, updated_at=OLD)
    with locks.locked(here.layout.waiting_lock(A)):
        assert ask("prune", A) == 1
    assert here.record().handle == A
    assert f"run {A} was not removed: " in capfd.readouterr().err


def test_a_resume_takes_up_anew_what_was_forgotten(here: Cli) -> None:
    assert ask("start", "-e", "codex", "begin") == 0
    begun = here.record()
    assert ask("prune", begun.handle) == 0
    assert here.noted() == [begun.handle]
    assert ask("resume", begun.handle, "go on") == ask("resume", "and on") == 0
    assert (here.record().handle, here.record().session) == (begun.handle, begun.session)


def test_what_git_alone_makes_of_two_sides(two: tuple[Cli, GitRepo]) -> None:
    here, other = two
    leave(here.repo, A, "note")
    leave(other, B, "note")
    here.repo.git("push", "-q", "origin", notes.REF)
    fetch = ("git", "-C", str(other.path), "fetch", "-q", "origin", f"{notes.REF}:{notes.REF}")
    assert subprocess.run(fetch, check=False, capture_output=True).returncode
    assert (A in raw(other), B in raw(other)) == (False, True)
    other.git("fetch", "-q", "origin", f"+{notes.REF}:{notes.REF}")
    assert (A in raw(other), B in raw(other)) == (True, False)


def test_which_remote_it_is(two: tuple[Cli, GitRepo], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    here, other = two
    leave(other, A, "note")
    other.git("push", "-q", "origin", notes.REF)
    mine = make(tmp_path / "mine", "--bare")
    steps = (
        ("remote rename origin only", "only"),
        (f"remote add origin {mine.path}", "origin"),
        ("config branch.main.remote only", "only"),
    )
    for words, remote in steps:
        here.repo.git(*words.split())
        capfd.readouterr()
        assert ask("push", "-n", "--json") == 0
        assert f'"remote":"{remote}"' in capfd.readouterr().out
    assert ask("fetch") == 0
    assert here.repo.git("rev-parse", "refs/notes/agent-remote/only") == other.git("rev-parse", notes.REF)


def test_hooks_for_pushes_are_not_run(two: tuple[Cli, GitRepo]) -> None:
    here, _ = two
    leave(here.repo, A, "note")
    hook = Path(here.layout.common_dir, "hooks/pre-push")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert ask("push") == 0


def test_a_line_that_was_taken_out_comes_back(two: tuple[Cli, GitRepo]) -> None:
    here, other = two
    leave(here.repo, A, "record note")
    assert ask("push") == 0
    assert ask("prune", A, "--notes") == 0
    assert here.noted() == []
    assert ask("fetch") == 0
    assert here.noted() == [A]
    assert other.git("for-each-ref", "refs/notes") == ""


def test_what_is_fetched_starts_nothing(two: tuple[Cli, GitRepo]) -> None:
    here, other = two
    leave(other, A, "note", status="interrupted")
    other.git("push", "-q", "origin", notes.REF)
    here.repo.git("config", "agent.onDead", "resume")
    for words in (["fetch"], ["resume", "--all"], ["watch", "--once"], ["list"], ["doctor", "--repair"]):
        ask(*words)
    assert (here.noted(), here.calls()) == ([A], [])


def test_what_else_is_left_is_named(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    here.repo.git("config", "--global", "agent.engine", "codex")
    here.repo.git("config", "core.hooksPath", "their-hooks")
    assert ask("uninstall") == 0
    left = capfd.readouterr().out
    assert "git config --global --edit" in left
    assert "lines of ours in core.hooksPath's files" in left


def test_the_page_names_the_package_and_its_places() -> None:
    text = docs.section(PAGE, "Uninstall")
    name = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert {f"{tool} uninstall {name}" for tool in ("pipx", "uv tool", "pip")} <= set(docs.inline_code(text))
    dirs = platformdirs.PlatformDirs("git-agent", appauthor=False)
    places = (dirs.user_config_dir, dirs.user_cache_dir, dirs.user_state_dir)
    named = {Path(word).name for word in docs.inline_code(text) if word.startswith("~/")}
    assert {Path(place).name for place in places} == named == {"git-agent"}

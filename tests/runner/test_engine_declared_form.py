"""A profile that says something wrong is refused with its line, its key, and what is expected there."""

from __future__ import annotations

import re

import pytest

from git_agent_runner.engines.added import form, patterns, profile_form
from support.added import HEAD, PROFILE


def complaint(text: str) -> tuple[int, str]:
    with pytest.raises(form.FormError) as error:
        profile_form.read(text, "mine")
    return error.value.line, error.value.text


def changed(old: str, new: str) -> str:
    assert old in PROFILE
    return PROFILE.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        pytest.param("binary: mine", "binari: mine", 2, "expected one of the keys schema, binary,", id="unknown key"),
        pytest.param("binary: mine\n", "", 1, "expected the key 'binary'", id="missing key"),
        pytest.param("binary: mine", "binary: mine\nbinary: x", 3, "expected the key 'binary' once", id="key twice"),
        pytest.param("binary: mine", "binary: ./mine", 2, "binary: expected the name of a program on PATH", id="path"),
        pytest.param(
            "binary: mine", "binary: [mine]", 2, "binary: expected the name of a program on PATH, not a list", id="list"
        ),
        pytest.param(
            "binary: mine", "binary: ''", 2, "binary: expected the name of a program on PATH, not ''", id="empty"
        ),
        pytest.param("binary: mine", 'binary: "a\\e[2J"', 2, "binary: expected the name", id="control characters"),
        pytest.param(
            "binary: mine", "binary: !!python/name:os.system mine", 2, "binary: expected the name", id="python tag"
        ),
        pytest.param("binary: mine", "binary: !x mine", 2, "binary: expected the name", id="own tag"),
        pytest.param("schema: 1", "schema: 2", 1, "schema: expected one of 1, not '2'", id="newer schema"),
        pytest.param(
            "since: 1.0", "since: new", 5, "since: expected a version such as 1.4 or 0.73.1, not 'new'", id="version"
        ),
        pytest.param(
            "since: 1.0", "since: 2.0", 1, "expected an example.version that can resume", id="example too old"
        ),
        pytest.param(
            "7a10-8f00-12", "7A10-8F00-12", 1, "expected an example.session of the shape", id="example of another shape"
        ),
        pytest.param(
            "event: open",
            "event: open, lines: [x]",
            7,
            "session: expected either 'event' and 'path', or 'lines'",
            id="two session rules",
        ),
        pytest.param("path: session}", "which: last}", 7, "session: expected either", id="no session path"),
        pytest.param(
            "path: session}", "path: a..b}", 7, "session.path: expected keys with dots between", id="key path"
        ),
        pytest.param(
            "path: session}",
            "path: session, which: newest}",
            7,
            "session.which: expected one of first, last, not 'newest'",
            id="which session",
        ),
        pytest.param(
            "[0-9a-f]{8}(",
            "[0-9a-f]+(",
            7,
            "session.shape: expected a pattern that says how often at most: {0,40} instead of +",
            id="endless shape",
        ),
        pytest.param(
            "'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'",
            "'.{1,40}'",
            7,
            "session.shape: expected a shape that no flag has",
            id="a flag for an id",
        ),
        pytest.param(
            "event: open, path: session",
            "lines: ['session: .{1,40}']",
            7,
            "session: expected lines with one group",
            id="block without a group",
        ),
        pytest.param(
            "event: open, path: session",
            "lines: ['(.{1,40})']",
            7,
            "session: expected a first line that begins with at least four",
            id="block that begins anyhow",
        ),
        pytest.param("[run, '{flags}'], stdin", "[run], stdin", 8, "start: expected {flags} once", id="no flags"),
        pytest.param(
            "[run, '{flags}'], stdin",
            "[run, 'x={flags}'], stdin",
            8,
            "start: expected {flags} as a word of its own, not 'x={flags}'",
            id="flags in a word",
        ),
        pytest.param(
            "[run, '{flags}'], stdin",
            "[run, '{flags}', '{dir}'], stdin",
            8,
            "start: expected only {flags}, {prompt}, {session} and {cwd} in braces, not {dir}",
            id="unknown braces",
        ),
        pytest.param(
            "[run, '{flags}'], stdin",
            "[run, '{flags}', 'in:{cwd}'], stdin",
            8,
            "start: expected {cwd} as a word of its own or as --flag={cwd}, not 'in:{cwd}'",
            id="directory in a word",
        ),
        pytest.param(
            "event: open", "event: []", 7, "session.event: expected a list with at least one entry", id="no event"
        ),
        pytest.param(
            "resume: {argv: [run, '{flags}', --session, '{session}'], stdin: true}\n",
            "",
            1,
            "expected the key 'resume', or 'terminal' where a session is resumed in a terminal only",
            id="no resume at all",
        ),
        pytest.param(
            "since: 1.0", "since: 1.0\nforks: maybe", 6, "forks: expected true or false, not 'maybe'", id="forks"
        ),
        pytest.param(
            "since: 1.0",
            "since: 1.0\nnonzero-fails: failed",
            6,
            "nonzero-fails: expected true or false, not 'failed'",
            id="nonzero-fails",
        ),
        pytest.param(
            "[run, '{flags}'], stdin: true",
            "[run, '{flags}', '{prompt}']",
            8,
            "start: expected {prompt} as --flag={prompt}, or as the last word after a word --",
            id="message as a flag",
        ),
        pytest.param(
            "[run, '{flags}'], stdin: true",
            "[run, '{flags}', -p, '{prompt}']",
            8,
            "start: expected {prompt} as --flag",
            id="message after a flag",
        ),
        pytest.param(
            "[run, '{flags}'], stdin: true",
            "[run, --, '{flags}', '{prompt}']",
            8,
            "start: expected {prompt} as --flag",
            id="flags after the cut",
        ),
        pytest.param(
            "[run, '{flags}'], stdin: true",
            "[run, '{flags}', --, 'x {prompt}']",
            8,
            "start: expected {prompt} as a word of its own or as --flag={prompt}, not 'x {prompt}'",
            id="message in a word",
        ),
        pytest.param(
            "[run, '{flags}'], stdin: true",
            "[run, '{flags}']",
            8,
            "start: expected {prompt} once, or stdin: true",
            id="no message",
        ),
        pytest.param(
            "[run, '{flags}'], stdin",
            "[run, '{flags}', --, '{prompt}'], stdin",
            8,
            "start: expected no {prompt}",
            id="message twice",
        ),
        pytest.param(
            "--session, '{session}'], stdin",
            "--last], stdin",
            9,
            "resume: expected {session} once",
            id="resume without a session",
        ),
        pytest.param(
            "[run, '{flags}'], stdin",
            "[run, '{flags}', '{session}', '{session}'], stdin",
            8,
            "start: expected {session} once",
            id="session twice",
        ),
        pytest.param(
            "stdin: true}\nresume",
            "stdin: yes}\nresume",
            8,
            "start.stdin: expected true or false, not 'yes'",
            id="no truth value",
        ),
        pytest.param("role: model", "role: modle", 11, "options[0].role: expected one of plain, selector,", id="role"),
        pytest.param(
            "[--model, -m]",
            "[--model, m]",
            11,
            "options[0].names[1]: expected a flag such as --model or -m, not 'm'",
            id="flag name",
        ),
        pytest.param(
            "[--session, -s]", "[--session, -m]", 11, "options: expected '-m' in one row only", id="flag twice"
        ),
        pytest.param(
            "names: [--session, -s]",
            "excludes: --nosuch, names: [--session, -s]",
            11,
            "options: expected a row for '--nosuch', which is excluded",
            id="flag excluded that is none",
        ),
        pytest.param(
            "gives: message, text: text",
            "gives: message",
            15,
            "events.said: expected the key 'text' for message",
            id="message without a text",
        ),
        pytest.param(
            "gives: message, text: text",
            "gives: says, text: text",
            15,
            "events.said.gives: expected one of message, reasoning,",
            id="kind of event",
        ),
        pytest.param(
            "gives: message, text: text",
            "gives: message, text: text, name: x",
            15,
            "events.said: expected only text, delta for message, not name",
            id="name of a message",
        ),
        pytest.param(
            "gives: message, text: text",
            "gives: message, text: text, where: {a: b}",
            15,
            "events.said: expected 'where' only beside 'each'",
            id="where without each",
        ),
        pytest.param(
            "gives: message, text: text",
            "gives: message, text: text, when: {a: 1.5}",
            15,
            "events.said.when.a: expected a text, a whole number, true, false or null, not '1.5'",
            id="fraction",
        ),
        pytest.param(
            "status: completed", "status: complete", 16, "events.done.status: expected one of completed,", id="status"
        ),
        pytest.param(
            "status: completed",
            "status: {path: x, values: {a: fine}}",
            16,
            "events.done.status.values.a: expected one of",
            id="status by value",
        ),
        pytest.param(
            "tick: nothing is said",
            "done: nothing is said",
            1,
            "expected 'done' among events or ignored, not both",
            id="ignored and not",
        ),
        pytest.param(
            "tick: nothing is said",
            "tick:",
            18,
            "ignored.tick: expected the reason why it is ignored, not nothing",
            id="ignored without a reason",
        ),
        pytest.param(
            "'no such session'",
            "'(a|b){9,40}'",
            20,
            "errors[0].line: expected a pattern that can match a text in no more than",
            id="slow error line",
        ),
        pytest.param(
            "errors:",
            "exits: {300: failed}\nerrors:",
            19,
            "exits key: expected an exit status from 1 to 255, not '300'",
            id="exit status",
        ),
        pytest.param(
            "'{session}.jsonl'",
            "'/x/{session}.jsonl'",
            23,
            "store.files: expected a glob below the folder, with at most one {session} in it",
            id="store elsewhere",
        ),
        pytest.param(
            "'{session}.jsonl'", "'../{session}.jsonl'", 23, "store.files: expected a glob below", id="store above"
        ),
        pytest.param(
            "'{session}.jsonl'",
            "'*.jsonl'",
            22,
            "store: expected one {session} in 'files'",
            id="store without a session",
        ),
        pytest.param(
            "first-line: {session: session,",
            "document: {sessions: chats.*, session: id,",
            22,
            "store: expected no {session} in 'files': one file has all sessions",
            id="document of all sessions, and a file each",
        ),
        pytest.param(
            "  first-line:",
            "  document: {session: id}\n  first-line:",
            22,
            "store: expected one of 'first-line', 'document' and 'table'",
            id="two kinds of store",
        ),
        pytest.param(
            "first-line: {session: session, directory: cwd, created: at}",
            "table: {name: 'chats] --', session: id}",
            24,
            "store.table.name: expected the name of a table or column, not 'chats] --'",
            id="SQL for a name",
        ),
        pytest.param(
            "folder: .mine", "folder: /tmp", 22, "store.folder: expected a folder below the home", id="store folder"
        ),
        pytest.param("at}", "at", 25, "expected YAML: ", id="no YAML"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, line: int, text: str) -> None:
    where, said = complaint(changed(old, new))
    assert said.startswith(text)
    assert where == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "expected a profile, not an empty file", id="empty"),
        pytest.param("- a\n", "expected a mapping, not a list", id="a list"),
        pytest.param("{[a]: b}", "expected a word as key, not a list", id="a list as key"),
        pytest.param("a: b\n<<: {}\n", "expected one of the keys schema", id="merge"),
        pytest.param("[" * 5000, "expected YAML: ", id="deep"),
        pytest.param("&a {schema: *a}", "schema: expected one of 1, not a mapping", id="a loop"),
        pytest.param("a: \x00", "expected YAML: ", id="NUL"),
        pytest.param("a: 1\n---\nb: 2\n", "expected YAML: ", id="two documents"),
    ],
)
def test_what_is_no_profile(text: str, said: str) -> None:
    assert complaint(text)[1].startswith(said)


def test_ids_that_are_made_up() -> None:
    """Each start must name the id, and a UUID must have its shape."""
    own = "argv: ['{flags}', --session, '{session}'], stdin: true"
    forms = f"start: {{{own}}}\nresume: {{{own}}}\n"
    terminal = "terminal: {start: ['{flags}'], resume: ['{flags}', -r, '{session}']}\n"
    assert complaint(HEAD + forms + terminal)[1].startswith("expected a {session} in every start or in none")
    shaped = HEAD.replace("[0-9a-f]{8}(", "my-[0-9a-f]{8}(").replace("session: 0199", "session: my-0199")
    assert complaint(shaped + forms)[1].endswith("and a shape that a UUID has: the id is made up here")


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(a*)*", "(a|a)*b", "(a|a){1,40}b", "(a?){40}a{40}", "a?" * 30 + "a" * 30, ".{0,400}x.{0,400}y",
     "(?=a)b", r"(a)\1", "(?P<x>a)", "(?i)a", "a{3,}", "a**", "a{2}{2}", "{2}", "(", ")", "[a", "[z-a]",
     "\\", "^a", "a$", "", "a" * 501],
)  # fmt: skip
def test_a_pattern_that_could_hang_or_is_odd_is_refused(pattern: str) -> None:
    assert patterns.fault(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "beginning"),
    [
        pytest.param(r"ses_[0-9A-Za-z]{4}", "ses_a1B2", "ses_", id="an id"),
        pytest.param(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}", "0199c9a8-5b1e-7a10-8f00", "", id="groups of fixed length"),
        pytest.param(r"session id: (.{1,40})", "session id: x", "session id: ", id="a line"),
        pytest.param(r"\[error\] (?:no|lost) session", "[error] lost session", "[error] ", id="a choice"),
        pytest.param(r"abcx?", "abc", "abc", id="an optional end"),
        pytest.param(r"abcd(x)|abd", "abd", "", id="a choice of all"),
        pytest.param(r"\d{1,3}\.\d{1,3}", "1.234", "", id="numbers"),
        pytest.param(r"[^]]{1,9}", "a", "", id="a class with a bracket"),
    ],
)
def test_patterns_that_are_taken(pattern: str, text: str, beginning: str) -> None:
    assert patterns.fault(pattern) is None
    assert re.fullmatch(pattern, text)
    assert patterns.beginning(pattern) == beginning
    assert text.startswith(beginning)

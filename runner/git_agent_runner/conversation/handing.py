"""A conversation as another engine gets it: text only, the newest turns whole, older ones as a digest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from git_agent_runner.conversation.messages import Message, ToolCall
from git_agent_runner.core.clock import known
from git_agent_runner.core.errors import UserError

TOKENS = 100_000  # of a conversation that is handed over, where the person has not set another number
_PER_TOKEN = 3  # bytes, few: a code-laden text has about four a token
_GIST = 160  # characters of a turn's question, and of its answer, in a digest
_SHARE = 10  # the digest takes a tenth of the tokens at most
_DIGEST = (
    "[The conversation began earlier, with {engine}. Its first {count} turns are given here shortened,"
    " each with the beginning of what was asked and of the last answer; the turns after them are whole.]"
)


class Handed(NamedTuple):
    """`messages` become the other engine's session. `turns` counts those of the person, `digested` how many of them
    are only in the digest; `calls` are tool calls given as text, `attached` what is only named.
    """

    messages: tuple[Message, ...]
    turns: int
    digested: int
    calls: int
    attached: tuple[str, ...]
    tokens: int


def prepared(messages: tuple[Message, ...], engine: str, target: str, tokens: int) -> Handed:
    """Prepare the messages. `engine` is the one that had the conversation, `target` the one that gets it.

    Raises UserError `handover_too_large` where not even the last turn fits.
    """
    turns = _turns(_dated(messages))
    kept = _fitting(turns, tokens)
    if not kept:
        raise UserError(
            f"the last turn alone takes about {_size(turns[-1])} tokens, of {tokens} that may be handed over",
            code="handover_too_large",
            hints=(f"to allow more: git config agent.{target}.handoverTokens {2 * _size(turns[-1])}",),
        )
    older, newer = turns[: -len(kept)], kept
    digest = _digest(older, engine, tokens // _SHARE)
    whole = tuple(message for turn in newer for message in turn)
    given = (*digest, *whole)
    return Handed(
        given,
        len(turns),
        len(older),
        sum(len(message.calls) for message in messages),
        tuple(name for message in messages for name in message.attached),
        _size(given),
    )


def _dated(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Dated messages as text only; a time that is missing, impossible or earlier than the one before is left out."""
    messages = tuple(message._replace(at=None if message.at is None else known(message.at)) for message in messages)
    at = next((message.at for message in messages if message.at is not None), 0.0)
    dated = []
    for message in messages:
        at = max(at, message.at or at)
        dated.append(Message(message.user, told(message), at))
    return tuple(dated)


def told(message: Message) -> str:
    """A message as text: its words, the names of its attachments, and its tool calls."""
    named = [f"[attached: {name}]" for name in message.attached]
    return "\n\n".join(filter(None, (message.text.strip("\n"), *named, *map(_told, message.calls))))


def _told(call: ToolCall) -> str:
    given = f"[The tool {call.name or 'of no known name'} was run with:]\n{_fenced(call.given)}"
    if call.gave is None:
        return f"{given}\n[What it returned is not known.]"
    how = "It failed with" if call.failed else "It returned"
    return f"{given}\n[{how}:]\n{_fenced(call.gave)}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text) or [""]))
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"


def _turns(messages: tuple[Message, ...]) -> list[tuple[Message, ...]]:
    """Each message of the person with its answer: all that the engine said until the next one, as one message."""
    turns: list[tuple[Message, ...]] = []
    for message in messages:
        if message.user or not turns:
            turns.append((message,))
        elif turns[-1][-1].user:
            turns[-1] = (*turns[-1], message)
        else:
            *before, last = turns[-1]
            turns[-1] = (*before, last._replace(text=f"{last.text}\n\n{message.text}"))
    return turns


def _fitting(turns: list[tuple[Message, ...]], tokens: int) -> list[tuple[Message, ...]]:
    """The newest turns that fit in full; if some do not, room is left for their digest."""
    if sum(map(_size, turns)) <= tokens:
        return turns
    kept: list[tuple[Message, ...]] = []
    left = tokens - tokens // _SHARE
    for turn in reversed(turns):
        left -= _size(turn)
        if left < 0:
            break
        kept.insert(0, turn)
    return kept


def _size(messages: Iterable[Message]) -> int:
    """About how many tokens; rather too high than too low."""
    return sum(len(message.text.encode(errors="replace")) // _PER_TOKEN + 8 for message in messages)


def _digest(turns: list[tuple[Message, ...]], engine: str, tokens: int) -> tuple[Message, ...]:
    """The digest of the older turns, as one message in the person's name; if not all fit, the newest of them."""
    if not turns:
        return ()
    lines: list[str] = []
    left = tokens * _PER_TOKEN - len(_DIGEST)
    for number, turn in reversed([*enumerate(turns, 1)]):
        line = "\n".join(f"{number}. {'asked' if message.user else 'answered'}: {_gist(message)}" for message in turn)
        left -= len(line.encode(errors="replace"))
        if left < 0:
            lines.append(f"(turns 1 to {number} are left out)")
            break
        lines.append(line)
    head = _DIGEST.format(engine=engine, count=len(turns))
    return (Message(True, "\n\n".join([head, *reversed(lines)]), turns[0][0].at),)


def _gist(message: Message) -> str:
    text = " ".join(message.text[: 8 * _GIST].split())
    return text if len(text) <= _GIST else f"{text[:_GIST]}…"

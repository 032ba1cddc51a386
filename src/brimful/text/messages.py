"""Who said what, and when? The messages of mails, mailboxes and chats."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from brimful.patterns import compiled
from brimful.text.times import time_of

_SAMPLE = 16_384  # bytes in which a chat must show itself
_LEAST = 3
_STAMP = rb"\[?(?P<stamp>\d[\d:/., TZAPMapm+-]{3,30})\]?[ \t]*+(?:-[ \t]+)?+"
_TURN = compiled(
    rb"\n(?:" + _STAMP + rb")?+(?:<[ @+~&%]?(?P<nick>[^>\n]{1,32})>"
    rb"|(?P<speaker>[A-Za-z\x80-\xff][^\n:.!?|<>()\[\]{}#=/\\]{0,31})"
    rb"(?:[ \t]*\((?P<when>[^()\n]{4,40})\))?(?::|\xef\xbc\x9a(?=\S)))(?=[ \t]|(?<=\x9a)|\r?\n)"
)
_HEADER = compiled(rb"(?P<name>[A-Za-z][A-Za-z-]{1,40}):[ \t]*(?P<value>[^\n]*(?:\n[ \t]+[^\n]*)*)\n?")
_MAIL_NAMES = frozenset((b"from", b"to", b"subject", b"date", b"cc", b"message-id", b"received", b"return-path"))
_MBOX = compiled(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{1,200}\n(?=[A-Za-z][A-Za-z-]{1,40}:)")
_ADDRESS = compiled(r"(?<!\s)\s*+<[^<>]*+>\s*+$")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its bytes, who speaks, and when, in whole seconds of UTC."""

    start: int
    end: int
    speaker: str
    time: int | None = None


def read_messages(content: bytes) -> tuple[Message, ...]:
    r"""The messages of a text that is a mail, a mailbox or a chat; none of any other text.

    >>> read_messages(b"Ada: Tea?\nBob: Yes.\nAda: Now.\n")[1]
    Message(start=10, end=20, speaker='Bob', time=None)
    """
    if content.startswith(b"From ") and (starts := [found.start() for found in _MBOX.finditer(content)]):
        edges = [*starts, len(content)]
        return tuple(_mail(content, start, end, content.find(b"\n", start) + 1) for start, end in pairwise(edges))
    if _is_mail(content):
        return (_mail(content, 0, len(content), 0),)
    return _chat(content)


def _is_mail(content: bytes) -> bool:
    """Do at least two of the headers of a mail stand at the beginning, one below the other?"""
    names, position = set(), 0
    for _ in range(40):
        found = _HEADER.match(content, position, position + 4_000)
        if found is None:
            break
        names.add(found["name"].lower())
        position = found.end()
    return b"from" in names and len(names & _MAIL_NAMES) >= 2


def _mail(content: bytes, start: int, end: int, position: int) -> Message:
    speaker, time = "", None
    while (found := _HEADER.match(content, position, min(end, position + 4_000))) is not None:
        name, value = found["name"].lower(), found["value"].strip()
        if name == b"from" and not speaker:
            speaker = _ADDRESS.sub("", value.decode(errors="replace")).strip(" \"'") or value.decode(errors="replace")
        elif name == b"date" and time is None:
            time = time_of(value)
        position = found.end()
    return Message(start, end, speaker, time)


def _chat(content: bytes) -> tuple[Message, ...]:
    """Most lines of the beginning are "Speaker: words", or the beginnings of most paragraphs are."""
    sample = b"\n" + content[:_SAMPLE]
    spoken = sum(1 for _ in _TURN.finditer(sample))
    if spoken < _LEAST:
        return ()
    lines = sum(1 for line in sample.split(b"\n") if line.strip())
    paragraphs = len(re.findall(rb"\n[ \t\r]*+\n(?=[^\s])", sample)) + 1
    if spoken * 2 < lines and not (spoken * 10 >= paragraphs * 7 and paragraphs >= _LEAST):
        return ()
    turns = list(_TURN.finditer(b"\n" + content))
    if _has_too_many_speakers(turns):
        return ()
    edges = [turn.start() for turn in turns] + [len(content)]
    messages = []
    for turn, (start, end) in zip(turns, pairwise(edges), strict=True):
        stamp = turn["stamp"] or turn["when"]
        time = time_of(stamp.strip(), epoch=True) if stamp is not None else None
        speaker = (turn["nick"] or turn["speaker"]).decode(errors="replace").strip()
        messages.append(Message(start, end, speaker, time))
    return tuple(messages)


def _has_too_many_speakers(turns: list[re.Match[bytes]]) -> bool:
    """Where every speaker speaks once these are keys of a list, not people."""
    names = {turn["nick"] or turn["speaker"] for turn in turns}
    return len(turns) > 2 * _LEAST and len(names) * 10 > len(turns) * 9

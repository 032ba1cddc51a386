"""Which words does the user call synonyms? A text file says so, one word a line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brimful.errors import InputError
from brimful.text.terms import query_terms

Synonyms = Mapping[bytes, tuple[tuple[bytes, ...], ...]]
"""By term; each synonym is the sequence of its terms."""

_SHOWN = 60


def synonym_lines(path: Path | str | None) -> tuple[str, ...]:
    """The lines of a synonyms file that say something, checked, as `AskSettings.synonyms` has them; none of no file."""
    if path is None:
        return ()
    found = load_synonyms(path)
    return tuple(
        f"{term.decode()}: {', '.join(b' '.join(each).decode() for each in several)}" for term, several in found.items()
    )


def load_synonyms(path: Path | str) -> Synonyms:
    """Read lines of the form `word: synonym, another synonym`; `#` begins a comment.

    Only the word before the colon stands for the others, not the other way round. A word on several lines collects
    the synonyms of all of them.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the synonyms file {str(path)!r} can't be read ({error.strerror}); name one that can"
        ) from error
    return parse_synonyms(content, name=str(path))


def parse_synonyms(content: bytes, *, name: str = "synonyms") -> Synonyms:
    r"""The same from bytes.

    >>> parse_synonyms(b"# drinks\ntea: infusion, hot drink\n")
    {b'tea': ((b'infusion',), (b'hot', b'drink'))}
    >>> parse_synonyms(b"tea\n")
    Traceback (most recent call last):
    brimful.errors.InputError: synonyms, line 1: no colon in 'tea'; write `word: synonym, synonym`
    """
    found: dict[bytes, dict[tuple[bytes, ...], None]] = {}
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        where = f"{name}, line {number}"
        try:
            line = raw.decode().partition("#")[0].strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8; save the file in that encoding") from error
        if not line:
            continue
        word, colon, rest = line.partition(":")
        if not colon:
            raise InputError(f"{where}: no colon in {line[:_SHOWN]!r}; write `word: synonym, synonym`")
        term = _terms(word)
        if len(term) != 1:
            raise InputError(f"{where}: {word.strip()[:_SHOWN]!r} is not one word; write one word before the colon")
        synonyms = [synonym for part in rest.split(",") if (synonym := _terms(part)) and synonym != term]
        if not synonyms:
            raise InputError(f"{where}: no synonym for {word.strip()[:_SHOWN]!r}; write some behind the colon")
        found.setdefault(term[0], {}).update(dict.fromkeys(synonyms))
    return {term: tuple(found[term]) for term in sorted(found)}


def _terms(text: str) -> tuple[bytes, ...]:
    return tuple(term.term for term in query_terms(text) if not term.is_part)

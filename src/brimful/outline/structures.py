"""What is a document made of? One outline by rules over its bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast, overload

import numpy as np

from brimful.native import Numbers
from brimful.native.definitions import (
    ATTRIBUTES,
    BLOCK,
    ELIXIR,
    FUNCTION,
    MACRO,
    OWNED,
    OWNER,
    RANK,
    Places,
    define_python,
    nest_definitions,
)
from brimful.outline.declarations import Found, Source, declared, rule_of
from brimful.outline.kinds import Kind
from brimful.outline.languages import (
    declared_by_column,
    declared_in_forms,
    imports_in,
    is_form,
)
from brimful.outline.markup import format_of, read_markup
from brimful.outline.masking import Brackets, Masked, mask, one_branch
from brimful.outline.passages import Heading, Passage
from brimful.outline.records import Record, records_in
from brimful.outline.scripts import declared_in_script
from brimful.outline.statements import declared_in_statements

DefinitionKind = Literal[
    "function", "method", "class", "struct", "enum", "interface", "trait", "impl", "extension", "object", "module",
    "type", "constant", "property", "macro", "table", "view", "index", "key", "target", "stage", "block",
]  # fmt: skip

_STATEMENTS = frozenset(("c", "cpp", "java", "csharp", "dart", "cuda", "objc"))
_SCRIPTS = frozenset(("javascript", "typescript", "tsx"))


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that a source gives a name: half-open bytes, from what stands in front of it to its end.

    `start` includes a doc comment, decorators and attributes in front. The signature begins with the decorators and
    ends before the body. `doc` is the doc comment in front, or the docstring behind the signature.
    """

    start: int
    end: int
    name: str
    qualified: str
    kind: DefinitionKind
    parent: int  # its place among the definitions, or -1
    signature_start: int
    signature_end: int
    doc: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """What a document is made of, in the order of its bytes; every span is half-open and on code point boundaries."""

    kind: Kind
    language: str | None
    length: int
    headings: tuple[Heading, ...] = ()
    passages: tuple[Passage, ...] = ()
    definitions: tuple[Definition, ...] = ()
    imports: tuple[tuple[int, int], ...] = ()
    records: tuple[Record, ...] = ()
    header: tuple[int, int] | None = None  # of a table


def structure(content: bytes, *, kind: Kind, language: str | None = None, path: str = "") -> Structure:
    r"""Read any bytes by the rules of their kind, language and name; what no rule knows is left out.

    >>> structure(b"# Tea\n\nHot.\n", kind="prose", language="markdown").headings[0].title
    'Tea'
    """
    length = len(content)
    if kind == "code":
        definitions, imports = _read_code(content, language)
        return Structure(kind, language, length, definitions=definitions, imports=imports)
    if kind == "data":
        records, header = records_in(content, language=language)
        definitions = tuple(read_definitions(content, language)) if is_form(language) else ()
        return Structure(kind, language, length, definitions=definitions, records=tuple(records), header=header)
    headings, passages = read_markup(content, format_of(content, language=language, path=path))
    return Structure(kind, language, length, headings=headings, passages=passages)


def _read_code(content: bytes, language: str | None) -> tuple[tuple[Definition, ...], tuple[tuple[int, int], ...]]:
    source, masked = _masked(content, language or "")
    return tuple(_read(source, masked)), imports_in(source, masked)


def _masked(content: bytes, language: str) -> tuple[Source, Masked]:
    masked = mask(content, language)
    if language in _STATEMENTS:
        masked = one_branch(content, masked)
    return Source(content, masked.code, Brackets(masked.code), language), masked


def read_definitions(content: bytes, language: str | None, *, several_lines: bool = False) -> Definitions:
    r"""The definitions of a source, in order.

    With `several_lines`, prototypes and macros of a single line are not read: in C they are most of the work, and no
    window begins or ends in one.

    >>> code = b"class Pot:\n    def pour(self):\n        return 1\n"
    >>> definitions = read_definitions(code, "python")
    >>> [(each.qualified, each.kind) for each in definitions]
    [('Pot', 'class'), ('Pot.pour', 'method')]
    >>> definitions.heads().tolist()
    [[0, 6, 47, 1], [15, 19, 47, 2]]
    """
    return _read(*_masked(content, language or ""), several_lines=several_lines)


def _read(source: Source, masked: Masked, *, several_lines: bool = False) -> Definitions:
    strings = masked.strings if source.language in _DOCSTRINGS else _NOWHERE
    if source.language == "python":
        return _in_python(source, (masked.comments, strings))
    if source.language in _STATEMENTS:
        found = declared_in_statements(source, masked.directives, several_lines=several_lines)
    else:
        found = _found(source)
    return _nested(source, (masked.comments, strings), found)


def _found(source: Source) -> list[Found]:
    language = source.language
    if language in _SCRIPTS:
        return declared_in_script(source)
    if is_form(language):
        return declared_in_forms(source)
    if rule_of(language).ends in ("indent", "end"):
        return declared_by_column(source)
    return declared(source)


_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)


def _nested(source: Source, remarks: tuple[Places, Places], found: Sequence[Found]) -> Definitions:
    """Every definition in the one that holds it, with what stands in front of it."""
    ordered = sorted(found, key=lambda each: (each.start, -each.end, each.name, each.kind))
    columns = [
        (each.start, each.end, each.signature_end, _BITS.get(each.kind, 0) | (OWNED if each.owner else 0))
        for each in ordered
    ]
    spans = np.array(columns, np.int64).reshape(-1, 4)

    def place_of(number: int) -> int:
        definition = ordered[number]
        return _place_of(source.code, definition.name, definition.start, definition.signature_end)

    names = [(each.name, each.kind, each.owner) for each in ordered]
    return Definitions(source, spans, remarks, names.__getitem__, place_of)


def _in_python(source: Source, remarks: tuple[Places, Places]) -> Definitions:
    """The functions, classes and constants of Python, decorators included."""
    rows = define_python(source.code, source.pairs.turns)
    spans = rows[:, [0, 5, 4, 3]]
    spans[:, 3] = _PYTHON_BITS[spans[:, 3]]

    def name_of(number: int) -> tuple[str, str, str]:
        name, end, kind = rows[number, 1:4].tolist()
        return source.code[name:end].decode(errors="replace"), _PYTHON_KINDS[kind], ""

    return Definitions(source, spans, remarks, name_of, rows[:, 1].tolist().__getitem__)


_PYTHON_KINDS = ("function", "class", "constant")
_BITS = {
    **dict.fromkeys(("function", "method", "target"), FUNCTION | BLOCK | RANK),
    "macro": MACRO | BLOCK | RANK,
    **dict.fromkeys(("class", "struct", "enum", "interface", "trait", "impl", "extension", "object"), OWNER | BLOCK),
    **dict.fromkeys(("module", "type", "table", "view", "block", "stage", "property"), BLOCK),
}
_PYTHON_BITS = np.array([_BITS.get(kind, 0) for kind in _PYTHON_KINDS], np.int64)
_DOCSTRINGS = frozenset(("python", "clojure", "commonlisp", "elisp"))
_ATTRIBUTED = {
    **dict.fromkeys("rust kotlin swift scala javascript typescript tsx php".split(), ATTRIBUTES),
    "elixir": ELIXIR,
}


class Definitions(Sequence[Definition]):
    """The definitions of a source, in order, in columns: one is made when somebody asks for it."""

    def __init__(
        self,
        source: Source,
        spans: Numbers,
        remarks: tuple[Places, Places],
        name_of: Callable[[int], tuple[str, str, str]],
        place_of: Callable[[int], int],
    ) -> None:
        comments, strings = remarks
        attributes = _ATTRIBUTED.get(source.language, 0)
        self.rows = nest_definitions(
            source.content, source.code, spans, comments=comments, strings=strings, attributes=attributes,
            brackets=source.pairs.turns if attributes else None,
        )  # fmt: skip
        self._name_of = name_of  # the name, kind and owner of each of the spans
        self._place_of = place_of  # where its name stands
        self._made: dict[int, Definition] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Definition: ...
    @overload
    def __getitem__(self, at: slice) -> list[Definition]: ...
    def __getitem__(self, at: int | slice) -> Definition | list[Definition]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        unmade, around = [], at
        while around >= 0 and around not in self._made:  # a thousand of them may stand in each other
            unmade.append(around)
            around = int(self.rows[around, 4])
        for one in reversed(unmade):
            self._made[one] = self._read(one)
        return self._made[at]

    def name(self, at: int) -> str:
        """The name of one definition."""
        return self._name_of(int(self.rows[at, 7]))[0]

    def heads(self) -> Numbers:
        """A row for each definition of more than a value: its start, that of its name, its end and its level from 1."""
        heads, levels = [], [0]
        for start, end, parent, number, what in self.rows[:, [0, 1, 4, 7, 8]].tolist():
            levels.append(levels[parent + 1] + bool(what & BLOCK))
            if what & BLOCK:
                heads.append((start, self._place_of(number), end, levels[-1]))
        return np.array(heads, np.int64).reshape(-1, 4)

    def _read(self, at: int) -> Definition:
        start, end, signature, signature_end, parent, doc, doc_end, number, what = self.rows[at].tolist()
        name, kind, owner = self._name_of(number)
        kind = "method" if kind == "function" and what & OWNED else kind
        qualified = f"{owner}.{name}" if owner else name
        qualified = qualified if parent < 0 else f"{self._made[parent].qualified}.{qualified}"
        remark = (doc, doc_end) if doc >= 0 else None
        return Definition(
            start, end, name, qualified, cast("DefinitionKind", kind), parent, signature, signature_end, remark
        )


_IN_WORD = frozenset(code for code in range(256) if code >= 0x80 or chr(code).isalnum() or code == ord("_"))


def _place_of(code: bytes, name: str, start: int, end: int) -> int:
    """Where a definition that starts at a place has its name; its start where the name is written otherwise."""
    word = name.encode()
    at = code.find(word, start, end) if word else -1
    while at >= 0 and not _IN_WORD.isdisjoint((*code[max(at - 1, 0) : at], *code[at + len(word) : at + len(word) + 1])):
        at = code.find(word, at + 1, end)
    return at if at >= 0 else start

"""What is a document made of? One outline by rules over its bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
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
from brimful.outline.markup import Message, format_of, read_markup, read_messages
from brimful.outline.masking import Brackets, Masked, mask, one_branch
from brimful.outline.passages import Heading, Passage
from brimful.outline.records import Record, records_in
from brimful.outline.scripts import declared_in_script
from brimful.outline.statements import Statements

DefinitionKind = Literal[
    "function", "method", "class", "struct", "enum", "interface", "trait", "impl", "extension", "object", "module",
    "type", "constant", "property", "macro", "table", "view", "index", "key", "target", "stage", "block",
]  # fmt: skip

_PART_BYTES = 6_000
"""About so long are the parts that a source is read in."""

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
    messages: tuple[Message, ...] = ()


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
        definitions = definitions_in(content, language) if is_form(language) else ()
        return Structure(kind, language, length, definitions=definitions, records=tuple(records), header=header)
    headings, passages = read_markup(content, format_of(content, language=language, path=path))
    return Structure(kind, language, length, headings=headings, passages=passages, messages=read_messages(content))


def _read_code(content: bytes, language: str | None) -> tuple[tuple[Definition, ...], tuple[tuple[int, int], ...]]:
    language = language or ""
    source, masked = _masked(content, language)
    return tuple(_read(source, masked)), imports_in(source, masked)


def _masked(content: bytes, language: str) -> tuple[Source, Masked]:
    masked = mask(content, language)
    if language in _STATEMENTS:
        masked = one_branch(content, masked)
    return Source(content, masked.code, Brackets(masked.code), language), masked


def definitions_in(content: bytes, language: str | None) -> tuple[Definition, ...]:
    r"""The definitions of a source, in order.

    >>> code = b"class Pot:\n    def pour(self):\n        return 1\n"
    >>> [(found.qualified, found.kind) for found in definitions_in(code, "python")]
    [('Pot', 'class'), ('Pot.pour', 'method')]
    """
    return _read_code(content, language)[0]


def definition_heads(content: bytes, language: str | None) -> Numbers:
    r"""A row for each definition of more than a value, in order: its start, that of its name, its end and its level.

    The level counts from 1.

    >>> definition_heads(b"class Pot:\n    def pour(self):\n        return 1\n", "python").tolist()
    [[0, 6, 47, 1], [15, 19, 47, 2]]
    """
    language = language or ""
    source, masked = _masked(content, language)
    if language in _STATEMENTS:
        reader = Statements(source, masked.directives, several_lines=True)
        definitions = _nested(source, _remarks(source, masked), reader.found())
    else:
        definitions = _read(source, masked)
    return definitions.heads()


class PartedSource:
    r"""The definitions of a source, read part by part where somebody asks for what stands around a byte.

    Sources of the C family are parted where a statement surely ends and no bracket is open; others have one part.
    Prototypes and macros of a single line are not read: in C those are most of the work, and no window
    begins or ends in one.

    >>> source = PartedSource(b"int f(void) {\n  return 1;\n}\n", "c")
    >>> [found.name for found in source.definitions(source.part_of(20))]
    ['f']
    """

    def __init__(self, content: bytes, language: str, *, part_bytes: int = _PART_BYTES) -> None:
        self._bounds = [0]  # where parts begin
        self._read: dict[int, Definitions] = {}
        self._source, self._masked = _masked(content, language)
        self._remarks = _remarks(self._source, self._masked)
        if language in _STATEMENTS:
            self._statements = Statements(self._source, self._masked.directives, several_lines=True)
        if len(content) >= 2 * part_bytes and language in _STATEMENTS:
            self._bounds += self._statements.parts(part_bytes)

    def part_of(self, position: int) -> int:
        """The number of the part that a byte stands in."""
        return bisect_right(self._bounds, position) - 1

    def definitions(self, part: int) -> Definitions:
        """The definitions of a part, in order."""
        if part not in self._read:
            source, begin = self._source, self._bounds[part]
            end = self._bounds[part + 1] if part + 1 < len(self._bounds) else len(source.code)
            if source.language in _STATEMENTS:
                self._read[part] = _nested(source, self._remarks, self._statements.found(begin, end))
            else:
                self._read[part] = _read(source, self._masked)
        return self._read[part]


def _read(source: Source, masked: Masked) -> Definitions:
    """All definitions of a source."""
    remarks = _remarks(source, masked)
    return (
        _in_python(source, remarks) if source.language == "python" else _nested(source, remarks, _found(source, masked))
    )


def _found(source: Source, masked: Masked) -> list[Found]:
    language = source.language
    if language in _STATEMENTS:
        return Statements(source, masked.directives).found()
    if language in _SCRIPTS:
        return declared_in_script(source)
    if is_form(language):
        return declared_in_forms(source)
    if rule_of(language).ends in ("indent", "end"):
        return declared_by_column(source)
    return declared(source)


_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)


def _remarks(source: Source, masked: Masked) -> tuple[Places, Places]:
    """Where comments stand, and strings where those may be docstrings."""
    return masked.comments, masked.strings if source.language in _DOCSTRINGS else _NOWHERE


def _nested(source: Source, remarks: tuple[Places, Places], found: Sequence[Found]) -> Definitions:
    """Every definition in the one that holds it, with what stands in front of it."""
    ordered = sorted(found, key=lambda each: (each.start, -each.end, each.name, each.kind))
    columns = [
        (each.start, each.end, each.signature_end, _BITS.get(each.kind, 0) | (OWNED if each.owner else 0))
        for each in ordered
    ]
    given = np.array(columns, np.int64).reshape(-1, 4)
    return Definitions(source, given, remarks, [(each.name, each.kind, each.owner) for each in ordered])


def _in_python(source: Source, remarks: tuple[Places, Places]) -> Definitions:
    """The functions, classes and constants of Python, decorators included."""
    rows = define_python(source.code, source.pairs.turns)
    given = rows[:, [0, 5, 4, 3]]
    given[:, 3] = _PYTHON_BITS[given[:, 3]]
    names = [
        (source.code[name:name_end].decode(errors="replace"), _PYTHON_KINDS[kind], "")
        for name, name_end, kind in rows[:, 1:4].tolist()
    ]
    return Definitions(source, given, remarks, names)


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
        given: Numbers,
        remarks: tuple[Places, Places],
        names: Sequence[tuple[str, str, str]],
    ) -> None:
        comments, strings = remarks
        self._source, self._given = source, given
        attributes = _ATTRIBUTED.get(source.language, 0)
        self.rows = nest_definitions(
            source.content, source.code, given, comments=comments, strings=strings, attributes=attributes,
            brackets=source.pairs.turns if attributes else None,
        )  # fmt: skip
        self._names = names  # the name, kind and owner of each that was given
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
        """What one of them is called."""
        return self._names[int(self.rows[at, 7])][0]

    def heads(self) -> Numbers:
        """A row for each definition of more than a value, as `definition_heads` gives them."""
        code, heads, levels, starts = self._source.code, [], [0], self._given[:, 0].tolist()
        for start, end, _, signature_end, parent, _, _, number, what in self.rows.tolist():
            levels.append(levels[parent + 1] + bool(what & BLOCK))
            if what & BLOCK:
                name = _place_of(code, self._names[number][0], starts[number], signature_end)
                heads.append((start, name, end, levels[-1]))
        return np.array(heads, np.int64).reshape(-1, 4)

    def _read(self, at: int) -> Definition:
        start, end, signature, signature_end, parent, doc, doc_end, number, what = self.rows[at].tolist()
        name, kind, owner = self._names[number]
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


def definition_row(each: Definition, number: int) -> tuple[int, ...]:
    """A definition that was made, as a row again."""
    places = (each.start, each.end, each.signature_start, each.signature_end)
    return *places, each.parent, -1, -1, number, _BITS.get(each.kind, 0)

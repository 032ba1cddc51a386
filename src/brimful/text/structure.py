"""What is a document made of? One outline by rules over its bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Literal, cast

from brimful.classes import dataclass
from brimful.patterns import compiled
from brimful.text.declarations import Found, Source, declared, rule_of
from brimful.text.kinds import Kind
from brimful.text.languages import (
    declared_by_column,
    declared_in_forms,
    declared_in_python,
    imports_in,
    is_form,
    parts_of_python,
)
from brimful.text.markup import Message, format_of, read_markup, read_messages
from brimful.text.masking import Brackets, Masked, is_known, mask, one_branch
from brimful.text.outline import Record
from brimful.text.passages import Heading, Passage
from brimful.text.records import records_in
from brimful.text.scripts import declared_in_script
from brimful.text.statements import Statements

DefinitionKind = Literal[
    "function", "method", "class", "struct", "enum", "interface", "trait", "impl", "extension", "object", "module",
    "type", "constant", "property", "macro", "table", "view", "index", "key", "target", "stage", "block",
]  # fmt: skip

_Places = tuple[list[int], list[int]]  # starts and ends

_PART_BYTES = 6_000
"""About so long are the parts that a source is read in."""

_STATEMENTS = frozenset(("c", "cpp", "java", "csharp", "dart", "cuda", "objc"))
_SCRIPTS = frozenset(("javascript", "typescript", "tsx"))
_OWNERS = frozenset(("class", "struct", "enum", "interface", "trait", "impl", "extension", "object"))


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
        definitions = definitions_in(content, language)
        return Structure(kind, language, length, definitions=definitions, records=tuple(records), header=header)
    headings, passages = read_markup(content, format_of(content, language=language, path=path))
    return Structure(kind, language, length, headings=headings, passages=passages, messages=read_messages(content))


def _read_code(content: bytes, language: str | None) -> tuple[tuple[Definition, ...], tuple[tuple[int, int], ...]]:
    if language is None or not has_rules(language):
        return (), ()
    source, masked = _masked(content, language)
    return _nested(source, _remarks(source, masked), _found(source, masked)), imports_in(source, masked)


def _masked(content: bytes, language: str) -> tuple[Source, Masked]:
    masked = mask(content, language)
    if language in _STATEMENTS:
        masked = one_branch(content, masked)
    return Source(content, masked.code, Brackets(masked.code), language), masked


def definitions_in(content: bytes, language: str | None) -> tuple[Definition, ...]:
    r"""The definitions of a source, in order; none in a language without rules.

    >>> code = b"class Pot:\n    def pour(self):\n        return 1\n"
    >>> [(found.qualified, found.kind) for found in definitions_in(code, "python")]
    [('Pot', 'class'), ('Pot.pour', 'method')]
    """
    return _read_code(content, language)[0]


class PartedSource:
    r"""The definitions of a source, read part by part where somebody asks for what stands around a byte.

    Python and sources of the C family are parted where a statement surely ends and no bracket is open; others have
    one part. Prototypes and macros of a single line are not read: in C those are most of the work, and no window
    begins or ends in one.

    >>> source = PartedSource(b"int f(void) {\n  return 1;\n}\n", "c")
    >>> [found.name for found in source.definitions(source.part_of(20))]
    ['f']
    """

    def __init__(self, content: bytes, language: str | None, *, part_bytes: int = _PART_BYTES) -> None:
        self._bounds = [0]  # where parts begin
        self._read: dict[int, tuple[Definition, ...]] = {}
        if language is None or not has_rules(language):
            self._read[0] = ()
            return
        self._source, self._masked = _masked(content, language)
        self._remarks = _remarks(self._source, self._masked)
        if language in _STATEMENTS:
            self._statements = Statements(self._source, self._masked.directives, several_lines=True)
        if len(content) >= 2 * part_bytes and language in _STATEMENTS:
            self._bounds += self._statements.parts(part_bytes)
        elif len(content) >= 2 * part_bytes and language == "python":
            self._bounds += parts_of_python(self._source, part_bytes)

    def part_of(self, position: int) -> int:
        """The number of the part that a byte stands in."""
        return bisect_right(self._bounds, position) - 1

    def definitions(self, part: int) -> tuple[Definition, ...]:
        """The definitions of a part, in order."""
        if part not in self._read:
            source, masked = self._source, self._masked
            begin = self._bounds[part]
            end = self._bounds[part + 1] if part + 1 < len(self._bounds) else len(source.code)
            if source.language in _STATEMENTS:
                found = self._statements.found(begin, end)
            elif source.language == "python":
                found = declared_in_python(source, begin, end)
            else:
                found = _found(source, masked)
            self._read[part] = _nested(source, self._remarks, found)
        return self._read[part]


def has_rules(language: str) -> bool:
    """Whether definitions are looked for in a language."""
    is_read = language == "python" or language in _STATEMENTS or language in _SCRIPTS
    return is_known(language) and (is_read or rule_of(language) is not None or is_form(language))


def _found(source: Source, masked: Masked) -> list[Found]:
    language = source.language
    if language == "python":
        return declared_in_python(source)
    if language in _STATEMENTS:
        return Statements(source, masked.directives).found()
    if language in _SCRIPTS:
        return declared_in_script(source)
    if is_form(language):
        return declared_in_forms(source)
    rule = rule_of(language)
    if rule is not None and rule.ends in ("indent", "end"):
        return declared_by_column(source)
    return declared(source)


def _remarks(source: Source, masked: Masked) -> tuple[_Places, _Places]:
    """Where comments stand, and strings where those may be docstrings."""
    return masked.comments, masked.strings if source.language in _DOCSTRINGS else ([], [])


def _nested(source: Source, remarks: tuple[_Places, _Places], found: list[Found]) -> tuple[Definition, ...]:
    """Put every definition into the one that holds it, and what stands in front of it before it."""
    content, code = source.content, source.code
    comments, strings = remarks
    ordered = sorted(found, key=lambda each: (each.start, -each.end, each.name, each.kind))
    result: list[Definition] = []
    around: list[int] = []
    for one in ordered:
        each = one
        while around and (result[around[-1]].end <= each.start or result[around[-1]].signature_start == each.start):
            around.pop()  # two names of one thing stand side by side
        end = min(each.end, result[around[-1]].end) if around else each.end
        parent = around[-1] if around else -1
        if end <= each.start or (parent >= 0 and result[parent].kind == "macro"):
            continue  # what a macro would write is not written yet
        low = result[parent].signature_end if parent >= 0 else 0
        if source.language in _ATTRIBUTED:
            each = _attributed(source, each, low)
        front = _front(content, code, comments, each.start, low)
        owner = result[parent] if parent >= 0 else None
        kind = "method" if each.kind == "function" and owner is not None and owner.kind in _OWNERS else each.kind
        kind = "method" if kind == "function" and each.owner else kind
        name = f"{each.owner}.{each.name}" if each.owner else each.name
        qualified = name if owner is None else f"{owner.qualified}.{name}"
        signature_end = min(max(each.signature_end, each.start), end)
        doc = (front, each.start) if front < each.start else _docstring(content, code, strings, signature_end, end)
        around.append(len(result))
        result.append(
            Definition(
                front, end, each.name, qualified, cast("DefinitionKind", kind), parent, each.start, signature_end, doc
            )
        )
    return tuple(result)


_ATTRIBUTE = compiled(rb"[ \t]*+(?:@[A-Za-z]|\#\[)")
_ATTRIBUTE_NAME = compiled(rb"@[\w.:]++|\#(?=\[)")
_DOCSTRINGS = frozenset(("python", "clojure", "commonlisp", "elisp"))
_ELIXIR = compiled(rb"@(?:doc|spec|impl|deprecated|since|dialyzer)\b")
_ATTRIBUTED = frozenset("rust kotlin swift scala javascript typescript tsx php elixir".split())
_ABOVE = 2_000  # bytes of blanks, a comment perhaps, that may stand between an attribute and what it belongs to


def _attributed(source: Source, found: Found, low: int) -> Found:
    """Move the start up over the lines of attributes and decorators above it."""
    code, start = source.code, found.start
    while (line := code.rfind(b"\n", low, start)) >= 0 and not code[line:start].strip():
        above = _before_blanks(code, low, line)
        first = max(code.rfind(b"\n", low, above) + 1, low)
        if above > low and code[above - 1] in b")]" and not _ATTRIBUTE.match(code, first):
            opener = source.pairs.open_of(above - 1)
            first = max(code.rfind(b"\n", low, opener) + 1, low) if opener is not None and opener > low else first
        attribute = _ATTRIBUTE.match(code, first)
        if above <= low or attribute is None or not _only_attributes(source, attribute.end() - 2, above):
            break
        start = attribute.end() - 2
    return found if start == found.start else found._replace(start=start)


def _only_attributes(source: Source, position: int, end: int) -> bool:
    """Is everything up to `end` attributes with their arguments? In Elixir they have no brackets."""
    if source.language == "elixir":
        return _ELIXIR.match(source.code, position) is not None
    while (name := _ATTRIBUTE_NAME.match(source.code, position)) is not None:
        position = name.end()
        if source.code[position : position + 1] in (b"(", b"["):
            position = source.pairs.after(position)
        if position >= end:
            return True
        rest = source.code[position : position + _ABOVE]
        position += len(rest) - len(rest.lstrip())
    return False


def _before_blanks(code: bytes, low: int, end: int) -> int:
    begin = max(low, end - _ABOVE)
    return begin + len(code[begin:end].rstrip())


def _front(content: bytes, code: bytes, comments: tuple[list[int], list[int]], start: int, low: int) -> int:
    """Where the comment lines directly above a definition begin."""
    starts, ends = comments
    at = bisect_right(ends, start) - 1
    while at >= 0 and starts[at] >= low and start - ends[at] < _ABOVE:
        between = content[ends[at] : start]
        if between.strip() or between.count(b"\n") > 1:
            break
        line = content.rfind(b"\n", 0, starts[at]) + 1
        if code[line : starts[at]].strip():
            break
        start = starts[at]
        at -= 1
    return start


def _docstring(
    content: bytes, code: bytes, strings: tuple[list[int], list[int]], start: int, end: int
) -> tuple[int, int] | None:
    """The string that stands right behind a signature."""
    starts, ends = strings
    at = bisect_left(starts, start)
    if at == len(starts) or ends[at] > end or code[start : starts[at]].strip():
        return None
    return (starts[at], ends[at]) if b"\n" in content[start : starts[at]] else None

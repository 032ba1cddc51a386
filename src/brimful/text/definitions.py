"""Which names does a span of code use, and where are they defined?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from brimful.text.grammars import (
    BODY,
    CLASS,
    FUNCTION,
    IMPORT,
    LAMBDA,
    LARGEST_PARSE,
    body_start,
    name_of,
    parse,
    require_grammar,
    role_in,
    roles,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

DefinitionKind = Literal["import", "function", "class", "variable"]


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


_LANGUAGES = _kinds("python javascript typescript tsx java go rust c cpp csharp ruby php kotlin swift scala lua bash")
_WRAPPERS = _kinds(
    "export_statement decorated_definition template_declaration preproc_if preproc_ifdef preproc_else "
    "expression_statement linkage_specification ambient_declaration extern_block declaration_list"
)
_VARIABLES = _kinds(
    "assignment lexical_declaration variable_declaration const_declaration var_declaration const_item "
    "static_item field_declaration declaration preproc_def preproc_function_def type_alias_statement "
    "property_declaration public_field_definition field_definition type_definition const_spec var_spec val_definition "
    "var_definition alias_declaration variable_assignment"
)


@dataclass(frozen=True, slots=True, order=True)
class Definition:
    """A name and the bytes that show what it is.

    An import's statement, a function's or class's signature, the line of a variable. Several names
    may share one import, and so the same bytes.
    """

    start: int
    end: int
    name: str
    kind: DefinitionKind


def used_definitions(content: bytes, start: int, end: int, *, language: str) -> tuple[Definition, ...]:
    r"""Definitions, outside `[start, end)`, of the names used inside it, sorted by where they stand.

    Looked for at the outermost level of the file and among the members of the classes and modules
    around the span. Languages without rules here give none; a language that no grammar is known for
    is a MissingPartError.

    >>> code = b"import os\n\ndef here():\n    return os.getcwd()\n"
    >>> [found.name for found in used_definitions(code, 11, len(code), language="python")]
    ['os']
    """
    require_grammar(language)
    if language not in _LANGUAGES or len(content) > LARGEST_PARSE or start >= end:
        return ()
    tree = _tree(content, language)
    used = set(_names_in(tree.root_node, start, end))
    table = roles(language)
    found: set[Definition] = set()
    for node, role in _candidates(tree.root_node, table, start, end):
        if node.start_byte < end and node.end_byte > start and role != CLASS:
            continue  # the span is in it, or it in the span
        found.update(
            definition
            for definition in _defined(content, node, role, table)
            if definition.name in used and (definition.end <= start or definition.start >= end)
        )
    return tuple(sorted(found))


@lru_cache(maxsize=4)
def _tree(content: bytes, language: str) -> Tree:
    return parse(content, language)


def _names_in(root: Node, start: int, end: int) -> Iterator[str]:
    """The identifiers inside the span; words in strings and comments are not names."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.end_byte <= start or node.start_byte >= end or "comment" in node.type:
            continue
        if not node.child_count:
            if _is_identifier(node) and start <= node.start_byte and node.end_byte <= end:
                yield _text(node)
        else:
            todo.extend(node.children)


def _is_identifier(node: Node) -> bool:
    kind = node.type
    return node.is_named and (kind.endswith("identifier") or kind in ("name", "constant", "word", "variable_name"))


def _candidates(root: Node, table: tuple[int, ...], start: int, end: int) -> Iterator[tuple[Node, int]]:
    """Definitions at the outermost level, and the members of what encloses the span."""
    todo = [root]
    while todo:
        for node in todo.pop().named_children:
            role = role_in(table, node)
            around = node.start_byte <= start and end <= node.end_byte
            if role in (IMPORT, FUNCTION, CLASS) or node.type in _VARIABLES:
                yield node, role
            if node.type in _WRAPPERS or role == BODY or (role == CLASS and around):
                todo.append(node)


def _defined(content: bytes, node: Node, role: int, table: tuple[int, ...]) -> Iterator[Definition]:
    start = content.rfind(b"\n", 0, node.start_byte) + 1
    if content[start : node.start_byte].strip():
        # A wrapper such as `export` stands before it: show that too when the line starts with it.
        start = start if node.parent is not None and node.parent.type in _WRAPPERS else node.start_byte
    if role == IMPORT:
        end = node.start_byte + len(content[node.start_byte : node.end_byte].rstrip())
        for name in _imported(node):
            yield Definition(start, end, name, "import")
    elif role in (FUNCTION, CLASS):
        name = name_of(node, role=role).rpartition("::")[2].partition("(")[0].strip("*& ")
        end = _signature_end(content, node, table)
        if name:
            yield Definition(start, end, name, "function" if role == FUNCTION else "class")
    else:
        function = _function_value(node, table)
        end = _signature_end(content, function, table) if function is not None else _line_end(content, node)
        for name in _bound(node):
            yield Definition(start, end, name, "function" if function is not None else "variable")


def _imported(node: Node) -> list[str]:
    """The names that an import binds: an alias where there is one, else the last part of each path."""
    alias_kinds = ("aliased_import", "import_specifier", "use_as_clause", "namespace_import", "import_alias")
    names: list[str] = []
    todo = [node]
    while todo:
        inner = todo.pop()
        kind = inner.type
        alias = inner.child_by_field_name("alias")
        if alias is None and kind == "import_spec":
            alias = inner.child_by_field_name("name")
        if alias is not None and (kind in alias_kinds or kind == "import_spec"):
            names.append(_text(alias))
        elif kind == "dotted_name":
            dotted = _text(inner)
            from_import = inner.parent is not None and inner.parent.type == "import_from_statement"
            names.append(dotted.rpartition(".")[2] if from_import else dotted.partition(".")[0])
        elif kind in ("scoped_identifier", "qualified_name", "scoped_use_path"):
            names.append(_text(inner).replace("::", ".").replace("\\", ".").rpartition(".")[2])
        elif "string" in kind and "import_spec" in (inner.parent.type if inner.parent else ""):
            names.append(_text(inner).strip('"`').rpartition("/")[2])
        elif _is_identifier(inner):
            names.append(_text(inner))
        else:
            module = inner.child_by_field_name("module_name") or inner.child_by_field_name("path")
            skipped = module if kind in ("import_from_statement", "scoped_use_list") else None
            todo.extend(child for child in inner.named_children if child != skipped)
    return sorted({name for name in names if name})


def _bound(node: Node) -> list[str]:
    """The names that a declaration or assignment gives a value."""
    names: list[str] = []
    todo: list[Node] = [node]
    while todo:
        inner = todo.pop()
        if _is_identifier(inner):
            names.append(_text(inner))
            continue
        fields = [inner.child_by_field_name(label) for label in ("name", "left", "pattern")]
        targets = [target for target in fields if target is not None]
        if not targets:
            targets = inner.children_by_field_name("declarator")
        if not targets and (inner == node or inner.type.endswith(("list", "pattern", "_spec", "declarator"))):
            targets = [child for child in inner.named_children if not _is_value(child)]
        todo.extend(targets)
    return sorted({name for name in names if name})


def _is_value(node: Node) -> bool:
    kind = node.type
    return kind.startswith("type") or kind.endswith(("modifiers", "modifier", "qualifier", "specifier", "type"))


def _function_value(node: Node, table: tuple[int, ...]) -> Node | None:
    """The function that a declaration assigns (`const f = () => {}`), if it does."""
    inner: Node | None = node
    for _ in range(4):
        if inner is None or not inner.named_child_count:
            return None
        inner = inner.named_child(inner.named_child_count - 1)
        if inner is not None and role_in(table, inner) == LAMBDA:
            return inner
    return None


def _signature_end(content: bytes, node: Node, table: tuple[int, ...]) -> int:
    until = body_start(table, node)
    if until is None:
        return _line_end(content, node)
    return node.start_byte + len(content[node.start_byte : until].rstrip())


def _line_end(content: bytes, node: Node) -> int:
    newline = content.find(b"\n", node.start_byte, node.end_byte)
    end = newline if newline >= 0 else node.end_byte
    return node.start_byte + len(content[node.start_byte : end].rstrip())


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")

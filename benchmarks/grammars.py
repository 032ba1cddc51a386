"""What tree-sitter says a source defines: the oracle of the rules in `brimful.outline.structures`.

A definition is a name with the lines from its first to its last, decorators and attributes included, comments not.
What stands in the body of a function is compared only in the languages of `OPEN`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

GRAMMARS = {"typescript": "typescript", "tsx": "tsx", "ocaml_interface": "ocaml_interface"}
OPEN = frozenset("python javascript typescript tsx rust kotlin swift scala php ruby lua elixir julia bash".split())
_FUNCTIONS = frozenset(
    "function_definition function_declaration method_declaration constructor_declaration function_item "
    "destructor_declaration operator_declaration local_function_statement lambda_expression method_definition "
    "compact_constructor_declaration static_initializer conversion_operator_declaration accessor_list block "
    "compound_statement field_initializer_list initializer_list object_creation_expression".split()
)


class Seen(NamedTuple):
    """A definition of the oracle, lines counted from 0."""

    name: str
    first: int
    last: int


def _types(names: str) -> frozenset[str]:
    return frozenset(names.split())


_NAMED = {
    "python": _types("function_definition class_definition"),
    "javascript": _types("function_declaration generator_function_declaration class_declaration method_definition"),
    "typescript": _types(
        "function_declaration generator_function_declaration class_declaration abstract_class_declaration "
        "method_definition interface_declaration type_alias_declaration enum_declaration internal_module module "
        "function_signature method_signature abstract_method_signature"
    ),
    "go": _types("function_declaration method_declaration type_spec type_alias const_spec var_spec"),
    "rust": _types(
        "function_item function_signature_item struct_item enum_item union_item trait_item impl_item mod_item "
        "type_item associated_type const_item static_item macro_definition"
    ),
    "c": _types(
        "function_definition declaration struct_specifier union_specifier enum_specifier type_definition preproc_def "
        "preproc_function_def"
    ),
    "cpp": _types(
        "function_definition declaration field_declaration struct_specifier union_specifier enum_specifier "
        "class_specifier namespace_definition type_definition alias_declaration preproc_def preproc_function_def"
    ),
    "java": _types(
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
        "method_declaration constructor_declaration field_declaration constant_declaration "
        "annotation_type_element_declaration compact_constructor_declaration"
    ),
    "csharp": _types(
        "class_declaration interface_declaration enum_declaration record_declaration struct_declaration "
        "record_struct_declaration method_declaration constructor_declaration destructor_declaration "
        "property_declaration indexer_declaration operator_declaration delegate_declaration namespace_declaration "
        "conversion_operator_declaration "
        "file_scoped_namespace_declaration field_declaration"
    ),
    "kotlin": _types(
        "class_declaration object_declaration companion_object function_declaration type_alias property_declaration"
    ),
    "swift": _types(
        "class_declaration protocol_declaration function_declaration init_declaration deinit_declaration "
        "subscript_declaration typealias_declaration associatedtype_declaration protocol_function_declaration"
    ),
    "scala": _types(
        "class_definition object_definition trait_definition enum_definition function_definition "
        "function_declaration type_definition package_object given_definition"
    ),
    "php": _types(
        "function_definition method_declaration class_declaration interface_declaration trait_declaration "
        "enum_declaration const_element namespace_definition"
    ),
    "dart": _types(
        "class_definition class_declaration mixin_declaration extension_declaration enum_declaration "
        "function_signature getter_signature setter_signature constructor_signature factory_constructor_signature"
    ),
    "ruby": _types("method singleton_method class module singleton_class"),
    "lua": _types("function_declaration assignment_statement variable_declaration field"),
    "elixir": _types("call"),
    "julia": _types(
        "function_definition macro_definition struct_definition module_definition abstract_definition "
        "primitive_definition assignment const_statement"
    ),
    "bash": _types("function_definition"),
    "sql": _types(
        "create_table create_view create_function create_procedure create_trigger create_index create_type "
        "create_schema create_sequence create_materialized_view create_extension create_domain create_database"
    ),
    "ocaml": _types(
        "let_binding type_binding module_binding module_type_definition value_specification external "
        "exception_definition class_binding"
    ),
    "haskell": _types("function bind signature data_type newtype type_synomym class instance"),
    "elisp": _types("function_definition macro_definition special_form list"),
    "commonlisp": _types("defun list_lit"),
    "scheme": _types("list"),
    "clojure": _types("list_lit"),
    "proto": _types("message enum service rpc oneof extend"),
    "hcl": _types("block"),
    "yaml": _types("block_mapping_pair"),
    "toml": _types("table table_array_element"),
    "ini": _types("section"),
    "make": _types("rule define_directive"),
    "dockerfile": _types("from_instruction"),
}
_NAMED["tsx"] = _NAMED["typescript"]
_NAMED["ocaml_interface"] = _NAMED["ocaml"]
_FUNCTION_VALUES = _types("function_expression arrow_function generator_function function")
_ATTRIBUTES = _types("attribute_item decorator attribute annotation")
_WRAPPERS = _types(
    "decorated_definition export_statement template_declaration ambient_declaration type_declaration "
    "const_declaration var_declaration value_definition type_definition module_definition class_definition "
    "expression_statement lexical_declaration variable_declaration local_variable_declaration"
)
_GROUPS = _types("type_declaration const_declaration var_declaration value_definition")
_LISP = re.compile(r"(?:[\w.*+!?-]+/)?(?:def|cl-def|define|ert-def|use-package|ns$|in-ns$)\S*")


@lru_cache(maxsize=64)
def _parser(language: str):
    from tree_sitter import Parser
    from tree_sitter_language_pack import get_language

    return Parser(get_language(GRAMMARS.get(language, language)))  # type: ignore[arg-type]


class Parsed(NamedTuple):
    """What the oracle sees, and the lines in which it sees nothing."""

    seen: list[Seen]
    hidden: list[tuple[int, int]]
    has_errors: bool


def definitions_by_grammar(content: bytes, language: str) -> Parsed:
    """Every definition of a source."""
    root = _parser(language).parse(content).root_node
    hidden: list[tuple[int, int]] = []
    seen = sorted(set(_walk(root, language, hidden)), key=lambda each: (each.first, -each.last, each.name))
    return Parsed(seen, hidden, root.has_error)


def _walk(root: Node, language: str, hidden: list[tuple[int, int]]) -> Iterator[Seen]:
    wanted = _NAMED[language]
    todo = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        if node.type in ("macro_invocation", "token_tree"):
            hidden.append((node.start_point[0], node.end_point[0]))
            continue
        for name, outer in _defined(node, language, wanted):
            start = _with_attributes(outer, language)
            end = _end_of(outer).end_point if language == "yaml" else outer.end_point
            last = end[0] if end[1] or end[0] == start.start_point[0] else end[0] - 1
            yield Seen(name, start.start_point[0], last)
        if language not in OPEN and node.type in _FUNCTIONS:
            continue
        if language == "rust" and node.type == "macro_definition":
            continue
        todo.extend((child, depth + 1) for child in node.children)


def _end_of(node: Node) -> Node:
    """The last node inside that is no comment: some grammars take the comments behind a thing for its part."""
    while True:
        inner = [child for child in node.named_children if child.type != "comment"]
        if not inner:
            return node
        node = inner[-1]


def _with_attributes(node: Node, language: str) -> Node:
    while (
        node.parent is not None
        and node.parent.type in _WRAPPERS
        and language
        in (
            "python",
            "javascript",
            "typescript",
            "tsx",
            "cpp",
        )
    ):
        node = node.parent
    before = node.prev_sibling
    while before is not None and (before.type in _ATTRIBUTES or _is_between(before, node)):
        if before.type in _ATTRIBUTES:
            node = before
        before = before.prev_sibling
    return node


def _is_between(before: Node, node: Node) -> bool:
    """A comment between attributes."""
    if "comment" not in before.type or before.prev_sibling is None or node.start_point[0] - before.end_point[0] > 1:
        return False
    other = before.prev_sibling
    while other is not None and "comment" in other.type:
        other = other.prev_sibling
    return other is not None and other.type in _ATTRIBUTES


def _text(node: Node | None) -> str:
    return (node.text or b"").decode(errors="replace").strip() if node is not None else ""


def _field(node: Node, *names: str) -> str:
    for name in names:
        found = node.child_by_field_name(name)
        if found is not None:
            return _text(found)
    return ""


def _child(node: Node, *types: str) -> Node | None:
    return next((child for child in node.named_children if child.type in types), None)


def _defined(node: Node, language: str, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    special = _SPECIAL.get(language)
    if special is not None:
        yield from special(node, wanted)
    elif node.type in wanted and (name := _field(node, "name")):
        yield name, node


def _python(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type in wanted:
        yield _field(node, "name"), node
    elif node.type == "assignment" and node.parent is not None:
        left = node.child_by_field_name("left")
        if (
            node.parent.type == "module"
            and left is not None
            and left.type == "identifier"
            and node.child_by_field_name("right") is not None
            and re.fullmatch(r"[A-Z][A-Z0-9_]+", _text(left))
        ):
            yield _text(left), node


def _script(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type in wanted:
        if node.type == "module" and node.child_by_field_name("name") is None:
            return
        name = _field(node, "name").strip("[]")
        if name and name[0] not in "\"'":
            yield name, node
        return
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    is_function = value is not None and value.type in _FUNCTION_VALUES
    if node.type == "variable_declarator":
        name = _text(node.child_by_field_name("name"))
        declaration = node.parent
        if declaration is None or value is None or not re.fullmatch(r"[\w$]+", name):
            return
        if is_function:
            yield name, node
        elif declaration.type == "lexical_declaration" and _text(declaration.children[0]) == "const":
            outer = declaration.parent
            if outer is not None and outer.type == "ambient_declaration":
                outer = outer.parent
            exported = outer is not None and outer.type == "export_statement"
            top = outer.parent if exported and outer is not None else outer
            if top is not None and top.type == "program" and (exported or (name.isupper() and len(name) > 1)):
                yield name, node
    elif is_function and node.type in ("assignment_expression", "pair", "field_definition", "public_field_definition"):
        name = _field(node, "left", "key", "property", "name")
        if re.fullmatch(r"#?[\w$.]+", name):
            yield name.rpartition(".")[2], node


def _go(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    names = node.children_by_field_name("name")
    for each in names:
        if each.is_named:
            yield _text(each), node


def _rust(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type == "impl_item":
        target = node.child_by_field_name("type")
        while target is not None and target.child_by_field_name("type") is not None and target.type != "generic_type":
            target = target.child_by_field_name("type")
        if target is not None and target.type == "generic_type":
            target = target.child_by_field_name("type")
        name = _text(target)
        found = re.match(r"(?:dyn\s+)?([\w:]+|\(|\[)", name)
        if found is not None:
            yield found[1].rpartition("::")[2], node
        return
    yield _field(node, "name").removeprefix("r#"), node


def _declarator(node: Node | None) -> Node | None:
    """The function declarator inside of pointers and references."""
    while node is not None and node.type in (
        "pointer_declarator", "reference_declarator", "parenthesized_declarator", "attributed_declarator",
    ):  # fmt: skip
        inner = node.child_by_field_name("declarator")
        node = (
            inner
            if inner is not None
            else next((child for child in node.named_children if child.type.endswith("declarator")), None)
        )
    return node


def _c(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    kind = node.type
    if kind not in wanted:
        return
    if kind in ("preproc_def", "preproc_function_def"):
        if kind == "preproc_function_def" or _field(node, "value"):
            yield _field(node, "name"), node
    elif kind in ("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"):
        if node.child_by_field_name("body") is not None and (name := _field(node, "name")):
            yield re.sub(r"<.*", "", name, flags=re.DOTALL).rpartition("::")[2], node
    elif kind == "namespace_definition":
        if name := _field(node, "name"):
            yield re.sub(r"\s+", "", name), node
    elif kind == "alias_declaration":
        yield _field(node, "name"), node
    elif kind == "type_definition":
        yield _typedef_name(node), node
    else:
        found = _declarator(node.child_by_field_name("declarator"))
        inner = found.child_by_field_name("declarator") if found is not None else None
        is_function = found is not None and found.type == "function_declarator"
        if is_function and inner is not None and inner.type != "parenthesized_declarator":
            yield _function_name(inner), node


def _typedef_name(node: Node) -> str:
    """The first name that a typedef gives."""
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type == "parenthesized_declarator" and inner.named_children:
            deeper = inner.named_children[-1]
        if deeper is None:
            break
        inner = deeper
    return _text(inner)


def _function_name(node: Node) -> str:
    name = re.sub(r"\s+", "", _text(node)).rpartition("::")[2]
    return name if name.startswith("operator") else re.sub(r"<.*>$", "", name)


def _java(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type in ("field_declaration", "constant_declaration"):
        modifiers = _text(_child(node, "modifiers")).split()
        if "static" in modifiers and "final" in modifiers:
            declarator = node.child_by_field_name("declarator")
            if declarator is not None and declarator.child_by_field_name("value") is not None:
                yield _field(declarator, "name"), node
        return
    yield _field(node, "name"), node


def _csharp(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type == "field_declaration":
        if any(_text(child) == "const" for child in node.children if child.type == "modifier"):
            declaration = _child(node, "variable_declaration")
            declarator = _child(declaration, "variable_declarator") if declaration is not None else None
            if declarator is not None:
                yield _field(declarator, "name") or _text(declarator.named_children[0]), node
        return
    if node.type == "indexer_declaration":
        yield "this", node
        return
    if node.type == "operator_declaration":
        yield "operator" + _field(node, "operator"), node
        return
    if node.type == "conversion_operator_declaration":
        yield "operator" + re.sub(r"<.*", "", _field(node, "type")), node
        return
    if node.type == "destructor_declaration":
        yield "~" + _field(node, "name"), node
        return
    yield _field(node, "name"), node


def _kotlin(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type == "property_declaration":
        if "const" in _text(_child(node, "modifiers")).split():
            variable = _child(node, "variable_declaration")
            yield _text(_child(variable, "simple_identifier", "identifier") if variable else None), node
        return
    name = _field(node, "name") or _text(_child(node, "type_identifier", "simple_identifier", "identifier"))
    if node.type == "companion_object" and not name:
        name = "Companion"
    yield name.strip("`"), node


def _swift(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    fixed = {"init_declaration": "init", "deinit_declaration": "deinit", "subscript_declaration": "subscript"}
    name = fixed.get(node.type) or _field(node, "name")
    if name and "\n" not in name:
        yield re.sub(r"<.*", "", name).strip("`"), node


def _php(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type == "const_element":
        outer = node.parent
        if outer is not None and outer.type == "const_declaration" and outer.named_children[-1] == node:
            first = next(child for child in outer.named_children if child.type == "const_element")
            yield _text(first.named_children[0]), outer
        return
    if node.type == "namespace_definition":
        if name := _field(node, "name"):
            yield name, node
        return
    yield _field(node, "name"), node


def _ruby(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted or not node.is_named:
        return
    if node.type == "singleton_class":
        yield "<< " + _field(node, "value"), node
        return
    name = _field(node, "name")
    if node.type == "singleton_method":
        name = _field(node, "object") + "." + name
    yield name, node


def _lua(node: Node, _wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type == "function_declaration" and (name := _field(node, "name")):
        yield name, node
    elif node.type == "function_definition" and node.parent is not None:
        outer = node.parent
        if outer.type == "expression_list" and outer.parent is not None and len(outer.named_children) == 1:
            names = _child(outer.parent, "variable_list")
            if names is not None and len(names.named_children) == 1:
                target = _text(names.named_children[0])
                if re.fullmatch(r"[\w.:]+", target):
                    whole = outer.parent
                    yield target, whole
        elif outer.type == "field" and not _text(outer).startswith("["):
            name = _field(outer, "name")
            if re.fullmatch(r"\w+", name):
                yield name, outer


def _elixir(node: Node, _wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type != "call":
        return
    word = _field(node, "target")
    if not re.fullmatch(
        r"def|defp|defmodule|defprotocol|defimpl|defmacro|defmacrop|defguard|defguardp|defdelegate", word
    ):
        return
    arguments = _child(node, "arguments")
    if arguments is None or not arguments.named_children:
        return
    first: Node | None = arguments.named_children[0]
    while first is not None and first.type == "binary_operator":
        first = first.child_by_field_name("left")
    name = _text(first)
    found = re.match(r"[A-Za-z_][\w.]*[?!]?", name)
    if found is not None:
        yield found[0], node


def _sql(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    reference = _child(node, "object_reference", "identifier")
    name = _field(node, "name", "column") or _text(reference)
    outer = node.parent if node.parent is not None and node.parent.type == "statement" else node
    yield re.sub(r'["`\[\]]', "", name).rpartition(".")[2], outer


def _julia(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted:
        return
    if node.type == "const_statement":
        found = re.match(r"const\s+([A-Za-z_]\w*)", _text(node))
        if found is not None:
            yield found[1], node
        return
    if node.type == "assignment":
        left = node.named_children[0] if node.named_children else None
        if left is None or left.type != "call_expression" or node.start_point[1]:
            return
        yield _text(left.named_children[0]), node
        return
    signature = _child(node, "signature", "type_head")
    found = re.match(r"[\w.!]+", _field(node, "name") or _text(signature))
    if found is not None:
        yield found[0], node


def _ocaml(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted or not node.is_named:
        return
    holder = node.parent
    if node.type == "let_binding":
        if holder is None or holder.type != "value_definition" or holder.parent is None:
            return
        if holder.parent.type not in ("compilation_unit", "structure", "module_binding"):
            return
        name = _field(node, "pattern")
        if not re.fullmatch(r"[A-Za-z_][\w']*|\([^()\n',:]*\)", name):
            return
        first = node == next((child for child in holder.named_children if child.type == "let_binding"), None)
        yield name, holder if first and _count(holder, "let_binding") == 1 else node
        return
    if node.type == "exception_definition":
        declaration = _child(node, "constructor_declaration")
        yield _text(declaration.named_children[0]) if declaration and declaration.named_children else "", node
        return
    name = _field(node, "name") or _text(
        _child(node, "type_constructor", "module_name", "module_type_name", "value_name", "class_name")
    )
    if not name:
        inner = next((child for child in node.named_children if child.type.endswith(("_name", "operator"))), None)
        name = _text(inner)
    yield name, node


def _count(node: Node, kind: str) -> int:
    return sum(child.type == kind for child in node.named_children)


def _haskell(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted or node.parent is None or node.parent.type not in ("declarations", "haskell"):
        return
    name = _field(node, "name")
    if name:
        yield name, node


def _lisp(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in (
        *wanted,
        "function_definition",
        "macro_definition",
        "special_form",
        "list",
        "list_lit",
        "defun",
    ):
        return
    if node.parent is None or node.parent.parent is not None:
        return
    if node.named_children and node.named_children[0].type == "sym_lit" and len(node.named_children) > 1:  # Clojure
        word, target = _text(node.named_children[0]), node.named_children[1]
        if _LISP.fullmatch(word) and target.type == "sym_lit" and word not in ("default", "defaults"):
            yield _text(target.child_by_field_name("name") or _child(target, "sym_name") or target).lstrip("':#"), node
        return
    words = _text(node)[:400]
    found = re.match(
        r"\(\s*(\S+)\s+(?:\^(?:\{[^{}]*\}|[\w:.-]+)\s*)*(\(?(?:setf\s+)?'?[^\s()\[\]{}\"';]+|\(\([^\s()]+)", words
    )
    if found is None or not _LISP.fullmatch(found[1]):
        return
    if found[1] in ("define-key", "define-abbrev", "default", "defaults"):
        return
    yield re.sub(r"^setf\s+", "", found[2].lstrip("(':#")), node


def _proto(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type not in wanted or not node.is_named:
        return
    inner = _child(
        node,
        "message_name",
        "enum_name",
        "service_name",
        "rpc_name",
        "identifier",
        "full_ident",
        "message_or_enum_type",
    )
    yield _text(inner).rpartition(".")[2] if node.type == "extend" else _text(inner), node


def _hcl(node: Node, _wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type == "block" and node.start_point[1] == 0:
        words = [_text(child).strip('"') for child in node.named_children if child.type in ("identifier", "string_lit")]
        yield ".".join(words), node


def _yaml(node: Node, _wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type != "block_mapping_pair":
        return
    above, outer = 0, node.parent
    while outer is not None:
        if outer.type in ("block_sequence", "flow_sequence"):
            return
        above += outer.type == "block_mapping_pair"
        outer = outer.parent
    if above <= 1:
        yield _field(node, "key").strip("\"'"), node


def _table(node: Node, wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type in wanted:
        first = _text(node).split("\n")[0]
        found = re.match(r"\[\[?\s*([^\]]+?)\s*\]", first)
        if found is not None:
            yield found[1], node


def _make(node: Node, _wanted: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if node.type == "define_directive":
        yield _field(node, "name"), node
    elif node.type == "rule" and (targets := _child(node, "targets")) is not None:
        for name in _text(targets).split():
            if not (name.startswith(".") and name[1:].isupper()):
                yield name, node


_SPECIAL = {
    "python": _python, "javascript": _script, "typescript": _script, "tsx": _script, "go": _go, "rust": _rust, "c": _c,
    "cpp": _c, "java": _java, "csharp": _csharp, "kotlin": _kotlin, "swift": _swift, "php": _php, "ruby": _ruby,
    "lua": _lua, "elixir": _elixir, "sql": _sql, "julia": _julia, "ocaml": _ocaml, "ocaml_interface": _ocaml,
    "haskell": _haskell, "elisp": _lisp, "commonlisp": _lisp, "scheme": _lisp, "clojure": _lisp, "proto": _proto,
    "hcl": _hcl, "yaml": _yaml, "toml": _table, "ini": _table, "make": _make,
}  # fmt: skip

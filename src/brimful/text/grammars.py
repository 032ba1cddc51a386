"""What does a grammar's node mean: a function, a class, a block, a body, a comment?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from brimful.errors import MissingPartError, suggest

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

LARGEST_PARSE = 2_000_000
"""Code of more bytes than this is outlined by its layout: generated, and not worth a parse."""

_SURE_BYTES, _PROBE_BYTES = 32_768, 4_096

OTHER, FUNCTION, CLASS, BLOCK, BODY, COMMENT, MARK, IMPORT, LAMBDA = range(9)
"""Roles of nodes; MARK is a decorator, annotation or attribute, LAMBDA a function without a name of its own."""

_THING = r"_(?:definition|declaration|item|statement|specifier|stmt|decl|def)"
_RULES: tuple[tuple[int, re.Pattern[str]], ...] = tuple(
    (role, re.compile(f"(?:{pattern})$"))
    for role, pattern in (
        (COMMENT, r"(?:\w+_)?comment|comment_\w+|pod|docstring"),
        (
            MARK,
            r"(?:\w+_)?(?:decorator|annotation)|attribute_item|inner_attribute_item|attribute_list|attribute",
        ),
        (
            IMPORT,
            (
                r"(?:\w+_)?import(?:_statement|_declaration|_list|_header|_from_statement)?|future_import_statement"
                r"|(?:namespace_)?use_declaration|using_directive|using_declaration|preproc_include|preproc_import"
                r"|extern_crate_declaration|package_(?:clause|declaration|header)|require_statement|include_statement"
            ),
        ),
        (
            LAMBDA,
            (
                r"arrow_function|func_literal|(?:lambda|closure|function|generator_function)(?:_expression|_literal)?"
                r"|anonymous_(?:function|method)\w*|do_block|lambda_block"
            ),
        ),
        (
            FUNCTION,
            (
                rf"(?:\w+_)?(?:function|method|constructor|destructor|procedure|subroutine|subprogram|operator|macro)"
                rf"(?:{_THING})?|secondary_constructor|anonymous_initializer|(?:de)?init_declaration"
                r"|create_(?:function|procedure|trigger)|(?:getter|setter|accessor)_(?:definition|declaration)"
                r"|predicate_definition|func_def|function_clause|test_declaration"
            ),
        ),
        (
            CLASS,
            (
                rf"(?:\w+_)?(?:class|struct|union|enum|interface|trait|impl|module|mod|namespace|object|record|protocol"
                rf"|extension|actor|contract|library|package|type|annotation_type|instance|companion|foreign_mod"
                rf"|delegate|typedef){_THING}"
                r"|internal_module|companion_object|singleton_class|class|module|create_(?:table|view|type|schema)"
                r"|abstract_class_declaration|file_scoped_namespace_declaration|resource|rule_set|block_mapping_pair"
            ),
        ),
        (
            BODY,
            (
                r"(?:\w+_)?(?:block|body|body_statement|statements|statement_list|declaration_list|declarations|member_list"
                r"|suite|do_group|compound_statement|then|template_body|field_declaration_list|enumerator_list"
                r"|enum_variant_list|case_group|switch_block_statement_group|access_specifier_list|section)"
            ),
        ),
        (
            BLOCK,
            (
                r"(?:\w+_)?(?:if|for|foreach|while|do|switch|match|try|with|loop|case|unless|until|repeat|catch|except"
                r"|finally|else|elif|elsif|elseif|guard|when|select|begin|unsafe|using|lock|synchronized|rescue|ensure"
                r"|default|async|fixed|checked|defer|in)"
                r"(?:_(?:statement|expression|clause|block|item|stmt|entry|arm|case|let_statement|in_statement))?"
                r"|preproc_(?:if|ifdef|ifndef|else|elif)|linkage_specification|(?:expression|type|default|communication)_case"
            ),
        ),
    )
)
_MENTIONS = re.compile(
    r"keyword_|drop_|not_|window_|generic_|heredoc|nowdoc|primary_constructor$|.*type_annotation$|asserts_|type_predicate"
    r"|template_(?:function|method)$|table_constructor$|(?:select|in|resource)$|explicit_\w+_specifier$"
    r"|.*(?:_call|call_|invocation|parameter|argument|_name$|_reference|declarator|modifier|signature|_pointer)"
)


def role_of(kind: str) -> int:
    """The role that a node kind's name gives it.

    >>> [role_of(kind) for kind in ("function_item", "class_definition", "if_statement", "call")] == [
    ...     FUNCTION, CLASS, BLOCK, OTHER]
    True
    """
    if _MENTIONS.match(kind):
        return OTHER
    return next((role for role, pattern in _RULES if pattern.match(kind)), OTHER)


@lru_cache(maxsize=64)
def grammar(language: str) -> Language | None:
    """The grammar of a language, or None when there is none."""
    from tree_sitter_language_pack import get_language

    try:
        return get_language(language)  # type: ignore[arg-type]  # the pack lists its names as a Literal
    except LookupError:
        return None


def require_grammar(language: str) -> Language:
    """The grammar of a language, or an error that names close ones."""
    found = grammar(language)
    if found is None:
        from typing import get_args

        from tree_sitter_language_pack import SupportedLanguage

        close = suggest(language, sorted(get_args(SupportedLanguage)))
        raise MissingPartError(
            f"no grammar for {language!r}; {close}tree-sitter-language-pack carries the ones it lists"
        )
    return found


@lru_cache(maxsize=64)
def roles(language: str) -> tuple[int, ...]:
    """The role of every node kind of a grammar, by kind id; unnamed nodes have none."""
    known = require_grammar(language)
    return tuple(
        role_of(known.node_kind_for_id(number) or "") if known.node_kind_is_named(number) else OTHER
        for number in range(known.node_kind_count)
    )


def parse(content: bytes, language: str) -> Tree:
    """A new parser each time: parsers are not shared between threads."""
    from tree_sitter import Parser

    return Parser(require_grammar(language)).parse(content)


def role_in(table: tuple[int, ...], node: Node) -> int:
    """A node's role; error nodes are beyond the table and have none."""
    kind = node.kind_id
    return table[kind] if kind < len(table) else OTHER


def broken_bytes(root: Node) -> int:
    """How many bytes stand in error nodes, each outermost one counted whole."""
    broken = 0
    todo = [root]
    while todo:
        node = todo.pop()
        if node.is_error:
            broken += node.end_byte - node.start_byte
        elif node.has_error:
            todo.extend(node.children)
    return broken


def is_tangled(content: bytes, language: str) -> bool:
    """Would a parse of all this mostly be recovery from errors? Told from the beginning of a long text.

    Recovery can take time that grows with the square of the length (a chat log named .cpp), and the
    parser offers no limit that would stop at the same place every time.
    """
    if len(content) <= _SURE_BYTES:
        return False
    loose = 0
    todo = [parse(content[:_PROBE_BYTES], language).root_node]
    while todo:
        node = todo.pop()
        if node.is_error:
            loose += node.child_count
        if node.has_error:
            todo.extend(node.children)
    return loose * 6 > _PROBE_BYTES


def body_start(table: tuple[int, ...], node: Node) -> int | None:
    """Where a definition's body (or a comment right before it) starts, or None when it has no body."""
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    if body is None:
        body = next((child for child in node.children if role_in(table, child) == BODY), None)
    if body is None:
        return None
    start = body.start_byte
    before = body.prev_sibling
    while before is not None and role_in(table, before) == COMMENT:
        start, before = before.start_byte, before.prev_sibling
    return start


def name_of(node: Node, *, role: int) -> str:
    """What a definition is called, or "": its name field, its declarator's, or what it is assigned to."""
    found = node.child_by_field_name("name")
    inner: Node | None = node
    while found is None and inner is not None:
        inner = inner.child_by_field_name("declarator")
        if inner is not None and inner.child_by_field_name("declarator") is None:
            found = inner
    if found is None:
        found = node.child_by_field_name("type") if node.type.startswith(("impl", "extension")) else None
    if found is None and role == LAMBDA:
        found = _assigned_to(node)
    elif found is None:
        found = next((child for child in node.named_children[:6] if _is_name(child.type)), None)
    if found is None:
        inside = next((child for child in node.named_children if child.type.endswith("_spec")), None)
        found = inside.child_by_field_name("name") if inside is not None else None
    words = (found.text or b"").decode(errors="replace") if found is not None else ""
    return words.strip() if len(words) <= 200 and "\n" not in words else ""


def _assigned_to(node: Node) -> Node | None:
    """The variable, key or attribute that takes a function as its value."""
    owner = node.parent
    for _ in range(2):
        if owner is None or owner.type.startswith("argument"):
            return None
        for label in ("name", "key", "left", "pattern"):
            found = owner.child_by_field_name(label)
            if found is not None:
                return found
        owner = owner.parent
    return None


def _is_name(kind: str) -> bool:
    return kind.endswith("identifier") or kind in (
        "name",
        "constant",
        "word",
        "object_reference",
        "command_name",
    )

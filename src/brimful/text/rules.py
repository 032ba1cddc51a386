"""How does a definition begin, in each language whose definitions begin with a word of their own?

A rule names what may stand in front (`pub`, `async`), the words that define (`fn`, `class`), the shape of a name, and
how the body ends. It is the one place to look at for a language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+"

Ends = Literal["braces", "lines", "indent", "end", "semicolon"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`head` begins with a newline, so that the engine jumps from line to line; its groups are `word` and `name`."""

    head: bytes
    kinds: dict[bytes, str]
    ends: Ends  # lines: at a brace, but a line's end may do
    flags: int = 0


def _words(**kinds: str) -> dict[bytes, str]:
    return {word.encode(): kind for kind, words in kinds.items() for word in words.split()}


def _head(before: bytes, words: bytes, name: bytes = NAME) -> bytes:
    return rb"\n[ \t]*+(?P<head>(?:(?:%b)[ \t]++)*+(?P<word>%b)(?!\w)[ \t]*+(?P<name>%b))" % (before, words, name)


_ANNOTATION = rb"@[\w.:]++(?:\([^()\n]*+\))?+"
_RULES: dict[str, Rule] = {
    "rust": Rule(
        _head(
            rb"pub(?:[ \t]*\([^)\n]*+\))?+|default|async|unsafe|extern(?:[ \t]*\"++)?+"
            rb"|const(?=[ \t]+(?:unsafe|extern|async|fn)\b)|\#\[[^\]\n]*+\]",
            rb"fn|struct|enum|trait|union|mod|impl|type|const|static|macro_rules!",
            rb"(?:(?:(?<=impl )|(?<=impl)(?=<))[^{;\n]*+(?:\n[^{;\n]*+){0,12}|(?:mut[ \t]+)?(?:r\#)?" + NAME + rb")",
        ),
        _words(
            function="fn", struct="struct union", enum="enum", trait="trait", module="mod", impl="impl", type="type",
            constant="const static", macro="macro_rules!",
        ),
        "braces",
    ),
    "go": Rule(
        rb"\n(?P<head>(?P<word>func)\b[ \t]*+(?P<receiver>\([^()\n]*+\)[ \t]*+)?(?P<name>" + NAME + rb")"
        rb"|(?P<group>type|const|var)[ \t]++(?P<plain>" + NAME + rb"|\())",
        _words(function="func", type="type", constant="const var"),
        "lines",
    ),
    "kotlin": Rule(
        _head(
            rb"public|private|protected|internal|open|final|abstract|sealed|data|inner|value|annotation|inline|tailrec"
            rb"|operator|infix|external|suspend|override|const|lateinit|expect|actual|enum|companion"
            rb"|fun(?=[ \t]+interface)|" + _ANNOTATION,
            rb"class|interface|object|fun|typealias|(?<=const )val",
            rb"(?:<[^>\n]*+>+[ \t]*+)?(?:[\w<>?,. *]*?\.)??(?:`[^`\n]+`|" + NAME + rb")"
            rb"(?!\??\.|<[^()\n]*>\??\.)|(?=[{:])",
        ),
        _words(
            class_="class", interface="interface", object="object", function="fun", type="typealias", constant="val",
        ),
        "lines",
    ),
    "swift": Rule(
        _head(
            rb"public|private|fileprivate|internal|open|final|static|override|mutating|nonmutating|convenience|required"
            rb"|indirect|dynamic|lazy|prefix|postfix|infix|nonisolated|package|optional|rethrows|class(?=[ \t]+func)"
            rb"|(?:private|fileprivate|internal|public)\(set\)|" + _ANNOTATION,
            rb"class|struct|enum|protocol|extension|actor|func|init|deinit|subscript|typealias|associatedtype",
            rb"(?:" + NAME + rb"(?:\.\w++)*+|`\w+`|[-+*/=<>!&|^~%?.]++(?=[ \t]*[(<])|(?<=init)[?!]?(?=[ \t]*[(<])"
            rb"|(?=[ \t]*[{(<]))",
        ),
        _words(
            class_="class actor", struct="struct", enum="enum", interface="protocol", extension="extension",
            function="func init deinit subscript", type="typealias associatedtype",
        ),
        "lines",
    ),
    "scala": Rule(
        _head(
            rb"private(?:\[\w+\])?+|protected(?:\[\w+\])?+|override|final|sealed|abstract|implicit|lazy|case|inline|open"
            rb"|transparent|opaque|infix|package(?=[ \t]+object)|" + _ANNOTATION,
            rb"class|object|trait|enum|def|type|given",
            rb"(?:" + NAME + rb"(?:_[^\w\s(\[{:=]++)?+|[^\w\s(\[{:=,]++|`[^`\n]+`)",
        ),
        _words(class_="class", object="object given", trait="trait", enum="enum", function="def", type="type"),
        "lines",
    ),
    "php": Rule(
        _head(
            rb"public|private|protected|static|abstract|final|readonly|var|\#\[[^\]\n]*+\]",
            rb"function|class|interface|trait|enum|const|namespace",
            rb"&?[ \t]*+(?:(?:string|int|array|bool|float)[ \t]+)?[A-Za-z_\x80-\xff\\][\w\x80-\xff\\]*+",
        ),
        _words(
            function="function", class_="class", interface="interface", trait="trait", enum="enum", constant="const",
            module="namespace",
        ),
        "braces",
    ),
    "proto": Rule(
        _head(rb"(?!)", rb"message|enum|service|rpc|oneof|extend", rb"[A-Za-z_.][\w.]*+"),
        _words(struct="message extend oneof", enum="enum", interface="service", function="rpc"),
        "braces",
    ),
    "ruby": Rule(
        _head(
            rb"private|public|protected|private_class_method|module_function|memoize",
            rb"def|class|module",
            rb"(?:(?:<<[ \t]*)?(?:self\.(?!\[)|[A-Za-z_]\w*+\.(?=[a-z_]))?(?!self\.\[)(?:::)?"
            rb"[A-Za-z_\x80-\xff][\w\x80-\xff:]*+[?!=]?(?<![ =]=)"
            rb"|(?:self\.)?(?:[-+!~]@?|\*\*?|/|%|<=>|===?|=~|![=~]|<<|>>|<=?|>=?|&|\||\^|\[\]=?|`))",
        ),
        _words(function="def", class_="class", module="module"),
        "end",
    ),
    "lua": Rule(
        rb"\n[ \t]*+(?P<head>(?:local[ \t]++)?(?P<word>function)[ \t]++(?P<name>[A-Za-z_][\w.:]*+)"
        rb"|(?:local[ \t]++)?(?P<plain>[A-Za-z_][\w.:]*+)[ \t]*+=[ \t]*+function\b)",
        _words(function="function"),
        "end",
    ),
    "elixir": Rule(
        _head(
            rb"(?!)",
            rb"defmodule|defprotocol|defimpl|defmacrop|defmacro|defguardp|defguard|defdelegate|defp|def",
            rb"[A-Za-z_][\w.]*+[?!]?",
        ),
        _words(
            module="defmodule defimpl", interface="defprotocol", macro="defmacro defmacrop",
            function="def defp defguard defguardp defdelegate",
        ),
        "end",
    ),
    "julia": Rule(
        rb"\n[ \t]*+(?P<head>(?:@\w++[ \t]++)*+(?P<word>function|macro|mutable[ \t]+struct|struct|module|baremodule"
        rb"|abstract[ \t]+type|primitive[ \t]+type|const)[ \t]++(?P<name>[A-Za-z_\x80-\xff][\w\x80-\xff.!]*+)"
        rb"|(?P<plain>(?<=\n)[A-Za-z_\x80-\xff][\w\x80-\xff.!]*+)\([^\n]*?\)(?:[ \t]*where[^=\n]*+)?[ \t]*=(?!=))",
        _words(
            function="function", macro="macro", struct="struct", module="module baremodule", type="type",
            constant="const",
        ),
        "end",
    ),
    "bash": Rule(
        rb"\n[ \t]*+(?P<head>(?P<word>function)[ \t]++(?P<name>[\w.:+-]++)(?:[ \t]*\([ \t]*\))?+"
        rb"|(?P<plain>[A-Za-z_][\w.:+-]*+)[ \t]*\([ \t]*\))(?=\s*+[{(])",
        _words(function="function"),
        "end",
    ),
    "sql": Rule(
        rb"\n[ \t]*+(?P<head>create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:(?:global|local|temp|temporary|unlogged|unique"
        rb"|materialized|recursive|foreign|constraint|external|virtual|definer[ \t]*=[ \t]*\S+)[ \t]+)*+"
        rb"(?P<word>table|view|function|procedure|trigger|index|type|schema|sequence|domain|aggregate|extension"
        rb"|database|role)\b[ \t\n]++"
        rb"(?:concurrently[ \t]+)?(?:if[ \t]+not[ \t]+exists[ \t]+)?(?P<name>[\w\".$`\[\]@:-]++))",
        _words(
            table="table", view="view", function="function procedure trigger aggregate", index="index",
            type="type domain",
            module="schema database extension", constant="sequence role",
        ),
        "semicolon",
        re.IGNORECASE,
    ),
    "ocaml": Rule(
        rb"\n[ \t]*+(?P<head>(?P<word>let|and|type|module[ \t]+type|module|val|external|exception"
        rb"|class[ \t]+type|class)"
        rb"(?:[%@][\w.@%]++)?+(?:[ \t]++(?:rec|nonrec|virtual)\b)?+[ \t\n]++"
        rb"(?:(?:[+!-]*'\w+|_|\([^()\n]*'[^()]*+\)|\[[^\]\n]*\])[ \t\n]+)?(?P<name>[A-Za-z_][\w']*+|\([^()\n',:]*\)))",
        _words(
            function="let and val external", type="type exception", module="module", class_="class",
        ),
        "indent",
    ),
    "haskell": Rule(
        rb"\n(?P<head>(?P<word>data|newtype|type|class|instance|module)[ \t]+(?:(?:family|instance)[ \t]+)?"
        rb"(?:[^\n=]{0,200}?=>[ \t]*)?"
        rb"(?P<name>[A-Z][\w'.]*+)|(?P<plain>[a-z_][\w']*+|\([^\w\s()]+\))"
        rb"(?=[^\n]{0,400}(?:\n[ \t]+[^\n]{0,200}){0,3}(?:::|=|\|)))",
        _words(struct="data newtype", type="type", interface="class", impl="instance", module="module"),
        "indent",
    ),
    "hcl": Rule(
        rb"\n(?P<head>(?P<word>[A-Za-z_][\w-]*+)(?P<name>(?:[ \t]++\"++)*+))(?=[ \t]*+\{)",
        {},
        "braces",
    ),
}  # fmt: skip
_ALIASES = {"terraform": "hcl", "ocaml_interface": "ocaml", "fish": "bash"}


def rule_of(language: str) -> Rule | None:
    """The rule of a language, if there is one."""
    return _RULES.get(_ALIASES.get(language, language))


def family_of(language: str) -> str:
    """The language whose rule another one shares."""
    return _ALIASES.get(language, language)


@lru_cache(maxsize=64)
def head_pattern(language: str) -> re.Pattern[bytes]:
    """What the head of a definition looks like."""
    rule = _RULES[language]
    return re.compile(rule.head, rule.flags)

"""Which definitions begin with a word of their own, in which language, and where do they end?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from brimful.outline.masking import Brackets

# ---- rules: How does a definition begin, in each language whose definitions begin with a word of their own?
#
# A rule names what may stand in front (`pub`, `async`), the words that define (`fn`, `class`), the shape of a name, and
# how the body ends. It is the one place to look at for a language.

NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+"

Ends = Literal["braces", "lines", "indent", "end", "semicolon"]


@dataclass(frozen=True, slots=True)
class _Rule:
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
_RULES: dict[str, _Rule] = {
    "rust": _Rule(
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
    "go": _Rule(
        rb"\n(?P<head>(?P<word>func)\b[ \t]*+(?P<receiver>\([^()\n]*+\)[ \t]*+)?(?P<name>" + NAME + rb")"
        rb"|(?P<group>type|const|var)[ \t]++(?P<plain>" + NAME + rb"|\())",
        _words(function="func", type="type", constant="const var"),
        "lines",
    ),
    "kotlin": _Rule(
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
    "swift": _Rule(
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
    "scala": _Rule(
        _head(
            rb"private(?:\[\w+\])?+|protected(?:\[\w+\])?+|override|final|sealed|abstract|implicit|lazy|case|inline|open"
            rb"|transparent|opaque|infix|package(?=[ \t]+object)|" + _ANNOTATION,
            rb"class|object|trait|enum|def|type|given",
            rb"(?:" + NAME + rb"(?:_[^\w\s(\[{:=]++)?+|[^\w\s(\[{:=,]++|`[^`\n]+`)",
        ),
        _words(class_="class", object="object given", trait="trait", enum="enum", function="def", type="type"),
        "lines",
    ),
    "php": _Rule(
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
    "proto": _Rule(
        _head(rb"(?!)", rb"message|enum|service|rpc|oneof|extend", rb"[A-Za-z_.][\w.]*+"),
        _words(struct="message extend oneof", enum="enum", interface="service", function="rpc"),
        "braces",
    ),
    "ruby": _Rule(
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
    "lua": _Rule(
        rb"\n[ \t]*+(?P<head>(?:local[ \t]++)?(?P<word>function)[ \t]++(?P<name>[A-Za-z_][\w.:]*+)"
        rb"|(?:local[ \t]++)?(?P<plain>[A-Za-z_][\w.:]*+)[ \t]*+=[ \t]*+function\b)",
        _words(function="function"),
        "end",
    ),
    "elixir": _Rule(
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
    "julia": _Rule(
        rb"\n[ \t]*+(?P<head>(?:@\w++[ \t]++)*+(?P<word>function|macro|mutable[ \t]+struct|struct|module|baremodule"
        rb"|abstract[ \t]+type|primitive[ \t]+type|const)[ \t]++(?P<name>[A-Za-z_\x80-\xff][\w\x80-\xff.!]*+)"
        rb"|(?P<plain>(?<=\n)[A-Za-z_\x80-\xff][\w\x80-\xff.!]*+)\([^\n]*?\)(?:[ \t]*where[^=\n]*+)?[ \t]*=(?!=))",
        _words(
            function="function", macro="macro", struct="struct", module="module baremodule", type="type",
            constant="const",
        ),
        "end",
    ),
    "bash": _Rule(
        rb"\n[ \t]*+(?P<head>(?P<word>function)[ \t]++(?P<name>[\w.:+-]++)(?:[ \t]*\([ \t]*\))?+"
        rb"|(?P<plain>[A-Za-z_][\w.:+-]*+)[ \t]*\([ \t]*\))(?=\s*+[{(])",
        _words(function="function"),
        "end",
    ),
    "sql": _Rule(
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
    "ocaml": _Rule(
        rb"\n[ \t]*+(?P<head>(?P<word>let|and|type|module[ \t]+type|module|val|external|exception"
        rb"|class[ \t]+type|class)"
        rb"(?:[%@][\w.@%]++)?+(?:[ \t]++(?:rec|nonrec|virtual)\b)?+[ \t\n]++"
        rb"(?:(?:[+!-]*'\w+|_|\([^()\n]*'[^()]*+\)|\[[^\]\n]*\])[ \t\n]+)?(?P<name>[A-Za-z_][\w']*+|\([^()\n',:]*\)))",
        _words(
            function="let and val external", type="type exception", module="module", class_="class",
        ),
        "indent",
    ),
    "haskell": _Rule(
        rb"\n(?P<head>(?P<word>data|newtype|type|class|instance|module)[ \t]+(?:(?:family|instance)[ \t]+)?"
        rb"(?:[^\n=]{0,200}?=>[ \t]*)?"
        rb"(?P<name>[A-Z][\w'.]*+)|(?P<plain>[a-z_][\w']*+|\([^\w\s()]+\))"
        rb"(?=[^\n]{0,400}(?:\n[ \t]+[^\n]{0,200}){0,3}(?:::|=|\|)))",
        _words(struct="data newtype", type="type", interface="class", impl="instance", module="module"),
        "indent",
    ),
    "hcl": _Rule(
        rb"\n(?P<head>(?P<word>[A-Za-z_][\w-]*+)(?P<name>(?:[ \t]++\"++)*+))(?=[ \t]*+\{)",
        {},
        "braces",
    ),
    "": _Rule(
        _head(
            rb"pub|export|default|async|public|private|protected|internal|static|final|abstract|inline|virtual|unsafe"
            rb"|extern|override|sealed|partial|open|local|declare",
            rb"def|class|function!?|fn|func|fun|struct|interface|trait|enum|module|namespace|sub|proc|procedure|method"
            rb"|task|macro|union|protocol|record|contract|type|package",
            rb"[A-Za-z_\x80-\xff][\w.:\x80-\xff]*+",
        ),
        _words(
            function="def function function! fn func fun sub proc procedure method task", macro="macro", enum="enum",
            class_="class record contract", struct="struct union", interface="interface protocol", trait="trait",
            module="module namespace package", type="type",
        ),
        "lines",
    ),
}  # fmt: skip
_ALIASES = {"terraform": "hcl", "ocaml_interface": "ocaml", "fish": "bash"}
_OTHERS = ""  # languages without a rule of their own


def rule_of(language: str) -> _Rule:
    """The rule of a language."""
    return _RULES[family_of(language)]


def family_of(language: str) -> str:
    """The language whose rule another one shares."""
    name = _ALIASES.get(language, language)
    return name if name in _RULES else _OTHERS


@lru_cache(maxsize=64)
def _head_pattern(language: str) -> re.Pattern[bytes]:
    """What the head of a definition looks like."""
    rule = _RULES[language]
    return re.compile(rule.head, rule.flags)


# ---- declarations: Which definitions does a source hold? Those that begin with a word of their own (`rules` has the
# words).
#
# The body ends at its bracket, with a line that nothing goes on from, or at a semicolon; ends by the column of a line
# are in `languages`. Sources are masked, so a word in a string or comment defines nothing. What a rule can't know is
# left out.

REACH = 4_000  # bytes outside of brackets in which a signature must come to its end


class Found(NamedTuple):
    """A definition as a rule sees it: the first byte of its declaration, its name, and where head and body end."""

    start: int
    name: str
    kind: str
    signature_end: int
    end: int
    owner: str = ""  # what it belongs to, where that stands elsewhere: the receiver in Go, the class in C++


@dataclass(frozen=True, slots=True)
class Source:
    """A masked source with what the rules ask about it."""

    content: bytes
    code: bytes
    pairs: Brackets
    language: str


def declared(source: Source) -> list[Found]:
    """Every definition that a rule of the source's language finds."""
    rule = rule_of(source.language)
    heads = heads_in(source, rule)
    find = _END[rule.ends]
    found = []
    for head in heads:
        if head.kind == "group":
            found += _grouped(source, head)
            continue
        signature_end, end = find(source, head)
        kind = _go_kind(source.code, head) if source.language == "go" else head.kind
        found.append(Found(head.start, head.name, kind, signature_end, end, head.owner))
    return found


class Head(NamedTuple):
    """Where a definition begins, before it is known where it ends."""

    start: int
    name: str
    kind: str
    after: int  # where the name ends
    owner: str = ""


def heads_in(source: Source, rule: _Rule) -> list[Head]:
    """The head of every definition that a rule finds."""
    heads = []
    pattern = _head_pattern(family_of(source.language))
    has_plain = "plain" in pattern.groupindex
    text = b"\n" + source.code
    for found in pattern.finditer(text):
        group = "name"
        word = found["word"]
        if has_plain and found["plain"] is not None:
            group = "plain"
        start, (low, high) = found.start("head") - 1, found.span(group)
        kind, name = _kind_and_name(source, rule, found, word, low - 1, high - 1)
        if name or kind == "group":
            heads.append(Head(start, name, kind, high - 1, _receiver(found) if source.language == "go" else ""))
    return heads


_RECEIVER = re.compile(rb"(?<![\w\x80-\xff])([A-Za-z_\x80-\xff][\w\x80-\xff]*+)(?:\[[^\[\]]*+\])?[ \t]*+\)")
_GO_TYPE = re.compile(rb"[ \t]*(?:\[[^\]\n]*\][ \t]*)?(struct|interface)\b")


def _receiver(found: re.Match[bytes]) -> str:
    """The type that a method of Go belongs to."""
    name = _RECEIVER.search(found["receiver"] or b"")
    return name[1].decode(errors="replace") if name is not None else ""


def _go_kind(code: bytes, head: Head) -> str:
    """A type of Go may be a struct or an interface."""
    found = _GO_TYPE.match(code, head.after) if head.kind == "type" else None
    return found[1].decode() if found is not None else head.kind


def _kind_and_name(
    source: Source, rule: _Rule, found: re.Match[bytes], word: bytes | None, low: int, high: int
) -> tuple[str, str]:
    language = source.language
    name = source.content[low:high].decode(errors="replace")
    if word is None:
        if language == "go":
            group = found["group"]
            kind = "group" if name == "(" else rule.kinds[group]
            return kind, "" if kind == "group" else name
        return "function", name
    last = word.split()[0 if language.startswith("ocaml") else -1].lower()
    kind = rule.kinds.get(last, "block").rstrip("_")
    if last == b"object" and not name and b"companion" in found["head"]:
        return kind, "Companion"
    return kind, _plain_name(name, last.decode(), language)


_IMPL = re.compile(
    r"(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?\s*+(?:.*?\bfor\s+(?!<))?(?:[&*]|mut\s|dyn\s|'\w+\s|!)*\s*+([\w:]+|\(|\[)",
    re.DOTALL,
)


def _plain_name(name: str, word: str, language: str) -> str:
    """A name without what the syntax puts around it."""
    name = name.strip()
    if language == "rust" and word == "impl":
        head = re.split(r"\bwhere\b", name)[0]
        target = _IMPL.match(head)
        return target[1].rpartition("::")[2] if target is not None else ""
    if language == "rust":
        return name.removeprefix("mut").strip().removeprefix("r#") if word == "static" else name.removeprefix("r#")
    if language == "swift" and word in ("init", "deinit", "subscript"):
        return word
    if language == "kotlin":
        if not name:
            return ""
        return name.rpartition(".")[2].strip().rpartition(" ")[2].strip("`") if "`" not in name else name.split("`")[-2]
    if language == "php":
        return name.strip("& \t").rpartition(" ")[2] if word != "namespace" else name
    if language in ("hcl", "terraform"):
        return ".".join([word, *(part for part in re.findall(r'"([^"]*)"', name))])
    if language == "proto":
        return name.rpartition(".")[2]
    if language == "sql":
        return re.sub(r'["`\[\]]', "", name).rpartition(".")[2]
    return name.strip("`")


# Where do head and body end?

_SIGN = re.compile(rb"[({\[;=\n}]")


def _braces(source: Source, head: Head) -> tuple[int, int]:
    """At the bracket that closes the body, or at a semicolon."""
    code, pairs = source.code, source.pairs
    position, stop = head.after, min(head.after + REACH, len(code))
    while (sign := _SIGN.search(code, position, stop)) is not None:
        at, word = sign.start(), sign[0]
        if word == b"{":
            return trimmed(code, head.start, at), pairs.after(at)
        if word == b";":
            return at, at + 1
        if word == b"}":
            break
        if word in b"([":
            position = pairs.after(at)
            stop = min(position + REACH, len(code))
        elif word == b"=" and head.kind in ("constant", "type"):
            end = _semicolon_after(code, pairs, at)
            return at, end
        else:
            position = at + 1
    end = line_end(code, head.after)
    return end, end


def _semicolon_after(code: bytes, pairs: Brackets, position: int) -> int:
    stop = min(position + REACH, len(code))
    while (sign := _VALUE_SIGN.search(code, position, stop)) is not None:
        if sign[0] == b";":
            return sign.end()
        if sign[0] in b")]}":
            break
        position = pairs.after(sign.start())
        stop = min(position + REACH, len(code))
    return line_end(code, position)


_VALUE_SIGN = re.compile(rb"[({\[;)\]}]")
_GOES_ON = re.compile(rb"(?:[,:=(|&+.<]|->|=>|\b(?:extends|with|where|by|throws|implements|is))[ \t\r]*\Z")
_GOES_ON_BELOW = re.compile(rb"\s*+(?:[{:=?.|&)]|->|where\b|by\b|extends\b|with\b|throws\b|async\b)")
_GOES_ON_BELOW_GO = re.compile(rb"(?!)")


def _lines(source: Source, head: Head) -> tuple[int, int]:
    """At the bracket that closes the body, or at the line's end, or where an expression that is indented more ends."""
    code, pairs, language = source.code, source.pairs, source.language
    position, stop = head.after, min(head.after + REACH, len(code))
    below = _GOES_ON_BELOW_GO if language == "go" else _GOES_ON_BELOW
    while (sign := _SIGN.search(code, position, stop)) is not None:
        at, word = sign.start(), sign[0]
        if word == b"{":
            if language == "go" and head.kind == "function" and _IS_TYPE.search(code, max(at - 12, head.start), at):
                position = pairs.after(at)
                continue
            return trimmed(code, head.start, at), pairs.after(at)
        if word in b";}":
            end = trimmed(code, head.start, at)
            return end, end
        if word in b"([":
            position = pairs.after(at)
            stop = min(position + REACH, len(code))
        elif word == b"=":
            if code[at + 1 : at + 2] in (b"=", b">"):
                position = at + 2
                continue
            return trimmed(code, head.start, at), _expression_end(source, head, at + 1)
        elif _GOES_ON.search(code, max(at - 12, head.after), at) or below.match(code, at, at + 200):
            position = at + 1
        else:
            break
    end = trimmed(code, head.start, min(line_end(code, position), len(code)))
    return end, end


_IS_TYPE = re.compile(rb"\b(?:interface|struct)[ \t]*\Z")
_OPERATOR = re.compile(rb"(?:[-+*/%&|=<>,.?:({\[]|\b(?:else|and|or|in|is|as|if|yield|match|throw|return))[ \t\r]*\Z")
_OPERATOR_BELOW = re.compile(rb"\s*+(?:[-+*/%&|=.?:)\]}]|else\b|and\b|or\b|as\b|catch\b|finally\b|with\b|match\b)")


def _expression_end(source: Source, head: Head, position: int) -> int:
    """Where an expression ends: with the line, unless an operator or deeper lines go on."""
    code, pairs = source.code, source.pairs
    column = _column(code, head.start)
    stop = min(position + REACH, len(code))
    while (sign := _EXPRESSION_SIGN.search(code, position, stop)) is not None:
        at, word = sign.start(), sign[0]
        if word in b"({[":
            position = pairs.after(at)
            stop = min(position + REACH, len(code))
            continue
        if word == b"\n":
            following = _NEXT_WORDS.match(code, at, at + REACH)
            if following is None:
                return trimmed(code, head.start, at)
            deeper = len(following[1].expandtabs(4)) > column
            operator = _OPERATOR.search(code, max(at - 12, head.after), at) is not None
            if not (deeper or operator or _OPERATOR_BELOW.match(code, at, at + 200)):
                return trimmed(code, head.start, at)
            position = at + 1
            continue
        return trimmed(code, head.start, at)
    return trimmed(code, head.start, line_end(code, position))


_EXPRESSION_SIGN = re.compile(rb"[({\[\n;)\]}]")
_NEXT_WORDS = re.compile(rb"\n(?:[ \t\r]*+\n)*+([ \t]*+)(?=\S)")


def _semicolon(source: Source, head: Head) -> tuple[int, int]:
    """At the next semicolon outside of brackets."""
    code, pairs = source.code, source.pairs
    position = head.after
    signature_end = line_end(code, position)
    opening = code.find(b"(", position, position + 200)
    if opening >= 0:
        signature_end = (
            min(line_end(code, position), opening)
            if head.kind == "table"
            else min(pairs.after(opening), position + REACH)
        )
    stop = min(position + 4 * REACH, len(code))
    while (sign := _VALUE_SIGN.search(code, position, stop)) is not None:
        if sign[0] == b";":
            return min(signature_end, sign.start()), sign.end()
        position = pairs.after(sign.start()) if sign[0] in b"([{" else sign.end()
        stop = min(max(stop, position + REACH), len(code))
    return signature_end, signature_end


_END: dict[str, Callable[[Source, Head], tuple[int, int]]] = {
    "braces": _braces,
    "lines": _lines,
    "semicolon": _semicolon,
}


def _grouped(source: Source, head: Head) -> list[Found]:
    """What stands between the brackets of Go's `const (`, `var (` and `type (`."""
    code, pairs = source.code, source.pairs
    opener = code.find(b"(", head.start)
    kind = "type" if code.startswith(b"type", head.start) else "constant"
    found = []
    position, close = opener + 1, pairs.after(opener) - 1
    while (line := _GROUP_LINE.match(code, position, close)) is not None:
        low, high = line.span(1)
        if high > low:
            inner = Head(low, code[low:high].decode(errors="replace"), kind, high)
            signature_end, end = _lines(source, inner)
            end = min(max(end, high), close)
            found += [
                Found(low, name.decode(errors="replace"), _go_kind(code, inner), min(signature_end, end), end)
                for name in re.findall(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*", line[0].strip())
            ]
            position = max(line_end(code, end), high)
        else:
            position = line_end(code, max(line.end(), position))
        if position >= close:
            break
        position += 1
    return found


_GROUP_LINE = re.compile(rb"[ \t\r]*+((?:[A-Za-z_\x80-\xff][\w\x80-\xff]*+(?:[ \t]*,[ \t]*(?=\w))?)*+)")


def line_end(code: bytes, position: int) -> int:
    """Where the line ends that holds a byte."""
    newline = code.find(b"\n", position)
    return newline if newline >= 0 else len(code)


def trimmed(code: bytes, start: int, end: int) -> int:
    """Where the words before `end` end."""
    while end > start and code[end - 1] in b" \t\r\n":
        end -= 1
    return end


def _column(code: bytes, position: int) -> int:
    line = code.rfind(b"\n", max(position - 400, 0), position) + 1
    return len(code[line:position].expandtabs(4)) if position - line < 400 else 400

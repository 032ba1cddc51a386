"""Which definitions does JavaScript or TypeScript hold?

A function may follow `function`, a name and `=` or `:`, or be a method `name(…) {`. All of them begin a
line, and code written in one line without end says nothing.
"""

from __future__ import annotations

import re

from brimful.outline.declarations import Found, Source, line_end, trimmed
from brimful.outline.masking import Brackets

_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*+"
_BEFORE = (
    rb"(?:(?:export|default|declare|abstract|async|public|private|protected|static|readonly|override|accessor|get|set)"
    rb"[ \t]++)*+"
)
_DECORATED = rb"(?:@[\w.$]++(?:\([^()\n]*+\))?+[ \t]++)*+"
_VALUE = rb"(?:async[ \t]*+)?(?:(?P<function>function\b)|(?P<arrow>\(|<|" + _NAME + rb"[ \t]*+=>))"
_FUNCTION = re.compile(_VALUE)
_NO_METHOD = (
    rb"(?!(?:if|for|while|switch|catch|with|function|return|typeof|new|await|yield|super|do|else|delete|void|in|of|case"
    rb"|import|throw|instanceof|require|export)(?![\w$\x80-\xff]))"
)
_HEAD = re.compile(
    rb"\n[ \t]*+(?P<head>" + _DECORATED + _BEFORE + rb"(?:"
    rb"(?P<word>function|class|interface|enum|const[ \t]+enum|namespace|module|type)\b[ \t]*+\*?[ \t]*+(?P<name>"
    + _NAME
    + rb"(?:\.\w+)*+)"
    rb"|(?:const|let|var)[ \t]++(?P<variable>" + _NAME + rb")!?(?=[ \t]*+[:=])"
    rb"|(?P<target>\#?" + _NAME + rb"(?:\.[\w$]++)*+)[ \t]*+[?!]?"
    rb"(?P<assigned>(?::[^=(\n]{0,200})?=(?![=>])[ \t]*+(?:\n[ \t]*+)?|:[ \t]*+)" + _VALUE + rb""
    rb"|(?P<star>\*[ \t]*+)?" + _NO_METHOD + rb"(?P<method>\#?" + _NAME + rb"|\[[\w.$\"]+\])[?]?[ \t]*+(?P<open>[(<])"
    rb"))"
)
_KINDS = {
    b"function": "function", b"class": "class", b"interface": "interface", b"enum": "enum", b"namespace": "module",
    b"module": "module", b"type": "type",
}  # fmt: skip
_REACH = 4_000
_BLANKS = re.compile(rb"\s*+")
_PLAIN_VALUE = re.compile(rb"[ \t]*+=(?![=>])\s*+")
_TYPE_SIGN = re.compile(rb"[({\[;\n,)}]|=>|=")


def declared_in_script(source: Source) -> list[Found]:
    """Functions, methods, classes, types and exported or capitalised constants."""
    text = b"\n" + source.code
    is_typed = source.language != "javascript"
    definitions: list[Found] = []
    bodies: list[tuple[int, int]] = []  # of classes and interfaces: their braces
    position = 0
    while (head := _HEAD.search(text, position)) is not None:
        definition = _read(source, head, bodies, is_typed=is_typed)
        if definition is not None:
            definitions.append(definition)
        position = max(head.end("head") - 1, head.start() + 1)
        if definition is None and head["method"] is None and head["variable"] is None:
            position = max(head.start() + 1, text.find(b"\n", head.start() + 1))
            if position < head.start() + 1:
                break
    return definitions


def _read(source: Source, head: re.Match[bytes], bodies: list[tuple[int, int]], *, is_typed: bool) -> Found | None:
    start = head.start("head") - 1
    if head["word"] is not None:
        return _worded(source, head, start, bodies, is_typed=is_typed)
    if head["variable"] is not None:
        return _variable(source, head, start)
    if head["target"] is not None:
        return _assigned(source, head, start, bodies, is_typed=is_typed)
    return _method(source, head, start, bodies, is_typed=is_typed)


def _worded(
    source: Source, head: re.Match[bytes], start: int, bodies: list[tuple[int, int]], *, is_typed: bool
) -> Found | None:
    code, pairs = source.code, source.pairs
    word, after = head["word"].split()[-1], head.end("name") - 1
    name = head["name"].decode(errors="replace")
    kind = _KINDS[word]
    if word == b"function":
        body = _body_of(code, pairs, after)
        if body is None:
            return Found(start, name, kind, *_signed(code, pairs, after)) if is_typed else None
        return Found(start, name, kind, trimmed(code, 0, body), pairs.after(body))
    if word == b"type":
        if not is_typed or not re.match(rb"[ \t]*(?:<|=)", code[after : after + 20]):
            return None
        return Found(start, name, kind, after, _value_end(code, pairs, after))
    if not is_typed and word in (b"interface", b"enum", b"namespace", b"module"):
        return None
    opener = code.find(b"{", after, after + _REACH)
    if opener < 0:
        return None
    if word in (b"class", b"interface"):
        opener = _class_brace(code, pairs, after)
        if opener < 0:
            return None
        bodies.append((opener, pairs.after(opener)))
    return Found(start, name, kind, trimmed(code, 0, opener), pairs.after(opener))


_CLASS_SIGN = re.compile(rb"[<>({;]")


def _class_brace(code: bytes, pairs: Brackets, position: int) -> int:
    """The brace of a class, after type arguments that may hold braces too."""
    depth, stop = 0, position + _REACH
    while (sign := _CLASS_SIGN.search(code, position, stop)) is not None:
        word, position = sign[0], sign.end()
        if word == b"(":
            position = pairs.after(sign.start())
            stop = position + _REACH
        elif word == b"{" and depth:
            position = pairs.after(sign.start())
        elif word == b"<":
            depth += 1
        elif word == b">" and code[sign.start() - 1 : sign.start()] != b"=":
            depth = max(depth - 1, 0)
        elif word == b"{" and not depth:
            return sign.start()
        elif word == b";" and not depth:
            return -1
    return code.find(b"{", position, stop)


def _variable(source: Source, head: re.Match[bytes], start: int) -> Found | None:
    """A variable that holds a function, or a constant of the module that is exported or written in capitals."""
    code, pairs = source.code, source.pairs
    name, after = head["variable"].decode(errors="replace"), head.end("variable") - 1
    plain = _PLAIN_VALUE.match(code, after)
    value = plain.end() if plain is not None else _value_start(code, pairs, after)
    if value is None:
        return None
    function = _FUNCTION.match(code, value)
    if function is not None and (definition := _function(source, start, name, function)) is not None:
        return definition
    is_named = code.startswith(b"export", start) or (name.isupper() and len(name) > 1)
    if not is_named or (start and code[start - 1] != 10) or b"const" not in head["head"].split():
        return None
    return Found(start, name, "constant", after, _value_end(code, pairs, value))


def _value_start(code: bytes, pairs: Brackets, position: int) -> int | None:
    """The start of the value after the `=` of a declaration, which may have a type in front."""
    first, stop = position, position + _REACH
    while (sign := _TYPE_SIGN.search(code, position, stop)) is not None:
        word, place = sign[0], sign.start()
        if word == b"=" and _angles_open(code, max(first, place - _REACH), place):
            position = sign.end()
        elif word == b"=":
            return _behind_blanks(code, place + 1)
        if word in b"({[":
            position = pairs.after(place)
            stop = position + _REACH
        elif word in (b"=>", b",") or (
            word == b"\n"
            and (_OPERATOR.search(code, max(place - 16, 0), place) or _OPERATOR_BELOW.match(code, place, place + 200))
        ):
            position = sign.end()
        else:
            return None
    return None


def _function(source: Source, start: int, name: str, value: re.Match[bytes]) -> Found | None:
    """A function that is a value, unless it is called at once; of an arrow function the value may be an expression."""
    code, pairs = source.code, source.pairs
    if value["function"] is not None:
        body = _body_of(code, pairs, value.end("function"))
        if body is None or code[pairs.after(body) : pairs.after(body) + 1] == b"(":
            return None
        return Found(start, name, "function", trimmed(code, 0, body), pairs.after(body))
    arrow = _arrow_of(code, pairs, value.start("arrow"))
    if arrow is None:
        return None
    value_start = _behind_blanks(code, arrow)
    if code[value_start : value_start + 1] == b"{":
        return Found(start, name, "function", trimmed(code, 0, value_start), pairs.after(value_start))
    return Found(start, name, "function", arrow, _value_end(code, pairs, value_start))


def _assigned(
    source: Source, head: re.Match[bytes], start: int, bodies: list[tuple[int, int]], *, is_typed: bool
) -> Found | None:
    """`exports.f = function`, `f: async (x) => …`, and the field of a class."""
    code = source.code
    name = head["target"].rpartition(b".")[2].decode(errors="replace")
    if head["target"] in (b"return", b"case", b"default", b"else"):
        return None
    value = _FUNCTION.match(code, head.end("assigned") - 1)
    definition = _function(source, start, name, value) if value is not None else None
    if definition is not None and is_typed and head["assigned"][:1] == b":" and b"=" not in head["assigned"]:
        around = source.pairs.around(start)
        if around is None or code[around] != 123 or _directly_in(source.pairs, bodies, start):
            return None
        if value is not None and value["arrow"] is not None and not _is_entry(code, definition.end):
            return None  # a type, not a value
    return definition


def _is_entry(code: bytes, end: int) -> bool:
    """Is this followed by what follows the entry of an object?"""
    following = _behind_blanks(code, end)
    return code[following : following + 1] in (b",", b"}") and code[end - 1 : end] != b";"


def _arrow_of(code: bytes, pairs: Brackets, position: int) -> int | None:
    """The end of the `=>` of an arrow function that begins here."""
    if code[position : position + 1] == b"<":
        position = _behind_angles(code, position)
        if position < 0:
            return None
    if code[position : position + 1] == b"(":
        position = pairs.after(position)
        plain = re.compile(rb"\s*+=>").match(code, position)
        if plain is not None:
            return plain.end()
        if not re.compile(rb"\s*+:").match(code, position):
            return None
        return _return_type(code, pairs, position, until=b"=>")
    plain = re.compile(_NAME + rb"[ \t]*+=>").match(code, position)
    return plain.end() if plain is not None else None


def _behind_angles(code: bytes, position: int) -> int:
    depth = 0
    for sign in re.compile(rb"[<>;]").finditer(code, position, position + _REACH):
        if sign[0] == b"<":
            depth += 1
        elif sign[0] == b";":
            return -1
        elif code[sign.start() - 1 : sign.start()] != b"=":
            depth -= 1
            if not depth:
                return _behind_blanks(code, sign.end())
    return -1


def _return_type(code: bytes, pairs: Brackets, position: int, *, until: bytes) -> int | None:
    """Read `: type` and what it ends with: the end of `=>`, or the brace of a body."""
    stop = position + _REACH
    place = _behind_blanks(code, position + 1 + (code[position : position + 1] != b":"))
    is_value = True  # is a type wanted here, so that a brace is part of it?
    position = code.find(b":", position, position + 200) + 1
    while (sign := _TYPE_SIGN.search(code, position, stop)) is not None:
        word, offset = sign[0], sign.start()
        words = code[position:offset].strip()
        if words:
            is_value = words[-1:] in b"|&:<,?" or words.endswith((b" is", b"extends", b"keyof"))
        if word == b"{":
            if not is_value and until == b"{":
                return offset
            if not is_value:
                return None
            position, is_value = pairs.after(offset), False
        elif word in b"([":
            position, is_value = pairs.after(offset), False
        elif word == b"=>":
            if until == b"=>" and not _is_function_type(code, offset, place):
                return sign.end()
            position, is_value = sign.end(), True
        elif word in (b"\n", b","):
            position = sign.end()
            if word == b"\n" and not is_value and not re.compile(rb"\s*+[|&{=>.]").match(code, position):
                return None
            is_value = is_value or word == b","
        else:
            return None
        stop = max(stop, position + 400)
    return None


def _is_function_type(code: bytes, arrow: int, first: int) -> bool:
    """Is this `=>` the one inside of a type such as `(x: T) => void`?"""
    return code[first : first + 1] == b"(" and code[first:arrow].count(b"=>") == 0


def _body_of(code: bytes, pairs: Brackets, position: int) -> int | None:
    """The brace of a function's body, after its parameters and their type."""
    opening = code.find(b"(", position, position + _REACH)
    if opening < 0:
        return None
    return _brace_after(code, pairs, pairs.after(opening))


def _brace_after(code: bytes, pairs: Brackets, position: int) -> int | None:
    body = _behind_blanks(code, position)
    if code[body : body + 1] == b"{":
        return body
    if code[body : body + 1] == b":":
        return _return_type(code, pairs, body, until=b"{")
    return None


def _method(
    source: Source, head: re.Match[bytes], start: int, bodies: list[tuple[int, int]], *, is_typed: bool
) -> Found | None:
    code, pairs = source.code, source.pairs
    name = head["method"]
    opening = head.start("open") - 1
    if head["open"] == b"<":
        opening = _behind_angles(code, opening)
        if opening < 0 or code[opening : opening + 1] != b"(":
            return None
    close = pairs.close_of(opening)
    if close is None:
        return None
    words = name.decode(errors="replace").strip("[]")
    body = _brace_after(code, pairs, close + 1)
    if body is not None:
        return Found(start, words, "function", trimmed(code, 0, body), pairs.after(body))
    if (
        is_typed
        and _directly_in(pairs, bodies, start)
        and re.compile(rb"[ \t]*+(?:[:;,\r\n]|\Z)").match(code, close + 1)
    ):
        return Found(start, words, "function", *_signed(code, pairs, opening))
    return None


def _directly_in(pairs: Brackets, bodies: list[tuple[int, int]], position: int) -> bool:
    """Is the innermost bracket around this byte the brace of a class?"""
    around = pairs.around(position)
    return around is not None and any(opener == around for opener, _ in reversed(bodies[-64:]))


def _signed(code: bytes, pairs: Brackets, position: int) -> tuple[int, int]:
    """The end of a signature without a body, as signature end and definition end."""
    opening = code.find(b"(", position, position + _REACH)
    if opening < 0:
        end = line_end(code, position)
        return end, end
    end = _value_end(code, pairs, pairs.after(opening))
    return end, end


_VALUE_SIGN = re.compile(rb"[({\[;\n,)\]}]")
_OPERATOR = re.compile(
    rb"(?:[-+*/%&|=<,.?:!~^]|\b(?:extends|keyof|typeof|new|await|in|of|instanceof|return))[ \t\r]*\Z"
)
_OPERATOR_BELOW = re.compile(rb"\s*+(?:[-+*/%&|=<>.?:)]|extends\b|in\b|instanceof\b)(?!\*)")


def _value_end(code: bytes, pairs: Brackets, position: int) -> int:
    """The end of a value or type: its semicolon, or a line that the next one does not continue."""
    start, stop = position, min(position + _REACH, len(code))
    while (sign := _VALUE_SIGN.search(code, position, stop)) is not None:
        word, place = sign[0], sign.start()
        if word in b"({[":
            position = pairs.after(place)
            stop = min(position + _REACH, len(code))
        elif word == b";":
            return sign.end()
        elif word == b"\n":
            if not _OPERATOR.search(code, max(place - 16, start), place) and not _OPERATOR_BELOW.match(
                code, place, place + 400
            ):
                return max(trimmed(code, 0, place), start)
            position = place + 1
        elif word == b",":
            if _angles_open(code, max(start, place - _REACH), place):
                position = place + 1
                continue
            return place
        else:
            return max(trimmed(code, 0, place), start)
    return min(stop, len(code))


def _angles_open(code: bytes, start: int, end: int) -> bool:
    return code.count(b"<", start, end) > code.count(b">", start, end) - code.count(b"=>", start, end)


def _behind_blanks(code: bytes, position: int) -> int:
    return _BLANKS.match(code, position).end()  # type: ignore[union-attr]  # it always matches

"""Which definitions does a source of the C family hold? C, C++, Java, C#, Dart, Objective-C.

Their functions have no word of their own, so statements are read: what stands between semicolons and braces, at the
level of the file and of the namespaces and classes in it. The body of a function is skipped at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from brimful.outline.declarations import NAME, Found, Source

_LONGEST_HEAD = 16_000  # bytes of a statement that are read
_DEEPEST = 12  # brackets in brackets
_MOST_INNER = 100  # braces in a head
_SIGNS = re.compile(rb"[;{}]")
_ROUND = re.compile(rb"\([^()]*+\)")
_ANGLE = re.compile(rb"(?<=[\w\s:>\x05,])<[^<>;(){}]*+>")
_ATTRIBUTE = re.compile(rb"\[[^\[\]]*+\]")
_TYPE = {
    "java": rb"class|interface|enum|record|@interface",
    "csharp": rb"class|interface|enum|struct|record(?:\s+(?:struct|class))?|namespace",
    "dart": rb"class|mixin(?:\s+class)?|extension(?:\s+type)?|enum",
}
_C_TYPE = rb"class|struct|union|enum(?:\s+(?:class|struct))?|namespace"
# What a statement without a brace must hold to declare something.
_DECLARING = {
    "java": re.compile(rb"[(=]"), "csharp": re.compile(rb"[(=]|namespace"), "dart": re.compile(rb"[(=]"),
}  # fmt: skip
_DECLARING_IN_C = re.compile(rb"\(|typedef|using")
_KINDS = {
    b"class": "class", b"interface": "interface", b"@interface": "interface", b"enum": "enum", b"struct": "struct",
    b"union": "struct", b"record": "class", b"namespace": "module", b"mixin": "class", b"extension": "extension",
}  # fmt: skip
_NOT_NAMES = frozenset(
    b"if for while switch catch return sizeof new throw else do try synchronized using foreach typeof "
    b"nameof __attribute__ __declspec __asm__ asm alignas alignof decltype noexcept requires throws "
    b"defined static_assert _Static_assert case goto await assert super this base explicit operator".split()
)
_BEGINNING = rb"[A-Za-z_~\x80-\xff](?<![\w\x80-\xff][A-Za-z_~\x80-\xff])"  # never the middle of a word
_CALL = re.compile(
    rb"(?=" + _BEGINNING + rb")"
    rb"(?P<name>(?:operator[ \t]*+(?:[\x02\x03]\x01*+|[^\s\w\x02\x03]++|\w[\w\s*&:]{0,200}+)|~?[ \t]*+" + NAME + rb"))"
    rb"\s*+(?:\x05++)?\s*+(?P<list>\x02\x01*+)(?!\s*+\x02)"
)
_IN_WORDS = frozenset(b".0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORD = re.compile(NAME)
_REMARK = re.compile(rb"/\*(?:[^*]++|\*(?!/))*+\*/|//[^\n]*+")
_FUNCTION_TYPE = re.compile(rb"\(\s*+(?:\w+\s+)?[*^&]++\s*+(" + NAME + rb")|\(\s*+(" + NAME + rb")\s*+\)\s*+\(")
_DEFINE = re.compile(rb"\#[ \t]*define[ \t]+(" + NAME + rb")(?P<args>\([^)\n]*+\))?+(?P<value>.*)", re.DOTALL)


class _Scope(NamedTuple):
    close: int
    kind: str  # of what is around: "", class, enum, module
    name: str


def declared_in_statements(
    source: Source, directives: tuple[list[int], list[int]], *, several_lines: bool
) -> list[Found]:
    """The definitions at the level of a file and its classes, with the macros of the preprocessor.

    For `several_lines`, declarations and macros of a single line are left out; nothing else begins in one.
    """
    return [
        *_Reader(source, several_lines=several_lines).read(),
        *_macros(source.content, directives, several_lines=several_lines),
    ]


def _macros(content: bytes, directives: tuple[list[int], list[int]], *, several_lines: bool) -> Iterator[Found]:
    for start, stop in zip(*directives, strict=True):
        if several_lines and content.find(b"\n", start, stop) < 0:
            continue
        macro = _DEFINE.match(content, start, stop)
        if macro is not None and (macro["args"] or _REMARK.sub(b"", macro["value"]).strip()):
            head = macro.end(2) if macro["args"] else macro.end(1)
            name, filled = macro[1].decode(errors="replace"), len(content[start:stop].rstrip())
            yield Found(start, name, "macro", head, start + filled)


class _Reader:
    """A walk over the statements of a source, from brace to brace."""

    def __init__(self, source: Source, *, several_lines: bool) -> None:
        self.found: list[Found] = []
        self._code, self._pairs, self._language = source.code, source.pairs, source.language
        self._content, self._several_lines = source.content, several_lines
        words = _TYPE.get(source.language, _C_TYPE)
        self._type = re.compile(rb"(" + words + rb")(?![\w.])")
        self._wanted = _DECLARING.get(source.language, _DECLARING_IN_C)
        self._inner = (-1, 0)  # where a statement begins, and how many braces were passed inside of it
        self._is_c = source.language not in _TYPE

    def read(self) -> list[Found]:
        """The definitions, in order."""
        scopes: list[_Scope] = []
        code = self._code
        outside = _Scope(len(code), "", "")
        position = begin = 0
        while (found := _SIGNS.search(code, position)) is not None:
            place, sign = found.start(), found[0]
            while scopes and place > scopes[-1].close:
                scopes.pop()
            scope = scopes[-1] if scopes else outside
            if sign == b"{":
                position, begin = self._brace(begin, place, scopes, scope)
                continue
            if sign == b";" and scope.kind == "enum":  # its constants end here
                scopes[-1] = _Scope(scope.close, "class", scope.name)
            elif sign == b";":
                self._declaration(begin, place, scope)
            position = begin = place + 1
        return self.found

    def _brace(self, begin: int, place: int, scopes: list[_Scope], scope: _Scope) -> tuple[int, int]:
        """What does this brace open? Where to go on, and where the statement begins that comes then."""
        after = self._pairs.after(place)
        if scope.kind == "enum":
            return after, begin  # the constant of an enumeration
        head = self._head(begin, place)
        if head.kind == "value":
            return self._after_value(after), begin
        if head.kind == "inner":
            return self._after_inner(begin, place, after), begin
        if head.kind == "scope":  # extern "C"
            return place + 1, place + 1
        if head.kind == "block":
            return after, after
        if head.kind == "function":
            if self._is_c and self._code.endswith(b"try", head.start, head.end):
                after = self._after_catches(after)
            self._add(head, after)
        elif head.name:
            self._add(head, self._typedef(head, after) if head.is_typedef else self._type_end(after))
        elif head.is_typedef:
            self._typedef(head, after)
        if head.kind in ("function", "property") or (self._is_c and head.kind == "enum"):
            return after, after
        kind = "enum" if head.kind == "enum" else "class" if head.kind != "module" else ""
        scopes.append(_Scope(after, kind, head.name))
        return place + 1, place + 1

    def _after_catches(self, after: int) -> int:
        """Behind the handlers of a function whose whole body is tried."""
        while (found := _CATCH.match(self._code, after)) is not None:
            brace = self._code.find(b"{", self._pairs.after(found.end()), self._pairs.after(found.end()) + 80)
            if brace < 0:
                break
            after = self._pairs.after(brace)
        return after

    def _after_value(self, position: int) -> int:
        """Go on at the semicolon or brace that ends an expression."""
        while (sign := _SIGNS.search(self._code, position)) is not None and sign[0] == b"{":
            position = self._pairs.after(sign.start())
        return position

    def _after_inner(self, begin: int, place: int, after: int) -> int:
        """Go on behind a brace that is part of a head: in brackets, or `member{value}`."""
        around = self._pairs.around(place)
        if around is not None and around > begin and self._code[around] == 40:
            after = self._pairs.after(around)
        self._inner = (begin, self._inner[1] + 1 if self._inner[0] == begin else 1)
        return self._after_value(after) if self._inner[1] > _MOST_INNER else after

    def _type_end(self, after: int) -> int:
        """A type of C ends with a semicolon."""
        if self._is_c and self._code[after : after + 1] == b";":
            return after + 1
        return after

    def _typedef(self, head: _Head, after: int) -> int:
        """`typedef struct … {…} Name;`: a type of its own."""
        stop = self._code.find(b";", after, after + 200)
        if stop < 0:
            return after
        names = _WORD.findall(self._code, after, stop)
        if names:
            name = names[0].decode(errors="replace")
            if name != head.name:
                self.found.append(Found(head.start, name, "type", head.end, stop + 1))
        return after

    def _add(self, head: _Head, end: int) -> None:
        self.found.append(Found(head.start, head.name, head.kind, head.end, end, head.owner))

    def _head(self, begin: int, end: int) -> _Head:
        """Read a statement that a brace follows."""
        low = max(begin, end - _LONGEST_HEAD)
        start, words = _started(self._code[low:end], low)
        finish = start + len(words)
        if not words:
            return _Head(start, finish, "", "block")
        if (name := self._plain_function(words)) is not None:
            return _Head(start, finish, name, "function")
        flat = _flattened(words, square=self._language != "dart")
        if flat is None:
            return _Head(start, finish, "", "inner")
        name, kind = self._classified(flat)
        owner = _owner(flat, name) if self._is_c and kind == "function" else ""
        return _Head(start, finish, name, kind, is_typedef=flat.startswith(b"typedef"), owner=owner)

    def _plain_function(self, words: bytes) -> str | None:
        """The name of a function whose head is names and one list of parameters, as most are."""
        plain = _PLAIN_FUNCTION.match(words) if words.endswith(b")") else None
        if plain is None or plain[1] in _NOT_NAMES or self._type.search(words, 0, plain.end(1)) is not None:
            return None
        before = words[: plain.end(1)]
        if b"return" in before or b"operator" in before or before.startswith(b"typedef"):
            return None
        return plain[1].decode(errors="replace")

    def _classified(self, flat: bytes) -> tuple[str, str]:
        """Name and kind of what a statement with a brace behind it defines.

        Kinds of their own: a block, the brace of a value, a brace inside of the head, a scope without a name.
        """
        if self._language == "csharp" and (where := _WHERE.search(flat)) is not None:
            flat = flat[: where.start()].rstrip()
        found = self._type_word(flat)
        calls = [call for call in _CALL.finditer(flat) if call["name"].strip(b"~ \t") not in _NOT_NAMES]
        if found is not None and (not calls or self._is_type(flat, found, calls)):
            if flat.endswith(b"=") or b"=" in flat[: found.start()].replace(b"==", b""):
                return "", "value"
            return self._type_name(flat, found), _KINDS[found[1].split()[0]]
        if (b"=" in flat or b"return" in flat or flat.endswith(b",")) and _VALUE.search(flat):
            return "", "value"
        if calls:
            return self._called(flat, calls)
        if self._is_c and re.match(rb'extern\s+"+\s*$', flat):
            return "", "scope"
        if self._language == "csharp":
            return self._property(flat)
        return "", "block"

    def _type_word(self, flat: bytes) -> re.Match[bytes] | None:
        """The first word that defines a type and is not the end of a longer one."""
        for found in self._type.finditer(flat):
            if not found.start() or flat[found.start() - 1] not in _IN_WORDS:
                return found
        return None

    def _is_type(self, flat: bytes, found: re.Match[bytes], calls: list[re.Match[bytes]]) -> bool:
        """With a list of arguments in the statement: is it still a type? A record, a base that is called, a macro."""
        word = found[1]
        if not self._is_c:
            before = calls[0].start() < found.start()
            return before or word.startswith(b"record") or b":" in flat or word in (b"class", b"enum", b"extension")
        colon = _SINGLE_COLON.search(flat, found.end())
        first = calls[-1].start()
        if first < found.start():
            return True  # a macro in front
        if colon is not None and colon.start() < first:
            return True
        return (
            b"\x02" in flat[found.end() : found.end() + 40]
            and flat[calls[-1].end() :].strip() != b""
            and (
                re.fullmatch(
                    rb"\s*(?:" + NAME + rb")(?:\s+final)?\s*(?:(?<!:):(?!:).*)?", flat[calls[-1].end() :], re.DOTALL
                )
                is not None
                and calls[-1].start() <= found.end() + 2
            )
        )

    def _type_name(self, flat: bytes, found: re.Match[bytes]) -> str:
        rest = flat[found.end() :]
        if not self._is_c:
            if found[1] == b"namespace":
                return rest.strip().decode(errors="replace")
            name = _WORD.search(rest)
            if name is None or (found[1].startswith(b"extension") and name[0] == b"on"):
                return ""
            return name[0].decode(errors="replace")
        colon = _SINGLE_COLON.search(rest)
        rest = rest[: colon.start()] if colon is not None else rest
        if found[1] == b"namespace":
            return b"".join(rest.replace(b"inline ", b"").split()).decode(errors="replace")
        rest = re.sub(rb"\x02\x01*|\x05+", b" ", rest)
        names = [word for word in re.findall(rb"(?:" + NAME + rb"\s*::\s*)*" + NAME, rest) if word != b"final"]
        return names[-1].rpartition(b"::")[2].decode(errors="replace") if names else ""

    def _called(self, flat: bytes, calls: list[re.Match[bytes]]) -> tuple[str, str]:
        """A function: the name before its list of parameters."""
        first = calls[0]
        colon = _SINGLE_COLON.search(flat, first.end()) if b":" in flat else None
        if colon is not None and self._language != "java":
            calls = [call for call in calls if call.start() < colon.start()]
            if self._is_c and re.search(rb"[\w>\x05]\s*\Z", flat) and not _QUALIFIER.search(flat):
                return "", "inner"  # the brace of `: member{value}`
        arrow = flat.find(b"->")
        if self._is_c and arrow >= 0:
            calls = [call for call in calls if call.start() < arrow] or calls
        call = calls[-1] if not self._is_c else _parameters_of(flat, calls)
        name = call["name"]
        if name.startswith(b"operator"):
            name = re.sub(rb"\x03\x01*+", b"[]", re.sub(rb"\x02\x01*+", b"()", name))
        return b"".join(name.split()).decode(errors="replace"), "function"

    def _property(self, flat: bytes) -> tuple[str, str]:
        if re.search(rb"\bthis\s*\x03", flat):  # an indexer
            return "this", "property"
        words = _WORD.findall(re.sub(rb"\x05+", b" ", flat))
        if len(words) >= 2 and words[-1] not in _NOT_NAMES and re.search(rb"\w\s*\Z", flat):
            return words[-1].decode(errors="replace"), "property"
        return "", "block"

    def _declaration(self, begin: int, end: int, scope: _Scope) -> None:
        """A statement that a semicolon ends: a prototype, an abstract method, a type's other name, a constant."""
        code = self._code
        if end - begin > _LONGEST_HEAD:
            return
        if self._several_lines:
            first = end - len(code[begin:end].lstrip())
            if self._content.find(b"\n", first, end) < 0:
                return
        if self._wanted.search(code, begin, end) is None:
            return
        text = code[begin:end]
        start, words = _started(text, begin)
        if not words or words[:1] in b"=,)]}":
            return
        flat = _flattened(words, square=self._language != "dart")
        if flat is None:
            return
        named = self._declared(flat, words, scope)
        if named is not None:
            name, kind = named
            self.found.append(Found(start, name, kind, start + len(words), end + 1))

    def _declared(self, flat: bytes, words: bytes, scope: _Scope) -> tuple[str, str] | None:
        if self._is_c:
            if flat.startswith(b"typedef"):
                if b"{" in flat:
                    return None
                pointer = _FUNCTION_TYPE.search(words)
                found = pointer or re.search(rb"(" + NAME + rb")\s*(?:\x03\x01*\s*|\x02\x01*\s*)*\Z", flat)
                return (found[found.lastindex or 1].decode(errors="replace"), "type") if found is not None else None
            using = re.match(rb"(?:template\s*\x05+\s*)?using\s+(" + NAME + rb")\s*(?:\x03\x01*\s*)?=", flat)
            if using is not None:
                return using[1].decode(errors="replace"), "type"
        elif scope.kind in ("class", ""):
            constant = self._constant(flat)
            if constant is not None:
                return constant, "constant"
        if self._language == "csharp" and (name := re.match(rb"\s*(?:file\s+)?namespace\s+([\w.]+)\s*\Z", flat)):
            return name[1].decode(errors="replace"), "module"
        if re.match(rb"(?:import|package|using|return|throw|goto|friend\s+class|extern\s+template)\b", flat):
            return None
        return self._prototype(flat, scope)

    def _constant(self, flat: bytes) -> str | None:
        left, sign, _ = flat.partition(b"=")
        if not sign or b"\x02" in re.sub(rb"@[\w.]+\s*\x02\x01*", b"", left):
            return None
        before = set(_WORD.findall(left))
        wanted = {"java": (b"static", b"final"), "csharp": (b"const",)}.get(self._language, (b"const",))
        if not all(word in before for word in wanted):
            return None
        names = _WORD.findall(left)
        return names[-1].decode(errors="replace") if len(names) > 1 else None

    def _prototype(self, flat: bytes, scope: _Scope) -> tuple[str, str] | None:
        """`int f(int);` at the level of a file or class: with a type in front, and nothing but qualifiers behind."""
        arrow = flat.find(b"=>")
        if not self._is_c and arrow >= 0:
            return self._arrow(flat[:arrow].rstrip())
        flat = re.sub(rb"=\s*(?:0|default|delete)\s*\Z", b"", flat)
        if b"=" in re.sub(rb"operator\s*[=!<>+*/%&|^-]+", b"", flat):
            return None
        calls = [call for call in _CALL.finditer(flat) if call["name"].strip(b"~ \t") not in _NOT_NAMES]
        if not calls:
            return None
        name, kind = self._called(flat, calls)
        if kind != "function":
            return None
        own = next((call for call in reversed(calls) if call["name"].strip() == name.encode()), calls[0])
        before = flat[: own.start()].rstrip()
        is_own = scope.name and name.strip("~") == scope.name
        if not (before and _AFTER_TYPE.search(before)) and not is_own and not name.startswith("operator"):
            return None
        if self._language == "csharp" and b"delegate" in flat.split(b"\x02")[0]:
            return name, "type"
        if not self._is_c and scope.kind == "":
            return None
        return name, "function"

    def _arrow(self, flat: bytes) -> tuple[str, str] | None:
        """`int F(int n) => …;` and `int P => …;`."""
        if b"=" in re.sub(rb"operator\s*[=!<>]+", b"", flat):
            return None
        calls = [call for call in _CALL.finditer(flat) if call["name"].strip(b"~ \t") not in _NOT_NAMES]
        if calls:
            return self._called(flat, calls)
        if self._language != "csharp":
            found = re.search(rb"\bget\s+(" + NAME + rb")\s*\Z", flat)
            return (found[1].decode(errors="replace"), "function") if found is not None else None
        name, kind = self._property(flat)
        return (name, kind) if name else None


class _Head(NamedTuple):
    start: int
    end: int
    name: str
    kind: str
    is_typedef: bool = False
    owner: str = ""


_PLAIN_FUNCTION = re.compile(rb"[\w\s*&\x80-\xff]*(?<![\w\x80-\xff])(" + NAME + rb")\s*+\([^()]*+\)\Z")
_VALUE = re.compile(rb"(?<![=!<>+*/%&|^-])(?<!operator)(?<!operator )=(?![=>])|=>|\breturn\b|,\s*\Z")
_AFTER_TYPE = re.compile(rb"[\w*&>\x01\x05\]]\Z")
_CATCH = re.compile(rb"\s*+catch\s*+(?=\()")
_WHERE = re.compile(rb"\bwhere\s+\w+\s*:")
_SINGLE_COLON = re.compile(rb"(?<!:):(?!:)")
_QUALIFIER = re.compile(rb"\b(?:const|override|final|noexcept|volatile|try|mutable)\s*\Z")
_LABEL = re.compile(
    rb"\s*(?:(?:public|private|protected|signals|public\s+slots|private\s+slots|default|Q_SIGNALS)\s*:(?!:)\s*)+"
)


def _started(text: bytes, low: int) -> tuple[int, bytes]:
    """Where the words of a statement begin, without a label such as `public:` in front, and the words."""
    label = _LABEL.match(text) if b":" in text else None
    skipped = label.end() if label is not None else 0
    rest = text[skipped:]
    words = rest.lstrip()
    return low + skipped + len(rest) - len(words), words.rstrip()


def _flattened(words: bytes, *, square: bool) -> bytes | None:
    r"""What stands in brackets is written as signs, so that only the outermost level is read.

    Round brackets become \x02 and \x01, square ones \x03, angles \x05. None if a round bracket is not closed.
    """
    flat = words
    for _ in range(_DEEPEST):
        if b"(" not in flat:
            break
        flat = _ROUND.sub(_round, flat)
    if b"(" in flat or b")" in flat:
        return None
    if b"[" in flat and square:
        flat = _replaced(_ATTRIBUTE, _square, flat, most=3)
    if b"<" in flat:
        flat = _replaced(_ANGLE, _angle, flat, most=5)
    return flat


def _replaced(
    brackets: re.Pattern[bytes], sign: Callable[[re.Match[bytes]], bytes], flat: bytes, *, most: int
) -> bytes:
    """With the innermost brackets written as signs, and then those around them, so many times at most."""
    for _ in range(most):
        flat, count = brackets.subn(sign, flat)
        if not count:
            break
    return flat


def _round(found: re.Match[bytes]) -> bytes:
    return b"\x02" + b"\x01" * (found.end() - found.start() - 1)


def _square(found: re.Match[bytes]) -> bytes:
    return b"\x03" + b"\x01" * (found.end() - found.start() - 1)


def _angle(found: re.Match[bytes]) -> bytes:
    return b"\x05" * (found.end() - found.start())


def _parameters_of(flat: bytes, calls: list[re.Match[bytes]]) -> re.Match[bytes]:
    """Of several lists in the head of a C function the parameters: the last that only qualifiers or macros follow."""
    for call in reversed(calls):
        before = flat[: call.start()].rstrip()
        if not before or before[-1:] not in b"\x01\x02" or call is calls[0]:
            return call
        if not re.search(rb"(?:\x02\x01*)\Z", before):
            return call
    return calls[0]


_OWNER = re.compile(rb"((?:" + NAME + rb"\s*\x05*\s*::\s*)+)\Z")


def _owner(flat: bytes, name: str) -> str:
    """The class before the name of a function that is defined outside of it."""
    if b"::" not in flat:
        return ""
    at = flat.rfind(name.encode(), 0, max(flat.find(b"\x02"), 0))
    found = _OWNER.search(flat, max(at - 400, 0), at) if at > 0 else None
    return re.sub(rb"[\s\x05]+", b"", found[1]).removesuffix(b"::").decode(errors="replace") if found else ""

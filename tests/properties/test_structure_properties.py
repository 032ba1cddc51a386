"""What holds of the structure of any bytes, read by any rules."""

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brimful.outline.layout import nested_blocks
from brimful.outline.structures import read_definitions, structure
from tests.outline.test_definitions_by_rules import SOURCES
from tests.properties.growth import growth, seconds

PROSE = [
    ("markdown", "a.md"), ("rst", "a.rst"), ("html", "a.html"), ("text", "a.txt"), ("text", "a.adoc"),
    ("text", "a.org"), ("text", "a.tex"), ("text", "a.1"), ("text", "a.wiki"), ("text", "a.eml"),
]  # fmt: skip
DATA = ["csv", "tsv", "json", "jsonl", "log", "yaml", "toml", "xml", "ini", None]
RULES = [
    *(("code", language, "") for language in SOURCES),
    *(("prose", language, path) for language, path in PROSE),
    *(("data", language, "") for language in DATA),
]
PIECES = st.sampled_from(
    (
        "def f(x): class A { } ( ) [ ] ; = => -> < > , : :: \n \r\n \t    'a' \" ''' \"\"\" ` // /* */ # #| "
        "|# -- --[[ ]] {- -} (* *) <<EOF EOF $$ end do fn func function struct enum impl for interface type "
        "const let var export static public @a #[b] #define X \\ * ** == === ---- .... | |- + > 1. - ``` ~~~ "
        ".. code-block:: \\section{ \\begin{verbatim} .SH <h1> </h1> <ul> </ul> <pre> Ada: From: Date: é 漢 😀 "
        "(define (defun CREATE TABLE t module begin"
    ).split(" ")
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=60).map(" ".join).map(str.encode)


C_PIECES = st.sampled_from(
    (
        "int f(int a); int g(int a,\n b); struct A { }; enum B { x, y } typedef struct C { int z; } D; class E : F { "
        'public: ~E(); } namespace N { extern "C" { } { ( ) [ ] ; = , \n \n\n // doc\n /* doc */ #define A\\\n1\n '
        "#define B(x) x\n #if 0\n #else\n #endif\n int a[] = {1}; 'c' \" template<class T> operator()(int) try catch "
        "(...) return const"
    ).split(" ")
)


PYTHON_PIECES = st.sampled_from(
    (
        "def f(x):\n|class A:\n|@b\n|async def g(x=[1],\n y={}):\n|return 1\n|X = 1\n|Y = (\n|)|(|[|]|}|'''|# doc\n"
        "|\n|\n\n|\n\t|\n\f|'|:|;|=|if a:\n|pass\n| |  "
    ).split("|")
)
SOURCES = st.one_of(
    st.tuples(st.sampled_from(("c", "cpp", "java", "csharp", "dart")), st.lists(C_PIECES, max_size=80).map(" ".join)),
    st.tuples(st.just("python"), st.lists(PYTHON_PIECES, max_size=80).map("".join)),
)


@settings(max_examples=300, deadline=None)
@given(SOURCES)
@example(("python", "def e(]\n ,\n):"))
def test_blocks_need_no_declarations_of_a_single_line(source):
    """Where declarations and macros of a single line are passed over, blocks are what they are otherwise."""
    language, content = source[0], source[1].encode()
    few, all_of_them = (read_definitions(content, language, several_lines=few) for few in (True, False))
    found, wanted = nested_blocks(content, few), nested_blocks(content, all_of_them)
    assert [found[at] for at in range(len(found.starts))] == [wanted[at] for at in range(len(wanted.starts))]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(RULES), TEXTS | st.binary(max_size=200))
def test_every_span_lies_in_the_text_and_every_child_in_its_parent(rule, content):
    """Any bytes are accepted; spans are in order and on code point boundaries; parents contain their children."""
    kind, language, path = rule
    found = structure(content, kind=kind, language=language, path=path)
    spans = [(each.start, each.end) for group in (found.headings, found.passages, found.records) for each in group]
    spans += [each.lead for each in found.passages if each.lead is not None]
    spans += [(each.start, each.section_end) for each in found.headings]
    spans += found.imports
    for each in found.definitions:
        spans += [(each.start, each.end), (each.signature_start, each.signature_end)]
        assert each.start <= each.signature_start <= each.signature_end <= each.end
        assert each.name
        spans += [each.doc] if each.doc is not None else []
        if each.parent >= 0:
            parent = found.definitions[each.parent]
            assert parent.start <= each.start
            assert each.end <= parent.end
    for start, end in spans:
        assert 0 <= start <= end <= len(content)
        for place in (start, end):
            assert place == len(content) or content[place] & 0xC0 != 0x80 or not _is_utf8(content)
    for each in found.passages:
        assert list(each.parts) == sorted(each.parts)
        assert all(each.start <= place <= each.end for place in each.parts)
    assert structure(content, kind=kind, language=language, path=path) == found


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


WORST = [
    b"(", b"{", b"[", b")", b"}", b'"', b"'", b"`", b"/", b"/*", b"(*", b"{-", b"#|", b"--", b"-", b"=", b"<",
    b"<<A\n", b"$a$", b"%w[", b"\\", b" ", b"\n", b"\t", b"a", b"a ", b"a(", b"a{", b"=/[", b"class A ",
    b"class A {\n", b"def a\n", b" def a\n", b"fn a<", b"function a(", b"const a: ", b"const a = (", b"a: (",
    b"let a =\n", b"int a = {1}, ", b"a{}, ", b"f(a, {}) ", b"@A\n", b"#[a]\n", b"@A(\n", b"# a\n", b"// a\n",
    b"a::b ", b"`${", b"<ul>", b"</ul>", b"<h1>", b"<pre>", b"- a\n", b"- a\n\n", b"  - a\n", b"> ", b"| a |\n",
    b"== ==\n", b"a\n===\n", b"===\n", b".. a::\n", b"a::\n\n b\n", b"```\n", b"\\section{", b"\\begin{table}",
    b".SH a\n", b"* a\n", b"Ada: x\n", b"From: a\n", b"a: |\n", b"a:\n  b:\n", b"template<", b"a<b,", b"=begin\n",
    b"<<<A\n", b"<!--", b'R"(', b'"""', b"'''", b"#define A \\\n", b"#if\n", b"\n    a\n\n",
]  # fmt: skip


SMALL = 4_000
BOUND = 30


def _work(rule, content: bytes) -> float:
    kind, language, path = rule
    return max(seconds(lambda: structure(content, kind=kind, language=language, path=path)), 2e-4)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule[1]}{rule[2]}")
def test_work_grows_with_the_text_and_no_faster(rule):
    """Eight times of the worst input is eight times the work, not 64: ratios of one machine in one run."""
    slow = {}
    for piece in WORST:
        content = (piece * (8 * SMALL // len(piece) + 1))[: 8 * SMALL]
        sizes = itertools.chain((SMALL // 4, SMALL // 2), itertools.repeat(SMALL))  # what looks slow, again and longer

        def measure(content=content, sizes=sizes):
            size = next(sizes)
            return _work(rule, content[: 8 * size]) / _work(rule, content[:size])

        ratio = growth(measure, BOUND)
        if ratio >= BOUND:
            slow[piece] = round(ratio)
    assert not slow

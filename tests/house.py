"""How large is the project? `python -m tests.house --lower` writes the figures of this state into house.toml."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BOUNDS = ROOT / "tests" / "house.toml"
LOWER = "PYTHONPATH=src python -m tests.house --lower"
HEAD = f"""\
# The most that the project may hold of each thing. Bounds only fall: `{LOWER}`
# lowers all of them, after a conflict of a merge too, and raises none.
"""
# Names that do not say what they hold.
VAGUE = frozenset(
    "found each known at before given made own most asked kept told taken said some so many those other others "
    "likewise whole rest shown had has got put left one ones whoever beside behind stands seen read_as done".split()
)
DIALECT = re.compile(
    r"\b(so many|whoever|beside|behind|told|likewise|stands? (in|for|at|there)|the same|those (of|that|from)|"
    r"(is|are|was) asked|laid (out|down)|of its own|by itself|(is|are) said|as long as|at the head|let go)\b",
    re.IGNORECASE,
)
LEANING = re.compile(r"(The same|Those|Likewise|What |Whoever|Where |Which of|So many|As )")
HATCH = re.compile(
    r"object\.__(new|setattr)__|__class__ =|\.__dict__\b|\b(exec|eval)\(|sys\.modules\[[^]]+\] =|os\._exit|gc\.freeze"
)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def figures() -> dict[str, int]:
    """Count what the bounds name."""
    sources = _texts("src/brimful", ".py")
    native = _texts("src/brimful", ".c", ".h")
    python, commands = "\n".join(sources), _text("docs/cli.md")
    parsed = Counter(kind for source in sources for kind in _kinds(ast.parse(source)))
    context = re.search(r"^## brimful context\n(.*?)^## ", commands, re.MULTILINE | re.DOTALL)
    return {
        "modules": len(sources),
        "lines of Python": _lines(sources),
        "lines of the longest module": max(text.count("\n") for text in sources),
        "lines of C": _lines(native),
        "C functions bound": _text("src/brimful/native/kernels.h").count(");\n"),
        "lines of tests": _lines(_texts("tests", ".py")),
        "words of docs": sum(map(_words, _texts("docs", ".md"))),
        "words of README.md": _words(_text("README.md")),
        "lines of CHANGELOG.md": _text("CHANGELOG.md").count("\n"),
        "files of benchmarks/results": sum(path.is_file() for path in (ROOT / "benchmarks/results").rglob("*")),
        "classes": parsed["class"],
        "imports inside functions": parsed["import"],
        "vague names": parsed["vague"],
        "docstrings that lean on another": parsed["leaning"],
        "phrases of dialect": len(DIALECT.findall(python)),
        "escape hatches": len(HATCH.findall(python)),
        "type ignores and Any": len(re.findall(r"# type: ignore|\bAny\b", python)),
        "noqa": python.count("# noqa"),
        "choices of a question": len(
            re.findall(r"^\| `", _text("docs/choices.md").partition("make cli-docs")[2], re.MULTILINE)
        ),
        "commands": len(re.findall(r"^## brimful \w+", commands, re.MULTILINE)),
        "options of context": len(set(re.findall(r"^ +(?:-\w[^,]*, )?(--(?!help)[\w-]+)", context[1], re.MULTILINE))),
    }


def bounds() -> dict[str, int]:
    """Read house.toml; of a bound that stands there twice, because of a merge, the lower one."""
    named: dict[str, int] = {}
    for name, bound in re.findall(r'^"(.+)" = (\d+)$', BOUNDS.read_text("utf-8"), re.MULTILINE):
        named[name] = min(int(bound), named.get(name, int(bound)))
    return named


def lower() -> None:
    """Set each bound to its figure, where that is less."""
    limits = bounds()
    lines = [f'"{name}" = {min(figure, limits.get(name, figure))}\n' for name, figure in figures().items()]
    BOUNDS.write_text(HEAD + "".join(lines), "utf-8")


def _kinds(tree: ast.Module) -> Iterator[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    inner = {
        node for function in functions for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield "class"
        if node in inner and str(getattr(node, "module", "")).startswith("brimful"):
            yield "import"
        if isinstance(node, FUNCTION | ast.ClassDef) and LEANING.match(ast.get_docstring(node) or ""):
            yield "leaning"
        if _bound(node) in VAGUE:
            yield "vague"


def _bound(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, FUNCTION | ast.ClassDef) else None


def _text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _texts(folder: str, *suffixes: str) -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]


def _lines(texts: list[str]) -> int:
    return sum(text.count("\n") for text in texts)


def _words(text: str) -> int:
    return len(re.findall(r"[A-Za-z][A-Za-z'-]*", re.sub(r"```.*?```", " ", text, flags=re.DOTALL)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--lower"]:
        lower()
    print("\n".join(f"{figure:9,d}  {name}" for name, figure in figures().items()))

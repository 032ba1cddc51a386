"""Do the rules of the outline find what a grammar finds? `make bench-outline`.

Real sources, fetched by the machine's own package tools (`npm pack`, `pip download`, `apt-get download`; what a tool
can't get is left out and said) or taken from a folder: `outline.py --sources FOLDER`. Tree-sitter is the oracle
(`grammars.py` says what counts as a definition).

Names: definitions of one file are paired by name, each at most once; F1 of the pairs over all files of a language.
Spans: the share of the pairs whose first and last lines both lie within one line of the oracle's, decorators and
attributes included, comments not. Files with a syntax error for the grammar, above 400 kB or with lines of more than
200 bytes on average are left out; what stands in a macro call of Rust, which the grammar does not read, is not counted.
"""

import argparse
import random
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from core import report  # noqa: E402
from grammars import definitions_by_grammar  # noqa: E402

from brimful.native.lines import NEWLINES  # noqa: E402
from brimful.outline.kinds import Kind, kind_of  # noqa: E402
from brimful.outline.structures import read_definitions, structure  # noqa: E402
from brimful.outline.units import Text, divide_texts  # noqa: E402

AIM_NAMES, AIM_SPANS = 0.95, 0.90
FILES, LARGEST, WIDEST, SEED = 150, 400_000, 200, 1

NPM = (
    "eslint express lodash rxjs effect fp-ts react-native expo-modules-core @capacitor/ios @capacitor/android "
    "react-native-screens react-native-svg react-native-windows@0.70.0 edge-js"
)
PIP = "zstandard lz4 psutil cffi xxhash juliacall googleapis-common-protos"
APT = (
    "golang-golang-x-tools-dev golang-golang-x-net-dev librust-tokio-dev librust-regex-dev librust-clap-dev "
    "librust-rayon-dev librust-serde-dev php-symfony-console php-symfony-http-foundation php-twig php-monolog "
    "ruby-activerecord ruby-actionpack ruby-activesupport ruby-rack lua-penlight neovim-runtime nmap-common "
    "ocaml liblwt-ocaml-dev libyojson-ocaml-dev elpa-magit elpa-markdown-mode cl-alexandria cl-ppcre guile-library "
    "guile-3.0-dev libclojure-java libring-core-clojure libcompojure-clojure libcore-async-clojure bash-completion "
    "dracut-core postgresql-15-postgis-3-scripts rapidjson-dev libdart-dev libeigen3-dev"
)
EXTENSIONS = {
    "python": "py", "javascript": "js mjs cjs", "typescript": "ts", "go": "go", "rust": "rs", "c": "c",
    "cpp": "cpp hpp cc", "java": "java", "kotlin": "kt", "swift": "swift", "csharp": "cs", "php": "php", "ruby": "rb",
    "lua": "lua", "julia": "jl", "bash": "sh", "sql": "sql", "ocaml": "ml", "ocaml_interface": "mli", "elisp": "el",
    "commonlisp": "lisp", "scheme": "scm", "clojure": "clj", "proto": "proto", "yaml": "yml yaml", "toml": "toml",
    "ini": "ini cfg",
}  # fmt: skip


class Compared(NamedTuple):
    """One file: how many definitions both have, pairs whose spans agree, and what only one of them has."""

    rules: int
    oracle: int
    both: int
    spans: int
    lost: list[str]


def main() -> int:
    """Fetch, compare, time, print, and keep the results."""
    parser = argparse.ArgumentParser(description="Rules of the outline against tree-sitter.")
    parser.add_argument("--sources", type=Path, help="a folder of sources to take instead of fetching some")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    place = options.sources or Path(tempfile.gettempdir(), "brimful-outline-sources")
    missing = [] if options.sources else fetch(place)
    facts = {"commit": report.commit(), **report.machine(("brimful", "tree-sitter", "tree-sitter-language-pack"))}
    lines = ["# Rules of the outline against grammars", "", report.facts_line(facts), ""]
    lines += [*(__doc__ or "").split("\n\n", 1)[1].rstrip().split("\n"), ""]
    if missing:
        lines += [f"Could not be fetched: {', '.join(missing)}.", ""]
    chosen = {language: choose(place, language) for language in EXTENSIONS}
    lines += agreement(chosen) + timing(chosen, place)
    text = "\n".join(lines) + "\n"
    print(text)
    if not options.dry:
        report_path = ROOT / "benchmarks" / "results" / f"outline-{facts['commit']}.md"
        report_path.write_text(text)
    return 0


def fetch(place: Path) -> list[str]:
    """Get and unpack every package that is not there yet; the names of those that could not be had."""
    missing = []
    shutil.copytree(sysconfig.get_path("stdlib"), place / "python", dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.a"))  # fmt: skip
    for tool, names in (("npm", NPM), ("pip", PIP), ("apt", APT)):
        for name in names.split():
            target = place / f"{tool}-{name.replace('/', '-').strip('@')}"
            if target.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    archive = download(tool, name, Path(folder))
                    target.mkdir(parents=True)
                    unpack(archive, target)
                except (OSError, subprocess.SubprocessError, StopIteration):
                    shutil.rmtree(target, ignore_errors=True)
                    missing.append(f"{name} ({tool})")
    return missing


def download(tool: str, name: str, folder: Path) -> Path:
    commands = {
        "npm": ["npm", "pack", "--silent", name],
        "pip": [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name],
        "apt": ["apt-get", "download", name],
    }
    subprocess.run(commands[tool], cwd=folder, check=True, capture_output=True, timeout=300)
    return next(folder.iterdir())


def unpack(archive: Path, target: Path) -> None:
    if archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], check=True, capture_output=True)
        for jar in target.rglob("*.jar"):
            if jar.is_file() and not jar.is_symlink():
                with zipfile.ZipFile(jar) as held:
                    held.extractall(target / jar.stem)
    else:
        with tarfile.open(archive) as held:
            held.extractall(target, filter="data")


def choose(place: Path, language: str) -> list[Path]:
    """Some files of a language, drawn by seed."""
    endings = {f".{ending}" for ending in EXTENSIONS[language].split()}
    found = sorted(path for path in place.rglob("*") if path.suffix in endings and path.is_file())
    random.Random(SEED).shuffle(found)
    kept = []
    for path in found:
        content = path.read_bytes()
        if content and len(content) <= LARGEST and len(content) <= WIDEST * (content.count(b"\n") + 1):
            kept.append(path)
        if len(kept) == 2 * FILES:
            break
    return kept


def compare(content: bytes, language: str) -> Compared | None:
    """Names and spans of one file, or None if the grammar finds an error in it."""
    parsed = definitions_by_grammar(content, language)
    if parsed.has_errors:
        return None
    newlines = np.flatnonzero(np.frombuffer(content, np.uint8) == 10)
    by_name: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = defaultdict(lambda: ([], []))
    for each in read_definitions(content, language):
        first, last = (int(newlines.searchsorted(at)) for at in (each.signature_start, max(each.end - 1, each.start)))
        if not any(low <= first and last <= high for low, high in parsed.hidden):
            by_name[each.name][0].append((first, last))
    for seen in parsed.seen:
        by_name[seen.name][1].append((seen.first, seen.last))
    both = spans = 0
    lost = []
    for name, (ours, theirs) in sorted(by_name.items()):
        left = sorted(theirs)
        for first, last in sorted(ours):
            if not left:
                lost.append(f"`{name}` too many")
                continue
            near = min(left, key=lambda pair: (abs(pair[0] - first) + abs(pair[1] - last), pair))
            left.remove(near)
            both += 1
            spans += abs(near[0] - first) <= 1 and abs(near[1] - last) <= 1
        lost += [f"`{name}` missing"] * len(left)
    rules = sum(len(ours) for ours, _ in by_name.values())
    return Compared(rules, len(parsed.seen), both, spans, lost)


def agreement(chosen: dict[str, list[Path]]) -> list[str]:
    """The table of languages, and what is lost."""
    aims = f"F1 >= {AIM_NAMES} | spans >= {AIM_SPANS}"
    lines = [
        f"| language | files | errors | grammar | rules | precision | recall | {aims} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    losses, below, unread = [], [], []
    for language, paths in chosen.items():
        total, files, errors = Counter[str](), 0, 0
        lost: list[str] = []
        for path in paths:
            if files == FILES:
                break
            one = compare(path.read_bytes(), language)
            if one is None:
                errors += 1
                continue
            files += 1
            total.update(rules=one.rules, oracle=one.oracle, both=one.both, spans=one.spans)
            lost += one.lost
        if not total["oracle"]:
            unread.append(f"{language} ({errors} files with errors)")
            continue
        precision, recall = total["both"] / max(total["rules"], 1), total["both"] / total["oracle"]
        score = 2 * precision * recall / max(precision + recall, 1e-9)
        spans = total["spans"] / max(total["both"], 1)
        row = (language, files, errors, total["oracle"], total["rules"])
        figures = (precision, recall, score, spans)
        lines.append("| " + " | ".join([*map(str, row), *(f"{figure:.3f}" for figure in figures)]) + " |")
        if score < AIM_NAMES or spans < AIM_SPANS:
            below.append(language)
        if lost:
            shown = random.Random(SEED).sample(sorted(lost), min(6, len(lost)))
            losses.append(f"- {language}: {len(lost)} names, such as {', '.join(shown)}")
    lines += ["", f"Below an aim: {', '.join(below) or 'none'}."]
    lines += [f"No file that the grammar reads without an error: {', '.join(unread) or 'none'}."]
    lines += ["", "## What only one of them has", "", *losses, ""]
    return lines


def timing(chosen: dict[str, list[Path]], place: Path) -> list[str]:
    """The whole structure against what the index does today, on the same files, in processor time."""
    lines = [
        "## Time",
        "",
        "Processor time of `structure` against that of `index.units` (units, sections and heads of the same texts).",
        "",
        "| texts | MB | files | index.units MB/s | structure MB/s |",
        "|---|---:|---:|---:|---:|",
    ]
    prose = {
        ending: sorted(path for path in place.rglob(f"*.{ending}") if path.is_file())[:300]
        for ending in ("md", "rst", "txt")
    }
    for name, paths in {**chosen, **prose}.items():
        texts = [(str(path), path.read_bytes()) for path in paths]
        size = sum(len(content) for _, content in texts) / 1e6
        if size < 0.5:
            continue
        kinds = [kind_of(path, content) for path, content in texts]
        first, second = fastest(texts, kinds)
        lines.append(f"| {name} | {size:.1f} | {len(texts)} | {size / first:.0f} | {size / second:.0f} |")
    return [*lines, ""]


def fastest(texts: list[tuple[str, bytes]], kinds: list[tuple[Kind, str | None]]) -> tuple[float, float]:
    """The best of three turns of both."""
    axis = b"\n".join(content for _, content in texts) + NEWLINES
    sizes = np.array([len(content) for _, content in texts], np.int64)
    bases = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes + 1)[:-1]))
    asked = [Text(len(content), *kind, path) for (path, content), kind in zip(texts, kinds, strict=True)]
    best = [float("inf"), float("inf")]
    for _ in range(3):
        began = time.process_time()
        divide_texts(axis, bases, asked)
        between = time.process_time()
        for (path, content), (kind, language) in zip(texts, kinds, strict=True):
            structure(content, kind=kind, language=language, path=path)
        best = [min(best[0], between - began), min(best[1], time.process_time() - between)]
    return best[0], best[1]


if __name__ == "__main__":
    raise SystemExit(main())

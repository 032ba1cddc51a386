"""Is there anything among the locked packages that should not be: an unknown licence, a known hole?

Offline. Licences are read from the metadata of the installed packages and written into requirements/licences.md; a test
compares it. Known holes are looked up where a list of advisories is at hand: a folder or a zip of OSV records
(`--advisories`). Without one nothing is said about holes, and the program says so.
"""

import argparse
import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "requirements" / "licences.md"
LOCKS = ("test", "oracles")

ALLOWED = frozenset(
    "0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause CC0-1.0 CNRI-Python ISC MIT MIT-0 MIT-CMU PSF-2.0 Zlib".split()
)
"""Licences that ask for no more than their notice. `BSD` is said by packages that do not say which."""

SAID = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT, BSD": "MIT AND BSD",
    "Modified BSD License": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What metadata says in words of its own."""

EXCEPTIONS = {
    "apsw": ("any-OSI", "the zlib licence, or any that the OSI approves: its LICENSE says so"),
    "certifi": ("MPL-2.0", "a list of certificates, used as it is; nothing of it is in this package"),
    "hypothesis": ("MPL-2.0", "for tests only, used as it is"),
    "llama-models": ("unknown", "for tests only: a vocabulary is read from it; its licence is a link to Meta's own"),
    "orjson": ("MPL-2.0 AND (Apache-2.0 OR MIT)", "used as it is, by frameworks that an extra is for"),
    "pathspec": ("MPL-2.0", "for tests only, used as it is"),
    "psycopg": ("LGPL-3.0-only", "the extra `postgres` only; a library of its own that a user can replace"),
    "psycopg-binary": ("LGPL-3.0-only", "the extra `postgres` only; a library of its own that a user can replace"),
    "pypdfium2": (
        "BSD-3-Clause, Apache-2.0, dependency licenses",
        "BSD-3-Clause or Apache-2.0; the libraries within PDFium bring their notices along",
    ),
    "tqdm": ("MPL-2.0 AND MIT", "used as it is, by packages that an extra or a test is for"),
}
"""Packages with another licence, exactly as they say it, and why they may stay. Another wording is refused again."""

ELSEWHERE = {
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
}
"""Packages that are locked for other systems than those that the tests run on; as their wheels say."""

LEAD = """# Licences

Every package in `requirements/{locks}` with its version and licence, as
its metadata says. This page is written by `make audit`, which refuses a licence that is neither in its list nor an
exception with a reason.

`package`: needed by a bare installation. `extra`: by one of the extras. `tests`: by tests alone. What wheels bundle,
and what the benchmarks' peers (`requirements/bench.lock`) bring, is not looked at.

"""


def locked(name: str) -> list[tuple[str, str]]:
    """The packages of a lock file with their versions, of which some have two (by version of Python)."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    return re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\\n]+)", text, re.MULTILINE)


def licence_of(name: str) -> str:
    """What the installed package says of its licence, in SPDX's words where they are known."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    try:
        said = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "not installed"
    kinds = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    lines = (said.get("License") or "").strip().splitlines()
    for each in (
        said.get("License-Expression"),
        lines[0] if lines else "",
        " AND ".join(SAID.get(k, k) for k in kinds),
    ):
        if each:
            return SAID.get(each.strip(), each.strip())
    return "unknown"


def is_allowed(licence: str) -> bool:
    """Whether every part of an expression is allowed, or one of those that may be chosen from.

    >>> is_allowed("MPL-2.0 AND (Apache-2.0 OR MIT)"), is_allowed("(GPL-3.0-only OR MIT) AND ISC")
    (False, True)
    """
    words = re.findall(r"\(|\)|[^\s()]+", licence)

    def either() -> bool:
        found = both()
        while words and words[0] == "OR":
            words.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        word = words.pop(0) if words else ""
        if word != "(":
            return word in ALLOWED
        found = either()
        return bool(words) and words.pop(0) == ")" and found

    return either() and not words


def refused(name: str, licence: str) -> str | None:
    """Why a package may not stay, if so."""
    if is_allowed(licence) or (name in EXCEPTIONS and EXCEPTIONS[name][0] == licence):
        return None
    return f"{name}: licence {licence!r} is not in the list; read it, then allow it or write an exception"


def needed() -> dict[str, str]:
    """By whom each package is needed: `package` or `extra`; what is left is for tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [each for name, wanted in sorted(extras.items()) if name not in ("test", "bench") for each in wanted]
    found: dict[str, str] = {}
    for kind, wanted in (("package", project["dependencies"]), ("extra", users)):
        waiting = [Requirement(each) for each in wanted]
        seen: set[tuple[str, frozenset[str]]] = set()
        while waiting:
            asked = waiting.pop()
            name = canonicalize_name(asked.name)
            found.setdefault(name, kind)
            if (key := (name, frozenset(asked.extras))) not in seen:
                seen.add(key)
                waiting += _asked_by(name, asked.extras)
    return found


def _asked_by(name: str, extras: set[str]) -> Iterator[Requirement]:
    """What a package asks for, on any system."""
    try:
        wanted = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for each in map(Requirement, wanted):
        of = re.findall(r"extra\s*==\s*[\"']([^\"']+)", str(each.marker or ""))
        if not of or extras.intersection(of):
            yield each


def page() -> str:
    """The page of all packages."""
    by, licences = needed(), {}
    versions: dict[str, list[str]] = {}
    for name, version in (pair for lock in LOCKS for pair in locked(lock)):
        versions.setdefault(name, []).append(version)
        licences[name] = licence_of(name)
    rows = [
        f"| {name} | {', '.join(versions[name])} | {licences[name]} | {by.get(canonicalize_name(name), 'tests')} |"
        for name in sorted(versions)
    ]
    why = [f"| {name} | {licence} | {reason} |" for name, (licence, reason) in sorted(EXCEPTIONS.items())]
    locks = ".lock` and `requirements/".join(LOCKS) + ".lock"
    table = ["| package | version | licence | for |", "|---|---|---|---|", *rows]
    exceptions = ["", "## Exceptions", "", "| package | licence | why it may stay |", "|---|---|---|", *why, ""]
    return LEAD.format(locks=locks) + "\n".join([*table, *exceptions])


def holes(records: Iterator[dict], pins: list[tuple[str, str]]) -> list[str]:
    """Which locked versions an advisory (a record of OSV) speaks of."""
    by_name: dict[str, list[str]] = {}
    for name, version in pins:
        by_name.setdefault(canonicalize_name(name), []).append(version)
    found = []
    for record in records:
        for affected in record.get("affected", []):
            package = affected.get("package", {})
            name = canonicalize_name(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and not record.get("withdrawn"):
                speaks_of = (version for version in by_name.get(name, []) if _is_affected(version, affected))
                found += [
                    f"{name} {version}: {record['id']} {record.get('summary', '')}".rstrip() for version in speaks_of
                ]
    return sorted(set(found))


def _is_affected(version: str, affected: dict) -> bool:
    if version in affected.get("versions", []):
        return True
    ranges = [each["events"] for each in affected.get("ranges", []) if each.get("type") == "ECOSYSTEM"]
    return any(_is_within(Version(version), events) for events in ranges)


def _is_within(version: Version, events: list[dict[str, str]]) -> bool:
    """The last event at or below a version says whether it has the hole; what can't be read counts as one that has."""
    has = False
    for event in events:
        ((kind, said),) = event.items()
        try:
            at = Version(said)
        except InvalidVersion:
            return True
        if kind == "introduced" and (said == "0" or version >= at):
            has = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            has = False
    return has


def records_in(place: Path) -> Iterator[dict]:
    """The records of a folder or a zip of JSON files."""
    if place.is_dir():
        for each in sorted(place.rglob("*.json")):
            yield json.loads(each.read_bytes())
        return
    with zipfile.ZipFile(place) as packed:
        for name in sorted(packed.namelist()):
            if name.endswith(".json"):
                yield json.loads(packed.read(name))


def main(arguments: list[str] | None = None) -> int:
    """Write the page, name what is refused; 1 where something is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--advisories", type=Path, help="a folder or zip of OSV records, such as OSV's own PyPI/all.zip"
    )
    place = parser.parse_args(arguments).advisories
    pins = [pair for lock in LOCKS for pair in locked(lock)]
    problems = [why for name in sorted({name for name, _ in pins}) if (why := refused(name, licence_of(name)))]
    PAGE.write_text(page(), encoding="utf-8")
    print(
        f"licences: {len(pins)} pins, {len(EXCEPTIONS)} exceptions, {len(problems)} refused; {PAGE.relative_to(ROOT)}"
    )
    if place is None:
        print("known holes: NOT CHECKED, no list of advisories at hand (--advisories FOLDER_OR_ZIP of OSV records)")
    else:
        known = holes(records_in(place), pins)
        print(f"known holes: {len(known)} by the records in {place.name}")
        problems += known
    print("".join(f"{each}\n" for each in problems), end="", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

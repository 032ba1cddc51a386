"""The audit of locked packages: which licences, which known holes."""

import doctest
import json
import zipfile

import pytest

from .surfaces.test_pages import script

audit = script("audit")


def test_the_page_of_licences_is_that_of_the_lock_files():
    """Every locked package with its versions and licence; `make audit` renews it."""
    assert audit.page() == audit.PAGE.read_text(encoding="utf-8")


def test_every_licence_is_allowed_or_has_its_reason():
    """None is unknown or copyleft without a written exception, and no exception is for a package that is gone."""
    names = {name for lock in audit.LOCKS for name, _ in audit.locked(lock)}
    assert [why for name in sorted(names) if (why := audit.refused(name, audit.licence_of(name)))] == []
    assert set(audit.EXCEPTIONS) | set(audit.ELSEWHERE) <= names


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND (GPL-2.0-only OR MIT)", True),
        ("GPL-3.0-only", False),
        ("MIT AND LGPL-3.0-only", False),
        ("MIT AND (ISC OR", False),
        ("MIT or whatever", False),
        ("unknown", False),
        ("not installed", False),
        ("", False),
    ],
)
def test_what_is_not_in_the_list_is_refused(licence, allowed):
    """All parts that are joined by AND and one of those joined by OR must be allowed; what can't be read is not."""
    assert audit.is_allowed(licence) is allowed
    assert (audit.refused("some-package", licence) is None) is allowed


def test_an_exception_is_for_one_wording():
    """A package with an exception that changes its licence is refused again."""
    assert audit.refused("psycopg", "LGPL-3.0-only") is None
    assert "GPL-3.0-only" in audit.refused("psycopg", "GPL-3.0-only")


def record(name, **affected):
    """An advisory as OSV writes it."""
    return {
        "id": f"X-{name}",
        "summary": "a hole",
        "affected": [{"package": {"ecosystem": "PyPI", "name": name}} | affected],
    }


def between(*events):
    """A range of versions."""
    return [{"type": "ECOSYSTEM", "events": [dict([event]) for event in events]}]


def test_a_version_with_a_known_hole_is_named(tmp_path):
    """By list or range, whatever the name's spelling; fixed and withdrawn ones, and other ecosystems' are not."""
    pins = [("tea-pot", "1.10"), ("cup", "2.0")]
    told = [
        record("Tea_Pot", ranges=between(("introduced", "0"), ("fixed", "1.11"))),
        record("cup", versions=["2.0"]),
        record("tea-pot", ranges=between(("introduced", "0"), ("fixed", "1.9"))) | {"id": "FIXED"},
        record("tea-pot", ranges=between(("introduced", "1.2"), ("last_affected", "1.10"))) | {"id": "LAST"},
        record("cup", versions=["2.0"]) | {"id": "GONE", "withdrawn": "2026-01-01T00:00:00Z"},
        {"id": "NPM", "affected": [{"package": {"ecosystem": "npm", "name": "cup"}, "versions": ["2.0"]}]},
    ]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for number, each in enumerate(told):
            packed.writestr(f"{number}.json", json.dumps(each))
            (tmp_path / f"{number}.json").write_text(json.dumps(each), encoding="utf-8")
    expected = ["cup 2.0: X-cup a hole", "tea-pot 1.10: LAST a hole", "tea-pot 1.10: X-Tea_Pot a hole"]
    assert audit.holes(audit.records_in(tmp_path / "all.zip"), pins) == expected
    assert audit.holes(audit.records_in(tmp_path), pins) == expected


def test_without_a_list_nothing_is_said_of_holes(tmp_path, capsys, monkeypatch):
    """No list of advisories is no clean bill: the program says that it did not look."""
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    monkeypatch.setattr(audit, "PAGE", tmp_path / "licences.md")
    monkeypatch.setattr(audit, "locked", lambda _: [("apsw", "3.54.1.0")])
    monkeypatch.setattr(audit, "page", lambda: "")
    assert audit.main([]) == 0
    assert "known holes: NOT CHECKED" in capsys.readouterr().out


def test_the_example_of_the_script_holds():
    """Its docstring is run."""
    assert doctest.testmod(audit).failed == 0

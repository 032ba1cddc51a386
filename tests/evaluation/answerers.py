"""A small naive answerer: lines of text that share words with the question, the most shared first."""

import re

from brimful.evaluation import Place

_WORD = re.compile(r"\w+")


def overlap_answerer(documents):
    """Cites lines by how many of the question's words they have, rarer words first; no index, no cleverness."""
    lines = []
    for document in documents:
        at = 0
        for line in document.content.split(b"\n"):
            words = frozenset(_WORD.findall(line.decode().lower()))
            if words:
                lines.append((document.path, at, at + len(line), words))
            at += len(line) + 1
    frequency = {}
    for *_, words in lines:
        for word in words:
            frequency[word] = frequency.get(word, 0) + 1

    def answer(question, budget):
        asked = set(_WORD.findall(question.text.lower()))
        ranked = []
        for path, start, end, words in lines:
            shared = sorted(asked & words)
            if shared:
                ranked.append((-sum(1_000_000 // frequency[word] for word in shared), path, start, end))
        return [Place(path, start, end) for _, path, start, end in sorted(ranked)[: budget // 10]]

    return answer

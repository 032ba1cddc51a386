"""How many calls and tokens does a condensation take? `make bench-densify`.

The same server on loopback serves every contender: it counts calls and tokens, enforces the limit and answers every
prompt with the same number of words. Peers that stop at an overflow are started again with half the size, which is what
DENS did; every call of every start counts.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core import report

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from brimful.densify import DensifySettings, Memory, Stop, classify, model_for  # noqa: E402
from brimful.densify.densify import densify  # noqa: E402
from brimful.densify.plan import prompt  # noqa: E402
from brimful.errors import ContextLimitError  # noqa: E402
from brimful.testing import ScriptedProvider  # noqa: E402
from brimful.text.vocabularies import tokens_for  # noqa: E402
from brimful.transport import Timeouts  # noqa: E402

COUNTER = tokens_for("o200k_base")
OUTPUT_TOKENS = {2_048: 245, 4_096: 491, 16_384: 1_024}
"""What an answer may have: Brimful's own reserve for the limit, given to every contender."""
PART, MERGE = (prompt(task).render("{text}", words=150) for task in ("part", "merge"))
"""The same words around every contender's texts."""
Contender = Callable[[str, ScriptedProvider, int], None]


def reply(limit: int) -> Callable[[str], str]:
    """An answer of four fifths of what is allowed, the same for everyone."""
    words = " ".join(f"fact{number % 10}" for number in range(OUTPUT_TOKENS[limit] * 2 // 5))
    return lambda _: f"{words}."


def ask(provider: ScriptedProvider, prompt: str, limit: int) -> str:
    """One call, as a peer's model makes it."""
    return provider.model().complete(prompt, max_output_tokens=OUTPUT_TOKENS[limit], stop=Stop()).text


def brimful(text: str, provider: ScriptedProvider, limit: int) -> None:
    """Ours, told the limit that the others are told."""
    digest = densify(text, provider.model(limit=limit), settings=DensifySettings(parallel=1))
    assert digest.is_complete


def langchain(text: str, provider: ScriptedProvider, limit: int) -> None:
    """`load_summarize_chain("map_reduce")` over texts split to what the prompt and the output leave."""
    from langchain_classic.chains.summarize import load_summarize_chain
    from langchain_core.documents import Document
    from langchain_core.language_models.llms import LLM
    from langchain_core.prompts import PromptTemplate
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Model(LLM):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _call(self, prompt: str, *_: Any, **__: Any) -> str:
            return ask(provider, prompt, limit)

        def get_num_tokens(self, text: str) -> int:
            return COUNTER.count(text)

    size = limit
    while True:
        room = size - OUTPUT_TOKENS[limit] - COUNTER.count(PART)
        splitter = RecursiveCharacterTextSplitter(chunk_size=room, chunk_overlap=0, length_function=COUNTER.count)
        chain = load_summarize_chain(
            Model(),
            "map_reduce",
            token_max=room,
            map_prompt=PromptTemplate.from_template(PART),
            combine_prompt=PromptTemplate.from_template(MERGE),
        )
        try:
            chain.invoke([Document(piece) for piece in splitter.split_text(text)])
        except ContextLimitError:
            size //= 2
        else:
            return


def llamaindex(text: str, provider: ScriptedProvider, limit: int) -> None:
    """`TreeSummarize` with a prompt helper that knows the limit, the output and the tokens."""
    from llama_index.core import PromptTemplate
    from llama_index.core.indices.prompt_helper import PromptHelper
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.response_synthesizers import TreeSummarize

    class Model(CustomLLM):
        size: int

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=self.size, num_output=OUTPUT_TOKENS[limit])

        def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
            return CompletionResponse(text=ask(provider, prompt, limit))

        def stream_complete(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    size = limit
    while True:
        model = Model(size=size)
        helper = PromptHelper.from_llm_metadata(
            model.metadata, chunk_overlap_ratio=0.0, tokenizer=lambda text: [0] * COUNTER.count(text)
        )
        template = PromptTemplate(PART.replace("{text}", "{context_str}") + "{query_str}")
        try:
            TreeSummarize(llm=model, prompt_helper=helper, summary_template=template).get_response("", [text])
        except ContextLimitError:
            size //= 2
        else:
            return


CONTENDERS: dict[str, Contender] = {
    "Brimful": brimful,
    "LangChain map_reduce": langchain,
    "LlamaIndex tree_summarize": llamaindex,
}


def measure(name: str, text: str, limit: int, *, drops: bool) -> dict[str, Any]:
    """Calls and tokens of one contender; `drops` lowers the server's limit by a third in the middle of the run."""
    with ScriptedProvider(limit=limit, reply=reply(limit)) as provider:
        needed = COUNTER.count(text) // limit
        answer = provider.reply

        def lower(prompt: str) -> str:
            if drops and len(provider.calls) >= needed // 2:
                provider.limit = limit * 2 // 3
            return answer(prompt)

        provider.reply = lower
        started = time.process_time()
        CONTENDERS[name](text, provider, limit)
        return {
            "contender": name,
            "limit": limit,
            "drops": drops,
            "calls": len(provider.calls),
            "overflows": provider.overflows,
            "tokens_sent": provider.tokens_sent,
            "seconds": round(time.process_time() - started, 2),
        }


def texts() -> dict[str, str]:
    """Prose from Python's own reference, code from its library, and this repository's documentation."""
    import argparse as code
    from pydoc_data.topics import topics

    prose = "\n\n".join(topics[name] for name in sorted(topics))
    return {
        "docs": "\n\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))[:60_000],
        "prose": prose[:200_000],
        "code": Path(code.__file__).read_text("utf-8"),
    }


def real_model() -> dict[str, Any]:
    """SmolLM2 behind llama.cpp with 1,024 tokens, told a limit that is four times too large."""
    from tests.densify.smollm2 import smollm2

    text = texts()["docs"][:24_000]
    settings = DensifySettings(target_tokens=60, parallel=1)
    with smollm2(1_024) as address, Memory() as memory:
        model = model_for(f"{address}#smollm2", limit=4_096, timeouts=Timeouts(idle_seconds=900))
        digest = densify(text, model, settings=settings, memory=memory)
        again = densify(text, model, settings=settings, memory=memory)
    names = ("parts", "passes", "calls", "overflows", "limit", "source_tokens", "tokens_sent", "tokens", "is_complete")
    return {**{name: getattr(digest, name) for name in names}, "calls_of_a_second_run": again.calls}


def accuracy(path: Path) -> dict[str, Any]:
    """How many failures of a file of provider messages are classified as it says."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    wrong = [row["provider"] for row in rows if classify(row["status"], row["body"]) != row["class"]]
    return {"messages": len(rows), "right": len(rows) - len(wrong), "wrong": wrong}


def main() -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(description="Count the calls of a condensation against LangChain and LlamaIndex.")
    parser.add_argument("--errors", type=Path, help="a file of provider messages with their class, to be classified")
    parser.add_argument("--no-model", action="store_true", help="leave out the run through a real model (minutes)")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    facts = {"commit": report.commit(), **report.machine()}
    lines = ["# Calls and tokens of a condensation", "", report.facts_line(facts), ""]
    rows = []
    for title, text in texts().items():
        lines += [f"## {title}: {COUNTER.count(text):,} tokens", ""]
        lines += ["| limit | overflow in the middle | contender | calls | tokens sent | overflows |"]
        lines += ["|---:|---|---|---:|---:|---:|"]
        for limit in OUTPUT_TOKENS:
            for drops in (False, True):
                for name in CONTENDERS:
                    row = measure(name, text, limit, drops=drops)
                    rows.append({"text": title, **row})
                    lines.append(
                        f"| {limit:,} | {'yes' if drops else 'no'} | {name} | {row['calls']} | "
                        f"{row['tokens_sent']:,} | {row['overflows']} |"
                    )
                    print(lines[-1], flush=True)
        lines.append("")
    found: dict[str, Any] = {"rows": rows}
    if not options.no_model:
        found["real_model"] = real_model()
        lines += ["## SmolLM2-135M behind llama.cpp, 1,024 tokens, told 4,096", "", f"`{found['real_model']}`", ""]
        print(lines[-2])
    if options.errors:
        found["classification"] = accuracy(options.errors)
        lines += [f"Provider messages: {found['classification']}", ""]
        print(lines[-2])
    lines += [_verdict(rows), ""]
    print(lines[-2])
    if not options.dry:
        target = Path(__file__).parent / "results" / f"densify-{facts['commit']}"
        target.with_suffix(".md").write_text("\n".join(lines), "utf-8")
        target.with_suffix(".json").write_text(json.dumps({"facts": facts, **found}, indent=1) + "\n", "utf-8")
    return 0


def _verdict(rows: list[dict[str, Any]]) -> str:
    """Where ours took more calls or tokens than the best peer."""
    cases: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        cases.setdefault((row["text"], row["limit"], row["drops"]), {})[row["contender"]] = row
    worse = []
    for case, found in cases.items():
        own = found.pop("Brimful")
        for what in ("calls", "tokens_sent"):
            best = min(row[what] for row in found.values())
            if own[what] > best:
                worse.append(f"{case}: {what} {own[what]:,} against {best:,}")
    return f"{len(cases)} cases; Brimful takes fewer or equal in all but: {worse or 'none'}"


if __name__ == "__main__":
    sys.exit(main())

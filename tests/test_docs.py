"""The documentation answers what users ask, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

import brimful

ROOT = Path(__file__).parent.parent
QUESTIONS = {
    "How is the rest of the bugdet filled after packing?": r"grows? windows into their documents",
    "How do I install it?": r"pip install",
    "How do I use it with Claude or Cursor?": r"mcp install|claude mcp add",
    "Can I use Ollama?": r"ollama:llama|localhost:11434",
    "How do I search only one folder?": r"`--path`|--path TEXT|path:docs",
    "How do I exclude draft documents?": r"without=|-draft|--not-path",
    "Which files are skipped and why?": r"\.gitignore",
    "Are secrets like API keys indexed?": r"credential",
    "Where is the index stored on my disk?": r"\bcache\b",
    "How do I delete the index of a folder?": r"stores rm|remove",
    "How do I keep the index up to date when files change?": r"add (docs )?--watch",
    "Which models' tokens are counted exactly?": r"o200k_base",
    "How accurate is the token count for Claude?": r"estimate",
    "Can it read PDF and Word files?": r"DOCX",
    "How do I check that an answer's quotes are right?": r"--answer|check_answer|check-answer",
    "How do I verify a receipt?": r"brimful verify",
    "How do I use hits from my own retriever?": r"Hit\.of|inflate\(",
    "How do I use it in LangChain?": r"BrimfulRetriever",
    "How do I condense a long document?": r"brimful densify",
    "Why is my answer empty?": r"no document has|nothing answers it|the answer is empty",
    "Can several people share one store on PostgreSQL?": r"postgresql://|brimful\[postgres\]",
    "How large can a corpus be?": r"tens of gigabytes",
}
MAY_FAIL = 2


def test_documentation_answers_what_users_ask(tmp_path):
    """Of the questions of users, the demo's first, all but two find their answer in a context of 1,000 tokens."""
    with brimful.open(tmp_path / "store.db", embedder="none") as engine:
        engine.add(ROOT / "docs")
        engine.add(ROOT / "README.md")
        texts = {question: engine.context(question, budget=1_000).text for question in QUESTIONS}
    missed = [question for question, answer in QUESTIONS.items() if not re.search(answer, texts[question])]
    assert next(iter(QUESTIONS)) not in missed
    assert len(missed) <= MAY_FAIL, missed


def test_every_module_of_the_map_is_there():
    """ARCHITECTURE.md names modules that exist, each with names that stand in it."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    absent = []
    for cell in re.split(r"[|\n]", text):
        source = ""
        for name in re.findall(r"`([\w./]+)`", cell):
            if name.endswith(".py"):
                module = ROOT / "src/brimful" / name
                source = module.read_text("utf-8") if module.exists() else ""
                absent += [] if source else [name]
            elif source and not name.endswith("/") and not re.search(rf"\b{name.rpartition('.')[2]}\b", source):
                absent.append(f"{name} in {module.name}")
    assert absent == []


def anchors(page):
    """The names of a page's headings, as they are linked."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")], ids=lambda page: page.name
)
def test_every_link_leads_somewhere(page):
    """Files and headings that a page links to exist."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s:]+)\)", text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []

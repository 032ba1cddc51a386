"""Questions as people ask them: each row is a way in which a search engine fails its users."""

import pytest

import brimful
from brimful.errors import BrimfulError

FILLER = "The harbour is quiet in winter, and the ledger lies open on the desk beside the brass lamp. "


@pytest.fixture
def ask(tmp_path):
    """A store of some texts, and the context that a question gets there."""
    opened = []

    def made(documents, **choices):
        engine = brimful.open(tmp_path / f"{len(opened)}.db")
        opened.append(engine)
        engine.add_documents(brimful.Document(path, text) for path, text in documents.items())

        def context(question, budget=120, **more):
            return engine.context(question, budget=budget, **choices, **more)

        return context

    yield made
    for engine in opened:
        engine.close()


PYTHON = {
    "datamodel.md": f"# Classes\n\n{FILLER * 9}A metaclass is the class of a class; it makes classes.\n\n{FILLER * 9}",
    "checks.py": "def isa(node):\n    return True\n\n\ndef whatis(x):\n    return isa(x)\n\n\ndef doi_in(y): ...\n",
    "paths.py": "def whereis(program):\n    return program\n\n\n" + "value = 1\n" * 40,
    "encodings.md": f"{FILLER * 9}The default encoding is set by the environment when it starts.\n\n{FILLER * 9}",
    "errors.md": f"{FILLER * 9}To format a traceback, call format_exc while the error is handled.\n\n{FILLER * 9}",
}


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is a metaclass?", "A metaclass is the class of a class"),
        ("Where is the default encoding set?", "default encoding is set by the environment"),
        ("How do I format a traceback?", "call format_exc while the error is handled"),
    ],
)
def test_little_words_are_never_glued(ask, question, wanted):
    """`isa`, `whereis` and `doi_in` are not what somebody means who asks what is, where is, how do I."""
    context = ask(PYTHON)(question)
    assert wanted in context.text
    assert context.windows[0].path.endswith(".md")


def test_neighbours_that_are_one_word_count_as_both(ask):
    """`data base` finds `database`, which weighs no more than the two words do."""
    found = ask({"a.md": f"{FILLER * 6}The database was slow.", "b.md": FILLER * 20})("why was the data base slow")
    assert "The database was slow." in found.text


def test_quotation_marks_raise_and_never_narrow(ask):
    """Pasted code is full of quotes, dashes and colons: the page that answers need not have any of them."""
    texts = {
        "sessions.md": f"{FILLER * 4}Use session_transaction to look at the session after a client posts a form.",
        "noise.md": f'{FILLER * 4}The string "/login" stands here.',
    }
    question = 'client.post("/login", data={"name": "ines"}) -- how do I look at the session after that? -x path:no'
    assert "session_transaction" in ask(texts)(question).text
    two = {f"{n}.md": f"{FILLER * 5}{'green tea' if n == 3 else 'tea that is green'} pot. " for n in range(6)}
    assert ask(two)('a pot of "green tea"', budget=60).windows[0].path == "3.md"


def test_operators_mean_something_where_they_are_asked_for(ask):
    """The same text narrows as a search does with `operators=True`."""
    texts = {"docs/a.md": "Tea is served.", "notes/b.md": "Tea is cold."}
    assert {w.path for w in ask(texts)("tea path:docs").windows} == set(texts)
    assert {w.path for w in ask(texts)("tea path:docs", operators=True).windows} == {"docs/a.md"}


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"path": "docs/"}, {"docs/a.md", "docs/c.py"}),
        ({"path": ["notes/", "*.py"]}, {"notes/b.md", "docs/c.py"}),
        ({"not_path": "docs/"}, {"notes/b.md"}),
        ({"kind": "code"}, {"docs/c.py"}),
        ({"phrase": "is served"}, {"docs/a.md"}),
        ({"without": "cold"}, {"docs/a.md", "docs/c.py"}),
        ({"without": ["is served", "cold"]}, {"docs/c.py"}),
        ({"path": "docs/", "kind": "prose"}, {"docs/a.md"}),
    ],
)
def test_every_filter_is_an_argument(ask, filters, left):
    """What is said beside a question narrows it."""
    texts = {"docs/a.md": "Tea is served.", "notes/b.md": "Tea is cold.", "docs/c.py": "tea = 1\n"}
    assert {window.path for window in ask(texts)("tea", **filters).windows} == left


@pytest.mark.parametrize(
    "filters",
    [{"after": "tomorrow"}, {"kind": "banana"}, {"path": ""}, {"without": "?!"}, {"before": 3}, {"path": [7]}],
)
def test_a_filter_that_means_nothing_is_an_error(ask, filters):
    """It names the value, and nothing is answered as if it had not been said."""
    value = next(iter(filters.values()))
    with pytest.raises(BrimfulError, match=str(value).strip("[]").replace("?", r"\?") or "empty"):
        ask({"a.md": "Tea."})("tea", **filters)


MERGE = {
    "heapq.py": "import sys\n\n\n" + "LIMIT = 3\n" * 30 + 'def merge(*iterables):\n    """Merge sorted inputs."""\n',
    "test/test_heapq.py": "from heapq import merge\n" + "    assert merge(one, two) == merge(two, one)  # merge\n" * 30,
    "uv.lock": "merge sorted inputs heapq\n" * 20,
}


def test_what_defines_a_name_stands_above_what_mentions_it(ask):
    """The definition comes before thirty calls of it in a test, and before a lock file."""
    context = ask(MERGE)("how does heapq merge sorted inputs?", budget=80)
    assert 'def merge(*iterables):\n    """Merge sorted inputs."""' in context.text
    assert context.windows[0].path == "heapq.py"


def test_which_definitions_are_seen_does_not_depend_on_what_was_added_first(tmp_path):
    """Hundreds of functions have a word of the question in their heads, and not all are read: the best are, not those
    of the first segment.
    """
    heads = "".join(f"def block_{number}(place):\n    return place + {number}\n\n\n" for number in range(500))
    texts = {
        "a.py": f"{heads}def block(segment, place):\n    return segment[place]\n",
        "b.py": f"def block(segment, place):\n    return segment[place]\n\n\n{heads}",
    }
    found = []
    for order in (("a.py", "b.py"), ("b.py", "a.py")):
        with brimful.open(tmp_path / f"{order[0]}.db") as engine:
            for path in order:
                engine.add_text(path, texts[path])
            found.append([(hit.path, hit.start, hit.score) for hit in engine.search("block(segment, place)").hits])
    assert found[0] == found[1]
    assert {path for path, *_ in found[0][:2]} == {"a.py", "b.py"}


def test_tests_are_shown_to_those_who_ask_for_them(ask):
    """A prior holds only as long as the question does not name the kind; one setting switches all of them off."""
    assert ask(MERGE)("test of heapq merge", budget=60).windows[0].path == "test/test_heapq.py"
    without = ask(MERGE, priors=False)("how does heapq merge sorted inputs?", budget=60)
    assert without.text != ask(MERGE)("how does heapq merge sorted inputs?", budget=60).text


def test_a_question_that_names_a_document_is_answered_from_it(ask):
    """Company and year stand in the file's name only."""
    texts = {
        f"{company}_{year}_10K.txt": f"{FILLER * 3}Capital spending was {company[:1]}{year} million. {FILLER * 3}"
        for company in ("ACME", "AMERICANEXPRESS", "GENERALMILLS")
        for year in (2018, 2019, 2020)
    }
    context = ask(texts)("What was the capital spending of American Express in FY2019?", budget=60)
    assert context.windows[0].path == "AMERICANEXPRESS_2019_10K.txt"


def test_a_frame_of_a_traceback_is_a_hit_on_its_line(ask):
    """`tasks.py:230` names a line, though no word of it stands there."""
    lines = [f"    step_{n} = advance(step_{n - 1})" for n in range(1, 400)]
    texts = {"app/tasks.py": "\n".join(lines), "app/other.py": "\n".join(lines), "readme.md": FILLER}
    question = 'Traceback (most recent call last):\n  File "/srv/app/tasks.py", line 230, in run\nValueError: bad'
    assert "step_230 = advance(step_229)" in ask(texts)(question, budget=150).text


def test_relevance_ends(ask):
    """What only fills is marked, and `fill="relevant"` leaves it out."""
    texts = {
        "tea.md": "Limerence is a state of mind that tea can't cure.",
        **{f"{n}.md": f"I like mind games. {FILLER * 3}" for n in range(9)},
    }
    full = ask(texts)("what is limerence, that state of mind?", budget=300)
    marks = [window.filling for window in full.windows]
    assert not marks[0]
    assert any(marks)
    short = ask(texts)("what is limerence, that state of mind?", budget=300, fill="relevant")
    assert {window.path for window in short.windows} == {"tea.md"}


def test_a_foreign_question_is_not_called_unanswerable(ask):
    """Words decide nothing in a language that the corpus does not have."""
    english = {"boiler.md": f"The boiler of the house was serviced in 2024 and it cost 180 euro. {FILLER * 5}"}
    assert "180 euro" in ask(english)("Hoeveel kostte het onderhoud van de ketel in 2024?").text


def test_repair_is_named_and_can_be_switched_off(ask):
    """What was repaired stands in the context; `repair=False` takes words as they are."""
    texts = {"a.md": f"{FILLER * 3}The receipt is checked at noon.", "b.md": FILLER * 20}
    repairs = ask(texts)("when is a reciept checked")
    assert [(each.word, each.term) for each in repairs.corrections] == [(b"reciept", b"receipt")]
    assert ask(texts)("when is a reciept checked", repair=False).corrections == ()


@pytest.mark.parametrize("mark", ["'", "\u2019"])
def test_an_owner_is_found_by_what_is_hers(ask, mark):
    """`Caroline's` asks about Caroline, though no text writes it so."""
    texts = {"a.md": f"{FILLER * 6}Caroline bought a novella.", "b.md": f"{FILLER * 9}A novella lay there."}
    context = ask(texts)(f"what was Caroline{mark}s novella?", budget=60)
    assert "Caroline bought" in context.text
    assert context.relevance.missing == ()


def test_a_dash_before_a_quotation_excludes_nothing(ask):
    """Only `operators` read it so; without them the quotation raises like any other."""
    texts = {"a.md": "Tea that is too hot is served.", "b.md": "Tea is cold."}
    assert ask(texts)('tea -"too hot"', budget=60).windows[0].path == "a.md"
    assert {w.path for w in ask(texts)('tea -"too hot"', operators=True).windows} == {"b.md"}


@pytest.mark.parametrize(
    ("question", "choices", "reason", "nearest"),
    [
        ("what is our parental leave policy?", {}, "no document has: parental, leave", True),
        ("zeppelin", {}, "no document has: zeppelin", False),
        ("policy", {"path": "nowhere/"}, "the filters leave nothing that has a word of the question", False),
        ("", {"path": "nowhere/"}, "the filters leave nothing", False),
        ("?!", {}, "the question has no word to look for", False),
        ("policy", {"budget": 1}, "what was found does not fit into the budget", False),
    ],
)
def test_an_empty_answer_says_why(ask, question, choices, reason, nearest):
    """The cause that a reader can act on, and whether `anyway` has something to show."""
    texts = {
        f"{name}.md": f"# {name.title()} policy\n\n{FILLER}The {name} policy holds for all."
        for name in ("travel", "gift")
    }
    relevance = ask(texts)(question, **choices).relevance
    assert (relevance.reason, relevance.nearest) == (reason, nearest)
    assert bool(ask(texts)(question, **choices, anyway=True).windows) == nearest


def test_an_explanation_names_what_counted_less_and_what_is_missing(tmp_path):
    """The kind of file with its share, unless the question asks for it or priors are off; and words nobody wrote."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_documents(brimful.Document(path, text) for path, text in MERGE.items())
        told = str(engine.explain("how does heapq merge sorted zeppelins?", budget=2_000))
        assert "test: counts 0.6" in told
        assert "generated: counts 0.5" in told
        assert "no document has: zeppelins" in told
        assert "test: counts" not in str(engine.explain("how does the test of heapq merge?", budget=2_000))
        assert "counts 0." not in str(engine.explain("how does heapq merge?", budget=2_000, priors=False))


def test_a_phrase_that_no_document_has_leaves_nothing(ask):
    """Said beside the question it is a filter; quoted in a search it may be a title, and its words are looked for."""
    texts = {"a.md": "Tea is served.", "b.md": "Tea is cold."}
    assert ask(texts)("tea", phrase="cold served").relevance.reason.startswith("the filters leave nothing")
    assert len(ask(texts)('tea "cold served"', operators=True).windows) == len(texts)


def test_a_few_notes_do_not_refuse_a_question_for_plain_words(ask):
    """Whoever asks three notes how hot the water is for tea is answered from the note on tea."""
    texts = {
        "tea.md": "# Green tea\n\nGreen tea is brewed at 80 degrees for two minutes.",
        "a.md": FILLER,
        "b.md": FILLER,
    }
    context = ask(texts)("How hot is the water for green tea?")
    assert "80 degrees" in context.text
    assert context.relevance.missing == ("hot", "water")


def test_a_word_of_which_only_derived_ones_stand_is_named(tmp_path):
    """Where documents have "parents" and nothing parental: it is said, and what is found is shown all the same."""
    pages = {
        f"{name}.md": f"The {name} is where they meet, and it is what they know of the house. " * 60
        for name in ("parents", "policy", "garden")
    }
    with brimful.open(tmp_path / "a.db", embedder="none") as engine:
        engine.add_documents(brimful.Document(path, text) for path, text in pages.items())
        found = engine.search("the parental policies")
        assert found.missing == ("parental",)
        assert {path for path, _ in found.documents[:2]} == {"parents.md", "policy.md"}
        assert found.lacking == 0
        assert engine.search("the gardens").missing == ()


SETTINGS = {
    "settings.rst": f"{FILLER * 9}\n\n``task_always_eager``\n~~~~~~~~~~~~~~~~~~~~~\n\nJobs run at once.\n\n{FILLER}",
    "task.rst": f"{FILLER * 9}\n\nA task is always a function. {FILLER * 9}",
    "eager.rst": f"{FILLER * 9}\n\nAn eager beaver, an eager reader. {FILLER * 9}",
}


def test_a_longer_name_is_found_by_a_shorter_one(ask):
    """Where the documents write a name with a prefix, it is found without."""
    code = f"{FILLER * 9}\n\n    CELERY_TASK_ALWAYS_EAGER = True\n\n{FILLER * 9}"
    context = ask({**SETTINGS, "settings.rst": code})("what does task_always_eager do?")
    assert context.windows[0].path == "settings.rst"
    assert context.relevance.missing == ()


@pytest.mark.parametrize("asked", ["is_in_list", "eager_list_of_names"])
def test_a_name_with_a_part_that_stands_nowhere_is_missing(ask, asked):
    """What has some of its parts only is not what was asked for."""
    context = ask(SETTINGS)(asked)
    assert asked in context.relevance.missing


PRICES = "product,price in euros,supplier,country\nGreen tea,4.20,Hayashi,Japan\nBlack tea,3.10,Assam Ltd,India\n"
ROWS = "".join(f"Blend {n},{n}.00,Supplier {n},Country {n}\n" for n in range(60))


@pytest.mark.parametrize("end", ["csv", "tsv"])
def test_the_row_that_has_the_value_is_shown_below_the_names_of_columns(ask, end):
    """A question names columns and one value: the row with it is shown, with the header above it."""
    table = PRICES + ROWS + "Mate,5.50,Rosamonte,Argentina\n" + ROWS
    table = table.replace(",", "\t") if end == "tsv" else table
    context = ask({f"prices.{end}": table})("What is the price of Mate in euros, and the country?", budget=70)
    header, row = table.splitlines()[0], table.splitlines()[63]
    assert context.text.index(header) < context.text.index(row)


def test_a_question_for_columns_alone_shows_the_table_from_its_top(ask):
    """Where no row has a word of the question, the table is shown from its header on."""
    context = ask({"prices.csv": PRICES + ROWS})("price in euros by supplier and country", budget=70)
    assert context.windows[0].start == 0


TITLES = ("Installing the server", "Restoring a backup", "Rotating the signing key", "Removing a user", "Adding a node")


def test_a_list_of_links_to_elsewhere_is_no_table_of_contents(ask):
    """What leads out of the corpus is what is there to be found."""
    links = "".join(f"- [{title}](https://example.org/{n})\n" for n, title in enumerate(TITLES))
    context = ask({"links.md": f"# Links\n\n{links}", "notes.md": f"{FILLER * 9}A backup is large. {FILLER * 9}"})(
        "restoring a backup", budget=60
    )
    assert context.windows[0].path == "links.md"


@pytest.mark.parametrize("asked", ["TCK-4711", "tck-4711", "4711"])
def test_an_exact_id_is_the_first_window(ask, asked):
    """Of many tickets that share every other word of the question, the one that is named stands first."""
    tickets = {
        f"tickets/{n}.md": f"Ticket TCK-{n}. The status of this ticket is open. {FILLER * 2}"
        for n in range(4_690, 4_730)
    }
    tickets["tickets/4711.md"] = f"Ticket TCK-4711. It was closed by the night shift. {FILLER * 2}"
    context = ask({f"notes/{n}.md": text for n, text in enumerate(tickets.values())})(
        f"What is the status of ticket {asked}?", budget=400
    )
    assert "closed by the night shift" in context.windows[0].text


def test_a_larger_budget_shows_more_places_than_one_document(ask):
    """What a second document says is shown, however often the first one repeats the words of the question."""
    repeated = "".join(f"The boiler in house {n} was repaired, the boiler is fine. {FILLER}\n\n" for n in range(60))
    texts = {
        "boilers.md": repeated,
        "invoices.md": f"{FILLER * 6}The repair of the boiler was paid by Meier. {FILLER * 6}",
        **{f"{n}.md": FILLER * 8 for n in range(6)},
    }
    context = ask(texts)("Who paid for the repair of the boiler?", budget=1_000)
    assert "was paid by Meier" in context.text
    assert {"boilers.md", "invoices.md"} <= {window.path for window in context.windows}


def test_a_long_paste_finds_every_file_that_it_names(ask):
    """A pasted log is read for what is rare in it: each of the two places that it is about is shown."""
    log = "".join(
        f"2024-05-0{n % 9 + 1} 10:00:0{n % 10} INFO worker: the harbour is quiet, ledger {n}\n" for n in range(200)
    )
    paste = (
        f"{log}ERROR PourError: the pot is empty in kettle_valve\n{log}WARNING retry of spout_gauge was refused\n{log}"
    )
    texts = {
        "valve.py": "import pot\n\n\ndef kettle_valve(cup):\n    raise PourError('the pot is empty')\n",
        "gauge.py": "import pot\n\n\ndef spout_gauge(cup):\n    return retry(cup)\n",
        "quiet.md": FILLER * 60,
    }
    context = ask(texts)(paste, budget=200)
    assert {"valve.py", "gauge.py"} <= {window.path for window in context.windows}

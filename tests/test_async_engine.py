"""The engine beside an event loop: the same answers, the loop goes on, cancelled calls end."""

import asyncio
import contextvars
import inspect
import threading

import pytest

from brimful import AsyncEngine, Engine, open_async
from brimful.errors import StoreError
from brimful.testing import FakeModel

PAGES = {
    f"book{n}.md": f"# Book {n}\n\n" + f"A letter came to captain {n}. Tea was served at four. " * 20 for n in range(8)
}
QUESTIONS = ["letter", "When is tea served?", "captain 3", "captian", "nothing of the sort", "tea"] * 4
LONG = 30  # seconds after which a test gives up waiting; nothing takes that long unless it hangs


@pytest.fixture
def engine(tmp_path):
    """A small store."""
    with Engine(tmp_path / "store.db") as made:
        for path, text in PAGES.items():
            made.add_text(path, text)
        yield made


def test_every_method_has_its_twin():
    """AsyncEngine has the public methods of Engine with the same arguments; properties are methods there."""
    beside = {"memory", "columns", "corpus"}  # live objects and their locks, for code that waits
    for name, member in vars(Engine).items():
        if name.startswith("_") or name in beside:
            continue
        twin = getattr(AsyncEngine, name)
        assert inspect.iscoroutinefunction(twin), name
        if not isinstance(member, property):
            assert inspect.signature(twin) == inspect.signature(member), name


def test_every_twin_gives_what_the_engine_gives(engine, tmp_path):
    """From adding to verifying, an await changes nothing."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.md").write_text("A zeppelin came by.")

    async def ask():
        twin = AsyncEngine(engine)
        assert (await twin.add(tmp_path / "more")).added == 1
        assert await twin.add_documents([]) == 0
        await twin.add_text("y.md", "A balloon came by.")
        assert await twin.remove("y.md") == 1
        await twin.purge()
        context = await twin.context("zeppelin", budget=50)
        assert context.text == "[DOC: more/x.md]\nA zeppelin came by.\n"
        assert (await twin.search("zeppelin", limit=1)).hits[0].path == "more/x.md"
        assert not (await twin.search("zeppelin -came", operators=True, not_path="x.md")).hits
        assert str(await twin.explain("zeppelin", budget=50)) == str(engine.explain("zeppelin", budget=50))
        assert await twin.verify(context.receipt) == []
        assert (await twin.replay(context.receipt)).text == context.text
        assert await twin.verify_determinism("zeppelin", budget=50)
        assert await twin.document("more/x.md") == engine.document("more/x.md")
        assert await twin.origins("more/x.md", 0, 5) == ()
        assert await twin.documents("x.md", lines=True) == engine.documents("x.md", lines=True)
        assert await twin.map(budget=50, question="zeppelin") == engine.map(budget=50, question="zeppelin")
        assert (await twin.root(), await twin.roots()) == (engine.root, engine.roots)
        assert (await twin.capture("Tea is at four. Cake is at five.", name="plan")).status == "done"
        assert [capture.name for capture in await twin.captures()] == ["plan"]
        assert (await twin.one_capture("plan")).name == "plan"
        assert (await twin.densify("Tea is at four. Cake is at five.")).is_complete
        assert (await twin.preview(tmp_path / "more")).unchanged == 1
        assert await twin.length("more/x.md") == len(await twin.text("more/x.md", 0, 99))
        assert (await twin.retry_capture("plan")).status == "done"

    asyncio.run(ask())


def test_the_loop_goes_on_while_a_call_works(engine, ticking):
    """A question that ends only after a thousand turns of the loop does end."""

    async def ask():
        context, _ = await asyncio.gather(AsyncEngine(engine).context("tea", budget=50), ticking())
        return context.text

    assert "Tea was served" in asyncio.run(ask())


def test_many_at_once_give_the_same_bytes_as_one_by_one(engine, tmp_path):
    """Answers and receipts do not depend on who else asks."""
    one_by_one = [(c := engine.context(q, budget=120)).text + c.receipt.id for q in QUESTIONS]

    async def ask():
        async with open_async(tmp_path / "store.db") as twin:
            return await asyncio.gather(*(twin.context(question, budget=120) for question in QUESTIONS))

    assert [context.text + context.receipt.id for context in asyncio.run(ask())] == one_by_one


def test_a_call_that_is_cancelled_before_its_turn_never_runs(engine):
    """Cancelling ends the wait at once, and what had not begun is not begun."""
    begun, released = [], threading.Event()

    def slow(engine):
        begun.append(engine)
        assert released.wait(LONG)
        return engine.search("tea")

    async def ask():
        twin = AsyncEngine(engine)
        calls = [asyncio.create_task(twin.call(slow)) for _ in range(40)]
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        for call in calls[1:]:
            call.cancel()
        ended = await asyncio.gather(*calls[1:], return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)
        released.set()
        assert (await calls[0]).hits
        await twin.root()

    asyncio.run(ask())
    assert len(begun) < 40


def test_a_cancelled_capture_stops_calling(engine):
    """Beyond the calls under way, nobody pays for a capture that was given up."""
    called, cancelled = threading.Event(), threading.Event()

    def fails(number):
        called.set()
        assert cancelled.wait(LONG)

    model = FakeModel(limit=2_000, stated_limit=2_000, fails=fails)
    text = "".join(f"Sentence number {n} says something of its own. " for n in range(10_000))

    async def capture():
        twin = AsyncEngine(engine)
        call = asyncio.create_task(twin.capture(text, name="long", model=model))
        while not called.is_set():
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        cancelled.set()
        while (kept := (await twin.captures())[0]).status == "pending":
            await asyncio.sleep(0.001)
        return kept

    kept = asyncio.run(capture())
    assert model.calls < 40  # the whole text takes some 80
    assert (kept.status, kept.message.split(":")[0]) == ("failed", "cancelled")


def test_errors_and_context_variables_pass_through(engine):
    """What a call raises is raised where it is awaited, and it sees the caller's context variables."""
    variable = contextvars.ContextVar("variable", default="none")

    async def ask():
        variable.set("mine")
        twin = AsyncEngine(engine)
        with pytest.raises(ValueError, match="at least 1"):
            await twin.search("tea", limit=0)
        return await twin.call(lambda _engine: variable.get())

    assert asyncio.run(ask()) == "mine"


def test_a_closed_engine_says_so(tmp_path):
    """Closing twice is fine, asking afterwards is not; nothing is opened before the first call."""

    async def close():
        twin = open_async(tmp_path / "never.db")
        await twin.close()
        assert not (tmp_path / "never.db").exists()
        async with open_async(tmp_path / "store.db") as opened:
            await opened.add_text("a.md", "Tea.")
        await opened.close()
        with pytest.raises(StoreError, match="closed"):
            await opened.search("tea")

    asyncio.run(close())

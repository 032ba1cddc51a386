"""Which commands and options are there? Declarations only: what they do is imported when one is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from brimful.errors import InputError
from brimful.settings import DEFAULT_MODEL, FILLS, FORMATS, PACKINGS, SIZINGS, STRATEGIES, chosen

app = typer.Typer(
    name="brimful",
    help="Fill a language model's context to the brim, never over it, with every byte cited.",
    epilog="Exit codes: 0 found, 1 nothing found, 2 usage or input, 3 partial, 4 provider, 5 storage.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask; - reads it from standard input.")]
Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files, folders or globs to read first; without any, a store is asked."),
]
Store = Annotated[
    str | None,
    typer.Option("--store", "-s", metavar="FILE", envvar="BRIMFUL_STORE", help="The store: a file, or its folder."),
]
Source = Annotated[str, typer.Argument(metavar="[FILE]", help="What to condense; - reads standard input.")]
Condenser = Annotated[
    str,
    typer.Option("--model", "-m", metavar="NAME", help="Who condenses: openai:NAME, ollama:NAME, http://...#NAME."),
]
AsJson = Annotated[bool, typer.Option("--json", help="The whole result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on standard error but errors.")]


def _choice(flag: str, names: tuple[str, ...], text: str) -> typer.models.OptionInfo:
    option = typer.Option(flag, metavar="|".join(names), help=text, autocompletion=lambda: list(names))
    assert isinstance(option, typer.models.OptionInfo)
    return option


def _version(wanted: bool) -> None:  # noqa: FBT001  (typer's shape)
    if wanted:
        from brimful import __version__

        typer.echo(f"brimful {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version and leave.")
    ] = False,
) -> None:
    """Fill a language model's context to the brim, never over it, with every byte cited."""


@app.command(short_help="Answer a question with a context that fits.")
def context(
    question: Question,
    paths: Paths = None,
    *,
    budget: Annotated[int, typer.Option("--budget", "-b", metavar="TOKENS", help="Tokens to fill.")] = 4_000,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Whose tokens: a model or a vocabulary.")
    ] = DEFAULT_MODEL,
    format: Annotated[str, _choice("--format", FORMATS, "How the context is written.")] = "plain",  # noqa: A002
    sizing: Annotated[str, _choice("--sizing", SIZINGS, "How much surrounds a hit.")] = "field",
    strategy: Annotated[str, _choice("--strategy", STRATEGIES, "Which windows belong together.")] = "adjacent",
    packing: Annotated[str, _choice("--packing", PACKINGS, "Which windows get in first.")] = "greedy",
    fill: Annotated[str, _choice("--fill", FILLS, "Fill the rest, or stop at what matters.")] = "brim",
    densify: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Condense what does not fit: extractive:, openai:NAME, ...")
    ] = None,
    receipt: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the receipt to this file.")] = None,
    store: Store = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Answer a question with a context of at most --budget tokens.

    The context goes to standard output; the budget bar, the citations and what was left out go to standard error.
    """
    settings = chosen(model=model, format=format, sizing=sizing, strategy=strategy, packing=packing, fill=fill)
    _check_budget(budget)
    from brimful.surfaces.cli import commands

    _leave(
        commands.context(
            question,
            paths or (),
            budget=budget,
            settings=replace(settings, densify=densify),
            store=store,
            as_json=as_json,
            receipt=receipt,
            quiet=quiet,
        )
    )


@app.command(short_help="Show the places that matter most.")
def search(
    question: Question,
    paths: Paths = None,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="HITS", help="How many to show.")] = 10,
    store: Store = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show the places that matter most, a line each: path, lines, text."""
    from brimful.surfaces.cli import commands

    _leave(commands.search(question, paths or (), limit=limit, store=store, as_json=as_json, quiet=quiet))


@app.command(short_help="Bring files into a store, or up to date.")
def add(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files, folders or globs; without any, all that was added before."),
    ] = None,
    *,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="REASON", help="Take in what is left out for this reason; may be repeated."),
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Bring files into a store, or bring the store up to date with them."""
    from brimful.surfaces.cli import commands

    _leave(commands.add(paths or (), store=store, allow=allow or (), as_json=as_json, quiet=quiet))


@app.command(short_help="Show what a store holds.")
def status(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="What was asked before, to show its store.")
    ] = None,
    *,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Walk the folders again and list what is left out.")
    ] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show what a store holds: documents, bytes, state root, and what was added."""
    from brimful.surfaces.cli import commands

    _leave(commands.status(paths or (), store=store, skipped=skipped, as_json=as_json))


@app.command(short_help="Check that all is still as a receipt cites it.")
def verify(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="A file that `context --receipt` wrote.")],
    *,
    files: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Compare with the files that were read, below this folder.")
    ] = None,
    text: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with the context's text.")] = None,
    store: Annotated[str | None, typer.Option("--store", "-s", metavar="FILE", help="Compare with this store.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that everything is still as a receipt cites it; each byte that is not is named."""
    from brimful.surfaces.cli.receipts import verify as check

    _leave(check(receipt, files=files, text=text, store=store, as_json=as_json))


@app.command("eval", short_help="Measure recall at budgets.")
def evaluate(
    place: Annotated[str | None, typer.Argument(metavar="SET", help="The folder of a set.")] = None,
    *,
    make: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Make a set there from --path or a store, then ask it.")
    ] = None,
    paths: Annotated[
        list[str] | None, typer.Option("--path", metavar="PATH", help="What to make the set from; may be repeated.")
    ] = None,
    questions: Annotated[int, typer.Option(metavar="N", help="How many questions to make.")] = 100,
    budgets: Annotated[
        str, typer.Option(metavar="TOKENS,...", help="The budgets to measure at.")
    ] = "500,1000,2000,4000",
    split: Annotated[str, typer.Option(metavar="all|dev|holdout", help="Which half of the questions.")] = "all",
    scope: Annotated[
        str, typer.Option(metavar="pooled|own", help="Ask all documents, or a question's own.")
    ] = "pooled",
    limit: Annotated[int | None, typer.Option(metavar="N", help="Ask only so many questions.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw recall by budget.")] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Measure recall, precision, IoU and full coverage at budgets, on a set or on your own documents."""
    sizes = _sizes(budgets)
    from brimful.surfaces.cli.evaluating import evaluate as run

    _leave(
        run(
            place,
            paths or (),
            make=make,
            questions=questions,
            budgets=sizes,
            split=split,
            scope=scope,
            limit=limit,
            store=store,
            as_json=as_json,
            svg=svg,
        )
    )


@app.command(short_help="Condense a text through a model, or without one.")
def densify(
    file: Source = "-",
    *,
    model: Condenser = "extractive:",
    target: Annotated[
        int | None, typer.Option("--target", "-t", metavar="TOKENS", help="About how long the digest should be.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", metavar="TOKENS", help="How long it may be at most, to the token.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="TOKENS", help="The model's context limit, where you know it better.")
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where answers are kept, so that none is paid twice.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Condense a text of any length.

    The digest goes to standard output; progress, its cost and where each sentence comes from go to standard error.
    """
    from brimful.surfaces.cli import digests

    _leave(
        digests.densify(
            file,
            model=model,
            target=target,
            budget=budget,
            limit=limit,
            memory=memory,
            as_json=as_json,
            quiet=quiet,
        )
    )


@app.command(short_help="Write a text down, condense it, and make it searchable.")
def capture(
    file: Source = "-",
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it; else the file's name.")] = None,
    model: Condenser = "extractive:",
    store: Store = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a text down, condense it, and store the digest as a document that search finds."""
    from brimful.surfaces.cli import digests

    _leave(digests.capture(file, name=name, model=model, store=store, as_json=as_json, quiet=quiet))


@app.command(short_help="Show what was captured, or try one again.")
def captures(
    *,
    retry: Annotated[
        str | None, typer.Option(metavar="NAME", help="Try this one again; it pays only for what is missing.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show what was captured, a line each: status, model, name, and why it failed."""
    from brimful.surfaces.cli import digests

    _leave(digests.captures(retry=retry, store=store, as_json=as_json))


@app.command(short_help="Forget documents.")
def remove(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Documents as they are cited, their folders, or globs.")
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Forget documents; their files are not touched, and adding them again brings them back."""
    from brimful.surfaces.cli import commands

    _leave(commands.remove(paths, store=store, dry_run=dry_run, as_json=as_json))


@app.command(short_help="Erase what was removed, or a whole store.")
def purge(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Delete the whole store.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Leave no byte of what was removed or replaced in the store's file."""
    from brimful.surfaces.cli import commands

    _leave(commands.purge(store=store, everything=everything, yes=yes, as_json=as_json))


Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond loopback needs a token.")]
TokenEnv = Annotated[
    str | None,
    typer.Option(metavar="VARIABLE", help="The environment variable that holds the bearer token.", show_default=False),
]


@app.command(short_help="Answer over HTTP, with a page to look at.")
def serve(
    paths: Paths = None,
    *,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", metavar="PORT", help="0 takes any that is free.")] = 8_080,
    token_env: TokenEnv = None,
    store: Store = None,
    quiet: Quiet = False,
) -> None:
    """Answer over HTTP, with a page to look at; the bearer token is read from BRIMFUL_TOKEN."""
    from brimful.surfaces.cli import serving

    _leave(serving.serve(paths or (), store=store, host=host, port=port, token_env=token_env, quiet=quiet))


@app.command(short_help="Answer a model's tools (Model Context Protocol).")
def mcp(
    paths: Paths = None,
    *,
    transport: Annotated[str, _choice("--transport", ("stdio", "http"), "How the client talks.")] = "stdio",
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", metavar="PORT", help="0 takes any that is free.")] = 8_081,
    token_env: TokenEnv = None,
    store: Store = None,
    quiet: Quiet = False,
) -> None:
    """Answer a model's tools over the Model Context Protocol; with stdio, nothing else is written to standard output."""
    from brimful.surfaces.cli import serving

    _leave(
        serving.mcp(
            paths or (),
            store=store,
            transport=transport,
            host=host,
            port=port,
            token_env=token_env,
            quiet=quiet,
        )
    )


def _check_budget(budget: int) -> None:
    from brimful.budget import budget_of

    budget_of(budget)


def _sizes(budgets: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in budgets.split(",") if each.strip())
    except ValueError as error:
        raise InputError(f"budgets are whole numbers with commas between them, got {budgets!r}") from error


def _leave(code: int) -> NoReturn:
    raise typer.Exit(code)

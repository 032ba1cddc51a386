"""Which commands serve, measure, examine and set up the program itself? Declarations, as in `app`."""

from __future__ import annotations

from typing import Annotated

import typer

from brimful.surfaces.cli import options as to
from brimful.surfaces.cli.dispatch import run

upkeep = typer.Typer()


@upkeep.command(short_help="Let a model read everything ahead.")
def warm(
    paths: to.Paths = None,
    *,
    embedder: to.Embedder = "auto",
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Let the model read every passage ahead; questions are then compared with all of them, whatever their words.

    Broken off, it goes on where it ended; after a change it reads what is new.
    """
    return run("warm", locals())


@upkeep.command(short_help="List the stores of the cache, or prune them.")
def stores(
    *,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the stores whose folders are not there any more.")
    ] = False,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
) -> int:
    """List the stores that the cache keeps for folders: bytes, documents, what was added, and the store's own name.

    --prune deletes those of which nothing that was added is there any more; a disk that is not mounted looks so too.
    """
    return run("stores", locals())


@upkeep.command(short_help="Answer over HTTP, with a page to look at.")
def serve(
    paths: to.Paths = None,
    *,
    host: to.Host = "127.0.0.1",
    port: to.Port = 8_080,
    token_env: to.TokenEnv = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Another name the server is called by; may be repeated."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--allow-model", metavar="MODEL", help="A model that clients may condense with; may be repeated."),
    ] = None,
    watch: to.Watch = True,
    embedder: to.Embedder = "auto",
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Answer over HTTP, with a page to look at, until Ctrl-C; the bearer token is read from BRIMFUL_TOKEN."""
    return run("serve", locals())


@upkeep.command(short_help="Answer a model's tools (Model Context Protocol).")
def mcp(
    paths: to.Paths = None,
    *,
    transport: Annotated[str, typer.Option(metavar="stdio|http", help="How the client talks.")] = "stdio",
    host: to.Host = "127.0.0.1",
    port: to.Port = 8_081,
    token_env: to.TokenEnv = None,
    watch: to.Watch = True,
    embedder: to.Embedder = "auto",
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Answer a model's tools over the Model Context Protocol.

    With stdio, nothing but the protocol is written to standard output.
    """
    return run("mcp", locals())


@upkeep.command("eval", short_help="Measure recall at budgets.")
def evaluate(
    place: Annotated[str | None, typer.Argument(metavar="SET", help="The folder of a set.")] = None,
    *,
    make: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Make a set there from --path or a store, then ask it.")
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
    svg: Annotated[str | None, typer.Option(metavar="FILE", help="Draw recall by budget.")] = None,
    set: to.Set = None,  # noqa: A002
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Measure recall, precision, IoU and full coverage at budgets, on a set or on your own documents."""
    return run("eval", locals())


@upkeep.command(short_help="Look whether everything that is needed is there.")
def doctor(
    *,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="Also ask this model's server for an answer.")
    ] = None,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Look whether everything that is needed is there: parts, store, vectors, vocabularies, room on the disk.

    No model is called unless one is named.
    """
    return run("doctor", locals())


@upkeep.command(short_help="Copy a store to another, a file or a server's.")
def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The store to copy: a file, a folder or an address.")],
    target: Annotated[str, typer.Argument(metavar="DEST", help="The store to copy to, made where it is not there.")],
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Forget documents that only DEST has.")] = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Copy a store to another, between files and servers, without indexing anything again.

    A copy that was broken off goes on where it ended. It is done when both have the same state root.
    """
    return run("copy", locals())


@upkeep.command(short_help="What an administrator of PostgreSQL needs.")
def postgres(
    action: Annotated[str, typer.Argument(metavar="roles|terms", help="What to do.")],
    *,
    role: Annotated[str | None, typer.Option(metavar="ROLE", help="The role that may use the corpus.")] = None,
    readers: Annotated[str | None, typer.Option(metavar="ROLE", help="Another role that may only ask it.")] = None,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Print the statements that let a role use one corpus and nothing else, or list the words of a corpus in a table.

    roles: for psql, as whoever owns the tables. terms: fills the table of terms, to be looked into with SQL.
    """
    return run("postgres", locals())


@upkeep.command(short_help="Show each setting and where it came from, or set one.")
def config(
    action: Annotated[str, typer.Argument(metavar="show|path|get|set", help="What to do.")] = "show",
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="Which setting, for get and set.")] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="Its new value, for set.")] = None,
    *,
    project: Annotated[bool, typer.Option("--project", help="Set it in this folder's .brimful.toml.")] = False,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
) -> int:
    """Show each setting and where it came from, or set one in the user's file.

    An option comes before the environment, that before the project's file, that before the user's.
    """
    return run("config", locals())


@upkeep.command(short_help="Print the completion script of a shell.")
def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="Which shell.")],
    *,
    as_json: to.AsJson = False,
) -> int:
    """Print the completion script of a shell.

    bash: eval "$(brimful completion bash)". zsh the same. fish: brimful completion fish | source.
    """
    return run("completion", locals())

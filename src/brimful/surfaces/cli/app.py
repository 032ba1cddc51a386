"""Which commands and options are there? Declarations only."""

from __future__ import annotations

from typing import Annotated

import typer

from brimful.settings import DEFAULT_MODEL
from brimful.surfaces.cli import options as to
from brimful.surfaces.cli.dispatch import run

# ---- upkeep: Which commands serve, measure, examine and set up the program itself? Declarations, as in `app`.

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
    ray: to.Ray = None,
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


@upkeep.command(short_help="Spread a corpus over several stores.")
def shard(
    action: Annotated[str, typer.Argument(metavar="list|add|move|remove|rebalance", help="What to do.")] = "list",
    stores: Annotated[
        list[str] | None, typer.Argument(metavar="STORE", help="Files or addresses, as they are to stand in the list.")
    ] = None,
    *,
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Spread a corpus over several stores: files and servers that a list names, such as team.toml.

    The list is what --store takes. list: what each shard holds. add: more shards, empty ones, or one with a corpus.
    rebalance: move documents until all hold about as much. move: all of one shard to another store. remove: all of one
    to the others. What was broken off is finished by the next rebalance, and nothing is missing until then.
    """
    return run("shard", locals())


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


# ---- app: Which commands and options are there?
#
# Declarations only: `dispatch` knows what each does. From them `make cli-docs` writes help.txt and grammar.json, so
# that help is shown and a plain command line is read without this module; whatever is not plain comes here.

app = typer.Typer(
    name="brimful",
    help="Fill a language model's context to the brim, never over it, with every byte cited.",
    epilog="Exit codes: 0 found, 1 nothing found, 2 usage or input, 3 partial, 4 provider, 5 storage.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    no_args_is_help=True,
)


@app.callback()
def _options(
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No colour; works in any place, as NO_COLOR does.")
    ] = False,
) -> None:
    """Fill a language model's context to the brim, never over it, with every byte cited."""


# ---- questions


@app.command(short_help="Answer a question with a context that fits.")
def context(
    question: to.Question,
    paths: to.Paths = None,
    *,
    budget: to.Budget = 4_000,
    model: to.Model = DEFAULT_MODEL,
    format: to.Format = "plain",  # noqa: A002
    sizing: to.Sizing = "field",
    strategy: to.Strategy = "adjacent",
    packing: to.Packing = "greedy",
    fill: to.Fill = "brim",
    densify: to.Densify = None,
    line_numbers: to.LineNumbers = "ranges",
    with_question: to.WithQuestion = None,
    map_percent: to.MapShare = 0,
    path: to.Within = None,
    not_path: to.NotWithin = None,
    kind: to.Kind = None,
    after: to.After = None,
    before: to.Before = None,
    phrase: to.Phrase = None,
    without: to.Without = None,
    operators: to.Operators = False,
    repair: to.Repair = True,
    priors: to.Priors = True,
    anyway: to.Anyway = False,
    partial: to.Partial = False,
    meaning: to.Meaning = "auto",
    embedder: to.Embedder = "auto",
    set: to.Set = None,  # noqa: A002
    synonyms: to.Synonyms = None,
    receipt: Annotated[str | None, typer.Option(metavar="FILE", help="Write the receipt to this file.")] = None,
    copy: to.Copy = False,
    store: to.Store = None,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Answer a question with a context of at most --budget tokens.

    The context goes to standard output; the budget bar, the citations and what was left out go to standard error.
    """
    return run("context", locals())


@app.command(short_help="Show the places that matter most.")
def search(
    question: to.Question,
    paths: to.Paths = None,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="HITS", help="How many to show.")] = 10,
    around: Annotated[
        int, typer.Option("--context", "-C", metavar="LINES", help="Show so many lines around each, as grep does.")
    ] = 0,
    path: to.Within = None,
    not_path: to.NotWithin = None,
    kind: to.Kind = None,
    after: to.After = None,
    before: to.Before = None,
    phrase: to.Phrase = None,
    without: to.Without = None,
    operators: to.Operators = True,
    repair: to.Repair = True,
    priors: to.Priors = True,
    meaning: to.Meaning = "auto",
    embedder: to.Embedder = "auto",
    copy: to.Copy = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Show the places that matter most, a line each: path, lines, text."""
    return run("search", locals())


@app.command(short_help="Show why each window is in, and what was left out.")
def explain(
    question: Annotated[
        str, typer.Argument(metavar="RECEIPT|QUESTION", help="A receipt's file, to ask it again; or a question.")
    ],
    paths: to.Paths = None,
    *,
    budget: to.Budget = 4_000,
    model: to.Model = DEFAULT_MODEL,
    format: to.Format = "plain",  # noqa: A002
    sizing: to.Sizing = "field",
    strategy: to.Strategy = "adjacent",
    packing: to.Packing = "greedy",
    fill: to.Fill = "brim",
    path: to.Within = None,
    not_path: to.NotWithin = None,
    kind: to.Kind = None,
    after: to.After = None,
    before: to.Before = None,
    phrase: to.Phrase = None,
    without: to.Without = None,
    operators: to.Operators = False,
    repair: to.Repair = True,
    priors: to.Priors = True,
    anyway: to.Anyway = False,
    partial: to.Partial = False,
    meaning: to.Meaning = "auto",
    embedder: to.Embedder = "auto",
    set: to.Set = None,  # noqa: A002
    synonyms: to.Synonyms = None,
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Show how a question was understood, why each window is in, and at which budget the next ones enter.

    A receipt is asked again with its own settings; whether its bytes are still the same is told.
    """
    return run("explain", locals())


@app.command(short_help="Verify a receipt against its sources.")
def verify(
    receipt: Annotated[str, typer.Argument(metavar="RECEIPT", help="A file that `context --receipt` wrote.")],
    *,
    files: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Compare with the files that were read, below this folder.")
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="FILE", help="Compare with the context's text.")] = None,
    store: Annotated[str | None, typer.Option("--store", "-s", metavar="FILE", help="Compare with this store.")] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Also ask the question again: ranking, omissions, settings.")
    ] = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Write the text again from its sources and compare all that a receipt says; what differs is named.

    Give it the sources: --files or --store. Without them, only the receipt itself (and --text) is checked.
    """
    return run("verify", locals())


@app.command(short_help="Resolve a citation, or check what an answer quotes.")
def cite(
    place: Annotated[
        str | None, typer.Argument(metavar="[PATH:LINES]", help="A citation, as in tea.md:12-30, to print its bytes.")
    ] = None,
    *,
    answer: Annotated[
        str | None, typer.Option(metavar="FILE", help="An answer to check; - reads standard input.")
    ] = None,
    receipt: Annotated[
        str | None, typer.Option(metavar="FILE", help="The receipt of the context that was answered from.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="FILE", help="Or the context itself, as it was printed; no store is needed.")
    ] = None,
    format: to.Format = "plain",  # noqa: A002
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Print the bytes that a citation names, or check an answer against a receipt or a context.

    Each quotation and citation of the answer gets a line: where it stands, or that it does not.
    """
    return run("cite", locals())


# ---- the corpus


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
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="PATTERN", help="Leave these out, as in .gitignore; may be repeated."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="PATTERN", help="Take in only these, as in .gitignore; may be repeated."),
    ] = None,
    ray: to.Ray = None,
    store: to.Store = None,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Bring files into a store, or bring the store up to date with them."""
    return run("add", locals())


@app.command(short_help="Keep a store up to date while files change.")
def watch(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files, folders or globs; without any, all that was added before."),
    ] = None,
    *,
    poll: Annotated[bool, typer.Option("--poll", help="Look twice a second; for network file systems.")] = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Keep a store up to date while files change, a line per file, until Ctrl-C."""
    return run("watch", locals())


@app.command(short_help="Show what a store holds.")
def status(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="What was asked before, to show its store.")
    ] = None,
    *,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Look at the folders again and list what is left out.")
    ] = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Show what a store holds: documents, bytes, state root, and what was added."""
    return run("status", locals())


@app.command("map", short_help="Show what is there: files, headings, definitions.")
def show_map(
    paths: to.Paths = None,
    *,
    budget: to.Budget = 4_000,
    question: Annotated[
        str | None, typer.Option("--question", metavar="QUESTION", help="Show first what this question is about.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="TEXT", help="Only paths that have this, or fit this pattern; any of several."),
    ] = None,
    model: to.Model = DEFAULT_MODEL,
    copy: to.Copy = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Show a map of the corpus in at most --budget tokens: files with their headings and definitions.

    Every file is named before any is opened; with --question, the files that it finds come first.
    """
    return run("map", locals())


@app.command("ls", short_help="List the stored documents.")
def list_documents(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FOLDER] [PATTERN]", help="What was asked before; a part or pattern of the paths."),
    ] = None,
    *,
    lines: Annotated[bool, typer.Option("--lines", help="Count the lines too, which reads the documents.")] = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """List the stored documents: size, kind, time, path. Through a pipe one path a line."""
    return run("ls", locals())


@app.command("get", short_help="Print a stored document, or some of its lines.")
def get(
    place: Annotated[
        str, typer.Argument(metavar="PATH[:LINES]", help="A path as it is cited; lines as in tea.md:12-30 or tea.md:7.")
    ],
    *,
    copy: to.Copy = False,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Print the stored text of a document, or of some of its lines, exactly as it is stored."""
    return run("get", locals())


@app.command(short_help="Forget documents.")
def remove(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Documents as they are cited, their folders, or globs.")
    ],
    *,
    store: to.Store = None,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
) -> int:
    """Forget documents; their files are not touched, and adding them again brings them back."""
    return run("remove", locals())


@app.command(short_help="Erase what was removed, or a whole store.")
def purge(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Delete the whole store.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: to.Store = None,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
) -> int:
    """Leave no byte of what was removed or replaced in the store's file."""
    return run("purge", locals())


# ---- digests


@app.command(short_help="Condense a text through a model, or without one.")
def densify(
    file: to.Source = "-",
    *,
    model: to.Condenser = "extractive:",
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
        str | None, typer.Option(metavar="FILE", help="Where answers are kept, so that none is paid twice.")
    ] = None,
    copy: to.Copy = False,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Condense a text of any length.

    The digest goes to standard output; progress, its cost and where each sentence comes from go to standard error.
    """
    return run("densify", locals())


@app.command(short_help="Write a text down, condense it, and make it searchable.")
def capture(
    file: to.Source = "-",
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it; else the file's name.")] = None,
    model: to.Condenser = "extractive:",
    store: to.Store = None,
    dry_run: to.DryRun = False,
    as_json: to.AsJson = False,
    quiet: to.Quiet = False,
) -> int:
    """Store a text whole, condense it, and store the digest beside it; search finds both."""
    return run("capture", locals())


@app.command(short_help="Show what was captured, or try one again.")
def captures(
    *,
    retry: Annotated[
        str | None, typer.Option(metavar="NAME", help="Try this one again; it pays only for what is missing.")
    ] = None,
    store: to.Store = None,
    as_json: to.AsJson = False,
) -> int:
    """Show what was captured, a line each: status, model, name, and why it failed."""
    return run("captures", locals())


app.add_typer(upkeep)

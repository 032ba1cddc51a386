"""Commands, arguments and options: one table for reading lines, help and completion.

The choices of a question are declared in `settings`; `context` shows the ones that people need, `--set` takes any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from brimful.choices import Choice
from brimful.settings import ASKED

PREFIX = "BRIMFUL_"
ABOUT = "Find the passages that answer a question and fill a language model's context with them, never over its budget."
EXITS = "Exit codes: 0 found, 1 nothing found, 2 usage, 3 partial, 4 provider, 5 storage."
GROUPS = WRITTEN, _NARROWED, OPTIONS = "What is written", "Which documents may answer", "Options"
_SHORT = {"budget": "-b", "model": "-m"}
_FOR_CONTEXT = (
    *("budget", "model", "format", "fill", "with_question", "map_percent", "densify", "anyway", "repair"),
    *("path", "not_path", "kind", "after", "before"),
)
_FOR_SEARCH = tuple(name for name, choice in ASKED.items() if choice.searches)


class Argument(NamedTuple):
    """A word without a dash; the last one of a command may take many."""

    name: str
    metavar: str
    help: str
    is_needed: bool = False
    takes_many: bool = False
    default: str | None = None


class Option(NamedTuple):
    """A word with a dash; `key` names the setting that replaces a missing option, `off` the flags that negate it."""

    name: str
    flags: tuple[str, ...]
    help: str
    kind: Literal["flag", "int", "float", "text", "texts"] = "text"
    metavar: str = ""
    default: object = None
    off: tuple[str, ...] = ()
    key: str | None = None
    choice: Choice | None = None  # one of a question's choices
    group: str = OPTIONS


class Command(NamedTuple):
    """A command, and the module of this package that runs it; the first sentence of `about` is its summary."""

    name: str
    module: str
    about: str
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]
    examples: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first sentence, for the list of commands."""
        return self.about.partition(". ")[0].removesuffix(".") + "."


def _choices(names: Iterable[str], **defaults: object) -> tuple[Option, ...]:
    """An option for each of a question's choices."""
    return tuple(_choice(ASKED[name], default=defaults.get(name, ASKED[name].default)) for name in names)


def _choice(choice: Choice, *, default: object) -> Option:
    name = choice.flag or choice.name.replace("_", "-")
    is_switch = choice.kind == "bool"
    return Option(
        choice.name,
        (f"--{name}", *((_SHORT[choice.name],) if choice.name in _SHORT else ())),
        choice.help,
        "flag" if choice.kind == "bool" else choice.kind,
        "" if is_switch else "|".join(choice.names) or choice.unit.upper() or "N",
        default,
        (f"--{choice.off or f'no-{name}'}",) if is_switch else (),
        choice.name if choice.is_set else None,
        choice,
        WRITTEN if choice.is_set else _NARROWED,
    )


def _plain(name: str) -> Option:
    """A choice of a question as an option of a command that takes its value directly."""
    return _choice(ASKED[name], default=ASKED[name].default)._replace(choice=None, group=OPTIONS)


def _switch(name: str, flag: str, text: str, *short: str) -> Option:
    return Option(name, (flag, *short), text, "flag", default=False)


def _value(name: str, metavar: str, text: str, default: object = None, *short: str, key: str | None = None) -> Option:
    return Option(name, (f"--{name.replace('_', '-')}", *short), text, "text", metavar, default, key=key)


def _number(name: str, metavar: str, text: str, default: int | None = None, *short: str) -> Option:
    return _value(name, metavar, text, default, *short)._replace(kind="int")


def _several(name: str, flag: str, metavar: str, text: str, group: str = OPTIONS) -> Option:
    return Option(name, (flag,), f"{text}; may be repeated.", "texts", metavar, group=group)


def _needed(name: str, metavar: str, text: str) -> Argument:
    return Argument(name, metavar, text, is_needed=True)


def _many(name: str, metavar: str, text: str) -> Argument:
    return Argument(name, metavar, text, takes_many=True)


_QUESTION = _needed("question", "QUESTION", "What to ask; - reads it from standard input.")
_PATHS = _many(
    "paths",
    "PATH",
    "Files, folders, globs, or - for standard input. Default: the store of this folder, or else the folder.",
)
_SOURCE = Argument("file", "FILE", "What to condense; - reads standard input.", default="-")

_STORE = _value("store", "FILE", "The store: a file, its folder, or postgresql://...", None, "-s", key="store")
_EMBEDDER = _value(
    "embedder", "NAME", "Which model embeds: granite, a folder, openai:NAME@URL, none.", "auto", "-e", key="embedder"
)
_SET = _several("more", "--set", "NAME=VALUE", "Any other choice, such as order=best (docs/choices.md)")._replace(
    key="set"
)
_CONDENSER = _value(
    "model", "MODEL", "Who condenses: extractive:, openai:NAME, ollama:NAME, http://...#NAME.", "extractive:", "-m"
)._replace(key="condenser")
_JSON = _switch("as_json", "--json", "Print the result as JSON, and errors as JSON on stderr.")
_QUIET = _switch("quiet", "--quiet", "Nothing on stderr but errors.", "-q")
_DRY_RUN = _switch("dry_run", "--dry-run", "Show what would be done; write nothing, pay nothing.")
_WATCH = _switch("watch", "--watch", "Keep following the folders that were added.")._replace(
    default=True, off=("--no-watch",)
)
_HOST = _value("host", "ADDRESS", "Where to listen; beyond loopback needs a token.", "127.0.0.1")
_PORT = _number("port", "PORT", "0 takes any that is free.", None, "-p")
_TOKEN = _value("token_env", "VARIABLE", "The environment variable with the token, if not BRIMFUL_TOKEN.")
_ALLOW_HOST = _several("hosts", "--allow-host", "NAME", "Another name of this server")
_ENDS = (_STORE, _JSON, _QUIET)
_WRITES = (_STORE, _DRY_RUN, _JSON, _QUIET)
_SERVED = (_WATCH, _EMBEDDER, *_ENDS)


def _files(group: str) -> tuple[Option, ...]:
    """Which files of the named folders are read."""
    return (
        _several("allow", "--allow", "REASON", "Read files skipped for this reason", group),
        _several("include", "--include", "PATTERN", "Read only these files, as in .gitignore", group),
        _several("exclude", "--exclude", "PATTERN", "Skip these files, as in .gitignore", group),
    )


_ALL = (
    Command(
        "context",
        "commands",
        "Print the passages that answer a question, within a budget of tokens. The context goes to stdout; the budget "
        "bar, citations and what was left out go to stderr.",
        (_QUESTION, _PATHS),
        (
            *_choices(_FOR_CONTEXT),
            *_files(_NARROWED),
            _value("receipt", "FILE", "Write a receipt, for `brimful verify`."),
            *(_EMBEDDER, _SET, *_ENDS),
        ),
        ('brimful context "How are receipts checked?" docs -b 2000', 'brimful "Who calls parse?" --question | llm'),
    ),
    Command(
        "search",
        "commands",
        "List the best matching places. One line each: path, lines, text.",
        (_QUESTION, _PATHS),
        (
            _number("limit", "HITS", "How many to show.", 10, "-n"),
            _number("context", "LINES", "Lines to show around each, as grep does.", 0, "-C")._replace(name="around"),
            *(*_choices(_FOR_SEARCH, operators=True), _EMBEDDER, *_ENDS),
        ),
    ),
    Command(
        "explain",
        "receipts",
        "Show why each window is in, and what was left out. Also how the question was read, and the budget at which "
        "the next windows enter. A receipt is asked again with its own settings, and its bytes are compared.",
        (_needed("question", "RECEIPT|QUESTION", "A receipt's file, to ask it again; or a question."), _PATHS),
        (*_choices(_FOR_CONTEXT), _EMBEDDER, _SET, *_ENDS),
    ),
    Command(
        "map",
        "looking",
        "Outline the files: headings and definitions within a budget. The names that many files use come first; "
        "with --question, the files that match.",
        (_PATHS,),
        (
            _plain("budget"),
            _value("question", "QUESTION", "Show first what this question is about."),
            _switch("tokens", "--tokens", "Also show the length of each file."),
            *(_plain("path"), _plain("model"), *_ENDS),
        ),
    ),
    Command(
        "cite",
        "receipts",
        "Print a document or the lines that a citation names, or check an answer. Each quotation and citation of an "
        "answer is looked up in the context it was written from; what is not there is named.",
        (Argument("place", "PATH[:LINES]", "A path as it is cited; lines as in tea.md:12-30 or tea.md:7."),),
        (
            _value("answer", "FILE", "An answer to check; - reads standard input."),
            _value("receipt", "FILE", "The receipt of its context."),
            _value("context", "FILE", "Or the context as it was printed; no store is needed."),
            *(_plain("format")._replace(name="form"), *_ENDS),
        ),
    ),
    Command(
        "verify",
        "receipts",
        "Verify a receipt against its sources. The text is written again from them and compared with the receipt; "
        "differences are named. Without --files or --store, only the receipt (and --text) is checked.",
        (_needed("receipt", "RECEIPT", "A file that `context --receipt` wrote."),),
        (
            _value("files", "FOLDER", "Compare with the files in this folder; NAME=FOLDER for one added --as NAME."),
            _value("text", "FILE", "Compare with the context's text."),
            _value("store", "FILE", "Compare with this store.", None, "-s"),
            _switch("replay", "--replay", "Also ask the question again: ranking, omissions, settings."),
            *(_JSON, _QUIET),
        ),
    ),
    Command(
        "add",
        "commands",
        "Index files in a store, or bring it up to date. The documents of a folder are named by it (docs/tea.md); a "
        "file added alone has its own name.",
        (_many("paths", "PATH", "Files, folders or globs. Default: everything added before."),),
        (
            *_files(OPTIONS),
            _value("as", "NAME", "Name the folder's documents by this.")._replace(name="label"),
            _switch("watch", "--watch", "Then follow changes, a line each, until Ctrl-C."),
            _switch("poll", "--poll", "With --watch: look twice a second, for network file systems."),
            *_WRITES,
        ),
    ),
    Command(
        "remove",
        "commands",
        "Remove documents from a store. Their files are not touched; adding them again brings them back.",
        (_many("paths", "PATH", "Documents as they are cited, their folders, or globs.")._replace(is_needed=True),),
        (_STORE, _DRY_RUN, _JSON),
    ),
    Command(
        "status",
        "looking",
        "Show what a store holds. Documents, bytes, state root, and the folders that were added.",
        (_many("paths", "PATH", "Folders that were asked before, to show their store."),),
        (
            _switch("files", "--files", "List the documents: size, kind, date, path; in a pipe, one path a line."),
            _plain("path")._replace(help="List only documents whose path has this, or fits this pattern."),
            _switch("lines", "--lines", "List them with their numbers of lines."),
            _switch("skipped", "--skipped", "Look at the folders again and list what is skipped."),
            *(_STORE, _JSON),
        ),
    ),
    Command(
        "stores",
        "stores",
        "List the stores of the cache, or copy, rebuild or delete a store.",
        (
            Argument("action", "list|rm|prune|purge|rebuild|warm|copy|roles", "What to do.", default="list"),
            _many("paths", "FOLDER|STORE", "A folder that was asked, or a store."),
        ),
        (
            _switch("delete", "--delete", "copy: delete documents that only the target has."),
            _value("role", "ROLE", "roles: who may use the corpus."),
            _value("readers", "ROLE", "roles: who may only ask it."),
            *(_EMBEDDER, _switch("yes", "--yes", "Do not ask.", "-y"), *_WRITES),
        ),
        (
            "brimful stores rm FOLDER      delete the store of a folder; the folder stays",
            "brimful stores prune          delete stores whose folders are gone",
            "brimful stores purge          erase what was removed or replaced, byte by byte",
            "brimful stores rebuild        index a store's text again, after an upgrade",
            "brimful stores warm FOLDER    embed every passage now, so questions don't wait",
            "brimful stores copy FROM TO   copy a store: file, folder or postgresql://...",
            "brimful stores roles          print the SQL that lets a role use a corpus",
        ),
    ),
    Command(
        "densify",
        "digests",
        "Condense a text of any length, with a model or without. The digest goes to stdout; progress, cost and the "
        "source of each sentence to stderr.",
        (_SOURCE,),
        (
            _CONDENSER,
            _number("target", "TOKENS", "About how long the digest should be.", None, "-t"),
            _number("budget", "TOKENS", "How long it may be at most.", None, "-b"),
            _number("limit", "TOKENS", "The model's context limit, if you know better."),
            _value("memory", "FILE", "Where answers are kept, so that none is paid twice."),
            *(_SET, _DRY_RUN, _JSON, _QUIET),
        ),
    ),
    Command(
        "capture",
        "digests",
        "Store a text with its digest, so that search finds both. With --list, show the captures: status, model, name, "
        "and why one failed.",
        (_SOURCE,),
        (
            _value("name", "NAME", "What to call it; default: the file's name."),
            _switch("listed", "--list", "Show what was captured."),
            _value("retry", "NAME", "Try this capture again; it pays only for what is missing."),
            *(_CONDENSER, _SET, *_WRITES),
        ),
    ),
    Command(
        "serve",
        "serving",
        "Serve HTTP and a web page. Until Ctrl-C; the bearer token is read from BRIMFUL_TOKEN.",
        (_PATHS,),
        (
            *(_HOST, _PORT._replace(default=8_080), _TOKEN),
            _ALLOW_HOST,
            _several("models", "--allow-model", "MODEL", "A model that clients may condense with"),
            *_SERVED,
        ),
    ),
    Command(
        "mcp",
        "serving",
        "Serve an agent's tools over the Model Context Protocol. With stdio, only the protocol goes to stdout.",
        (_PATHS,),
        (
            _value("transport", "stdio|http", "How the client connects.", "stdio"),
            *(_HOST, _PORT._replace(default=8_081), _TOKEN, _ALLOW_HOST, *_SERVED),
            _switch("remove", "--remove", "install: take the server out of the agent's configuration."),
            _switch("yes", "--yes", "install: replace another entry without asking.", "-y"),
        ),
        (
            "brimful mcp install cursor docs      let Cursor start it",
            "brimful mcp install cursor --remove  no more",
            "Agents: claude, claude-code, cursor, gemini, vscode, windsurf",
        ),
    ),
    Command(
        "eval",
        "examining",
        "Measure how much of the evidence contexts hold. On a set of questions with their evidence.",
        (_needed("place", "SET", "The folder of a set (docs/evaluation.md)."),),
        (
            _value("budgets", "TOKENS,...", "The budgets to measure at.", "500,1000,2000,4000"),
            _number("limit", "N", "Ask only the first N questions."),
            *(_SET, _JSON),
        ),
    ),
    Command(
        "doctor",
        "examining",
        "Check the installation. Packages, settings, store, tokens, disk. No model is called unless one is named.",
        (),
        (_value("model", "MODEL", "Also ask this model's server for an answer.", None, "-m"), _STORE, _JSON),
    ),
    Command(
        "model",
        "examining",
        "Show which model embeds passages, and how to bring one. It finds passages in other words than the question.",
        (),
        (_EMBEDDER, _JSON),
        (
            "brimful config set embedder openai:nomic-embed-text@http://localhost:11434/v1",
            "brimful stores warm docs      embed every passage now, so questions don't wait",
        ),
    ),
    Command(
        "config",
        "setup",
        "Show each setting and where it came from, or set one. Options come first, then the environment, the "
        "project's file and the user's file. `completion` prints the script of a shell.",
        (
            Argument("action", "show|path|get|set|completion", "What to do.", default="show"),
            Argument("key", "KEY|SHELL", "A setting; for completion: bash, zsh or fish."),
            Argument("value", "VALUE", "The new value, for set."),
        ),
        (_switch("project", "--project", "Set it in this folder's .brimful.toml."), _DRY_RUN, _JSON),
        ('eval "$(brimful config completion bash)"',),
    ),
)
COMMANDS: Mapping[str, Command] = {command.name: command for command in _ALL}
"""All commands, in the order of the help."""

"""Which commands, arguments and options are there? One table: lines are read by it, help and completion made from it.

The choices of a question are not named here: `settings` has them, and each is an option of `context` and `explain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from brimful.choices import Choice
from brimful.settings import ASKED

PREFIX = "BRIMFUL_"
ABOUT = "Fill a language model's context to the brim, never over it, with every byte cited."
EXITS = "Exit codes: 0 found, 1 nothing found, 2 usage or input, 3 partial, 4 provider, 5 storage."
GROUPS = _ANSWER, _NARROW, OWN, _FINE = "The answer", "Which documents may answer", "Options", "Finer choices"
_SHORT = {"budget": "-b", "model": "-m"}


class Argument(NamedTuple):
    """A word without a dash; the last one may take many."""

    name: str
    metavar: str
    help: str
    is_needed: bool = False
    takes_many: bool = False
    default: str | None = None


class Option(NamedTuple):
    """What is said with a dash; `key` is the setting that counts where it is missing, `off` what switches it off."""

    name: str
    flags: tuple[str, ...]
    help: str
    kind: Literal["flag", "int", "float", "text", "texts"] = "text"
    metavar: str = ""
    default: object = None
    off: tuple[str, ...] = ()
    key: str | None = None
    choice: Choice | None = None  # one of a question's choices
    group: str = OWN


class Command(NamedTuple):
    """A command, and the module of this package that runs it; the first sentence about it is its summary."""

    name: str
    module: str
    about: str
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]

    @property
    def summary(self) -> str:
        """One sentence for a list of commands."""
        return self.about.partition(". ")[0] + "."


def _chosen(*, searches: bool = False, **defaults: object) -> tuple[Option, ...]:
    """An option for each choice of a question, or of a search."""
    named = (each for name, each in ASKED.items() if name != "synonyms" and (each.searches or not searches))
    return tuple(_of(each, default=defaults.get(each.name, each.default)) for each in named)


def _of(choice: Choice, *, default: object) -> Option:
    name = choice.flag or choice.name.replace("_", "-")
    is_switch = choice.kind == "bool"
    return Option(
        choice.name,
        (f"--{name}", *((_SHORT[choice.name],) if choice.name in _SHORT else ())),
        choice.help,
        "flag" if is_switch else choice.kind,  # type: ignore[arg-type]
        "" if is_switch else "|".join(choice.names) or choice.unit.upper() or "N",
        default,
        (f"--{choice.off or f'no-{name}'}",) if is_switch else (),
        choice.name if choice.is_set else None,
        choice,
        _FINE if choice.is_fine else _ANSWER if choice.is_set else _NARROW,
    )


def _plain(name: str) -> Option:
    """A choice of a question as an option of another command, which gets its value as such."""
    return _of(ASKED[name], default=ASKED[name].default)._replace(choice=None, group=OWN)


def _switch(name: str, flag: str, help: str, *more: str) -> Option:  # noqa: A002
    return Option(name, (flag, *more), help, "flag", default=False)


def _value(name: str, metavar: str, help: str, default: object = None, *short: str, key: str | None = None) -> Option:  # noqa: A002
    return Option(name, (f"--{name.replace('_', '-')}", *short), help, "text", metavar, default, key=key)


def _number(name: str, metavar: str, help: str, default: int | None = None, *short: str) -> Option:  # noqa: A002
    return _value(name, metavar, help, default, *short)._replace(kind="int")


def _several(name: str, flag: str, metavar: str, help: str) -> Option:  # noqa: A002
    return Option(name, (flag,), f"{help}; may be repeated.", "texts", metavar)


_QUESTION = Argument("question", "QUESTION", "What to ask; - reads it from standard input.", is_needed=True)
_ASKED = "Files, folders, globs, or - for standard input; without any, a store is asked."
_PATHS = Argument("paths", "PATH", _ASKED, takes_many=True)
_ADDED = Argument("paths", "PATH", "Files, folders or globs; without any, all that was added before.", takes_many=True)
_SOURCE = Argument("file", "FILE", "What to condense; - reads standard input.", default="-")

_STORE = _value("store", "FILE", "The store: a file, or its folder.", None, "-s", key="store")
_READS = "Which model reads: granite, a folder, openai:NAME@URL, none, ..."
_EMBEDDER = _value("embedder", "NAME", _READS, "auto", "-e", key="embedder")
_ORDERS = "Who puts the best passages in order: cross-encoder:NAME, rerank:MODEL@URL, none."
_RERANKER = _value("reranker", "NAME", _ORDERS, "none", key="reranker")
_ANY = "Any choice by its name: windows.snap=off, field.near=0, densify.attempts=3, profile=cfs, ..."
_SET = _value("set", "NAME=VALUE;...", _ANY, key="set")
_SYNONYMS = _value("synonyms", "FILE", "Lines of `word: synonym, synonym` for --related.", key="synonyms")
_CONDENSES = "Who condenses: extractive:, openai:NAME, ollama:NAME, http://...#NAME."
_CONDENSER = _value("model", "MODEL", _CONDENSES, "extractive:", "-m", key="condenser")
_JSON = _switch("as_json", "--json", "The whole result as JSON; an error too, on standard error.")
_QUIET = _switch("quiet", "--quiet", "Nothing on standard error but errors.", "-q")
_COPY = _switch("copy", "--copy", "Put it on the clipboard too.", "-c")
_DRY_RUN = _switch("dry_run", "--dry-run", "Only show what would be done; write nothing, pay nothing.")
_FOLLOW = "Follow changes of the folders that were added, or not."
_WATCH = _switch("watch", "--watch", _FOLLOW)._replace(default=True, off=("--no-watch",))
_HOST = _value("host", "ADDRESS", "Where to listen; beyond loopback needs a token.", "127.0.0.1")
_PORT = _number("port", "PORT", "0 takes any that is free.", None, "-p")
_ENDS = (_STORE, _JSON, _QUIET)
_WRITES = (_STORE, _DRY_RUN, _JSON, _QUIET)
_MODELS = (_EMBEDDER, _RERANKER)
_SERVED = (_WATCH, *_MODELS, *_ENDS)  # what every server takes
_TOKEN = _value("token_env", "VARIABLE", "Which environment variable holds the token, if not BRIMFUL_TOKEN.")

_ALL = (
    Command(
        "context",
        "commands",
        "Build a context for a question. It has at most --budget tokens and goes to standard output; the budget bar, "
        "citations and what was left out go to standard error.",
        (_QUESTION, _PATHS),
        (
            *(*_chosen(), *_MODELS, _SET, _SYNONYMS),
            _value("receipt", "FILE", "Write the receipt to this file."),
            *(_COPY, *_WRITES),
        ),
    ),
    Command(
        "search",
        "commands",
        "Show the places that matter most. A line each: path, lines, text.",
        (_QUESTION, _PATHS),
        (
            _number("limit", "HITS", "How many to show.", 10, "-n"),
            _number("context", "LINES", "Show so many lines around each, as grep does.", 0, "-C")._replace(
                name="around"
            ),
            *(*_chosen(searches=True, operators=True), *_MODELS, _COPY, *_ENDS),
        ),
    ),
    Command(
        "explain",
        "receipts",
        "Show why each window is in, and what was left out. Also how a question was understood, and at which budget "
        "the next windows enter. A receipt is asked again with its own settings; the answer says whether its bytes "
        "are still the same.",
        (Argument("question", "RECEIPT|QUESTION", "A receipt's file, to ask it again; or a question.", True), _PATHS),  # noqa: FBT003
        (*_chosen(), *_MODELS, _SET, _SYNONYMS, *_ENDS),
    ),
    Command(
        "verify",
        "receipts",
        "Verify a receipt against its sources. The text is written again from its sources and compared with all that "
        "the receipt says; what differs is named. Give it the sources: --files or --store. Without them, only the "
        "receipt (and --text) is checked.",
        (Argument("receipt", "RECEIPT", "A file that `context --receipt` wrote.", is_needed=True),),
        (
            _value("files", "FOLDER", "Compare with the files below this folder; NAME=FOLDER for one added --as NAME."),
            _value("text", "FILE", "Compare with the context's text."),
            _value("store", "FILE", "Compare with this store.", None, "-s"),
            _switch("replay", "--replay", "Also ask the question again: ranking, omissions, settings."),
            *(_JSON, _QUIET),
        ),
    ),
    Command(
        "cite",
        "receipts",
        "Resolve a citation, or check what an answer quotes. Prints the bytes that a citation names, or checks an "
        "answer against a receipt or a context: each quotation and citation of the answer gets a line that says where "
        "it stands, or that it does not.",
        (Argument("place", "PATH:LINES", "A citation, as in tea.md:12-30, to print its bytes."),),
        (
            _value("answer", "FILE", "An answer to check; - reads standard input."),
            _value("receipt", "FILE", "The receipt of the context that was answered from."),
            _value("context", "FILE", "Or the context itself, as it was printed; no store is needed."),
            *(_plain("format"), *_ENDS),
        ),
    ),
    Command(
        "add",
        "commands",
        "Bring files into a store, or up to date. A folder's documents are named by it (docs/tea.md), and stay so; a "
        "file that is added by itself has its own name.",
        (_ADDED,),
        (
            _several("allow", "--allow", "REASON", "Read what is skipped for this reason"),
            _several("exclude", "--exclude", "PATTERN", "Skip these, as in .gitignore"),
            _several("include", "--include", "PATTERN", "Read only these, as in .gitignore"),
            _value("as", "NAME", "What to call the folder's documents by, instead of its own name.")._replace(
                name="label"
            ),
            *_WRITES,
        ),
    ),
    Command(
        "watch",
        "serving",
        "Keep a store up to date while files change. A line per file, until Ctrl-C.",
        (_ADDED,),
        (_switch("poll", "--poll", "Look twice a second; for network file systems."), *_ENDS),
    ),
    Command(
        "status",
        "commands",
        "Show what a store holds. Documents, bytes, state root, and what was added.",
        (Argument("paths", "PATH", "What was asked before, to show its store.", takes_many=True),),
        (_switch("skipped", "--skipped", "Look at the folders again and list what is skipped."), _STORE, _JSON),
    ),
    Command(
        "map",
        "looking",
        "Show what is there: files, headings, definitions. In at most --budget tokens. Every file is named before any "
        "is opened; with --question, the files that it finds come first.",
        (_PATHS,),
        (
            _plain("budget"),
            _value("question", "QUESTION", "Show first what this question is about."),
            *(_plain("path"), _plain("model"), _COPY, *_ENDS),
        ),
    ),
    Command(
        "ls",
        "looking",
        "List the stored documents. Size, kind, time, path; through a pipe one path a line.",
        (
            Argument(
                "words", "[FOLDER] [PATTERN]", "What was asked before; a part or pattern of the paths.", takes_many=True
            ),
        ),
        (
            _switch("lines", "--lines", "Count the lines too, which reads the documents."),
            *(_STORE, _JSON),
        ),
    ),
    Command(
        "get",
        "looking",
        "Print a stored document, or some of its lines. Exactly as it is stored.",
        (Argument("place", "PATH[:LINES]", "A path as it is cited; lines as in tea.md:12-30 or tea.md:7.", True),),  # noqa: FBT003
        (_COPY, _STORE, _JSON),
    ),
    Command(
        "remove",
        "commands",
        "Forget documents. Their files are not touched, and adding them again brings them back.",
        (Argument("paths", "PATH", "Documents as they are cited, their folders, or globs.", True, True),),  # noqa: FBT003
        (_STORE, _DRY_RUN, _JSON),
    ),
    Command(
        "purge",
        "commands",
        "Erase what was removed, or a whole store. No byte of what was removed or replaced stays in the store's file.",
        (),
        (
            _switch("everything", "--all", "Delete the whole store."),
            _switch("yes", "--yes", "Do not ask.", "-y"),
            *(_STORE, _DRY_RUN, _JSON),
        ),
    ),
    Command(
        "rebuild",
        "commands",
        "Index a store's own text again, after an upgrade. A store that another version of Brimful or of Python made "
        "asks for it. No file is read but the store. Stores in the cache are rebuilt without being asked.",
        (),
        (_STORE, _JSON),
    ),
    Command(
        "densify",
        "digests",
        "Condense a text through a model, or without one. A text of any length. The digest goes to standard output; "
        "progress, cost and where each sentence is from to standard error.",
        (_SOURCE,),
        (
            _CONDENSER,
            _number("target", "TOKENS", "About how long the digest should be.", None, "-t"),
            _number("budget", "TOKENS", "How long it may be at most, to the token.", None, "-b"),
            _number("limit", "TOKENS", "The model's context limit, where you know it better."),
            _value("memory", "FILE", "Where answers are kept, so that none is paid twice."),
            *(_SET, _COPY, _DRY_RUN, _JSON, _QUIET),
        ),
    ),
    Command(
        "capture",
        "digests",
        "Write a text down, condense it, and make it searchable. The text is stored whole, its digest beside it; "
        "search finds both.",
        (_SOURCE,),
        (_value("name", "NAME", "What to call it; else the file's name."), _CONDENSER, _SET, *_WRITES),
    ),
    Command(
        "captures",
        "digests",
        "Show what was captured, or try one again. A line each: status, model, name, and why it failed.",
        (),
        (_value("retry", "NAME", "Try this one again; it pays only for what is missing."), _SET, _STORE, _JSON),
    ),
    Command(
        "warm",
        "looking",
        "Let a model read everything ahead, so that questions need not wait. Broken off, it goes on where it ended; "
        "after a change it reads what is new.",
        (_PATHS,),
        (_EMBEDDER, *_ENDS),
    ),
    Command(
        "stores",
        "looking",
        "List the stores of the cache, or prune them. Bytes, documents, what was added, the store's own name. --prune "
        "deletes those of which nothing that was added is there any more; an unmounted disk looks so too.",
        (),
        (_switch("prune", "--prune", "Delete the stores whose folders are not there any more."), _DRY_RUN, _JSON),
    ),
    Command(
        "serve",
        "serving",
        "Answer over HTTP, with a page to look at. Until Ctrl-C; the bearer token is read from BRIMFUL_TOKEN.",
        (_PATHS,),
        (
            *(_HOST, _PORT._replace(default=8_080), _TOKEN),
            _several("hosts", "--allow-host", "NAME", "Another name the server is called by"),
            _several("models", "--allow-model", "MODEL", "A model that clients may condense with"),
            *_SERVED,
        ),
    ),
    Command(
        "mcp",
        "serving",
        "Answer a model's tools (Model Context Protocol). With stdio, nothing but the protocol is written to standard "
        "output.",
        (_PATHS,),
        (
            _value("transport", "stdio|http", "How the client talks.", "stdio"),
            *(_HOST, _PORT._replace(default=8_081), _TOKEN, *_SERVED),
        ),
    ),
    Command(
        "eval",
        "looking",
        "Measure recall at budgets. Also precision, IoU and full coverage, on a set of questions with evidence.",
        (Argument("place", "SET", "The folder of a set.", is_needed=True),),
        (
            _value("budgets", "TOKENS,...", "The budgets to measure at.", "500,1000,2000,4000"),
            _number("limit", "N", "Ask only so many questions."),
            *(_SET, _JSON),
        ),
    ),
    Command(
        "doctor",
        "examining",
        "Check the installation. Parts, store, vocabularies, room on the disk. No model is called unless one is named.",
        (),
        (_value("model", "MODEL", "Also ask this model's server for an answer.", None, "-m"), _STORE, _JSON),
    ),
    Command(
        "copy",
        "looking",
        "Copy a store to another, a file or a server's. Nothing is indexed again. A copy that was broken off goes on "
        "where it ended. It is done when both have the same state root.",
        (
            Argument("source", "SOURCE", "The store to copy: a file, a folder or an address.", is_needed=True),
            Argument("target", "DEST", "The store to copy to, made where it is not there.", is_needed=True),
        ),
        (_switch("delete", "--delete", "Forget documents that only DEST has."), _JSON, _QUIET),
    ),
    Command(
        "postgres",
        "looking",
        "What an administrator of PostgreSQL needs. roles prints the statements that let a role use one corpus and "
        "nothing else, for psql, as whoever owns the tables. terms fills the table of terms, to be looked into with "
        "SQL.",
        (Argument("action", "roles|terms", "What to do.", is_needed=True),),
        (
            _value("role", "ROLE", "The role that may use the corpus."),
            _value("readers", "ROLE", "Another role that may only ask it."),
            *(_STORE, _JSON),
        ),
    ),
    Command(
        "config",
        "setup",
        "Show each setting and where it came from, or set one. An option comes before the environment, that before "
        "the project's file, that before the user's.",
        (
            Argument("action", "show|path|get|set", "What to do.", default="show"),
            Argument("key", "KEY", "Which setting, for get and set."),
            Argument("value", "VALUE", "Its new value, for set."),
        ),
        (_switch("project", "--project", "Set it in this folder's .brimful.toml."), _DRY_RUN, _JSON),
    ),
    Command(
        "completion",
        "setup",
        'Print the completion script of a shell. bash: eval "$(brimful completion bash)". zsh the same. fish: brimful '
        "completion fish | source.",
        (Argument("shell", "bash|zsh|fish", "Which shell.", is_needed=True),),
        (_JSON,),
    ),
)
COMMANDS: Mapping[str, Command] = {command.name: command for command in _ALL}
"""All of them, in the order in which they are listed."""

"""Which arguments and options do several commands share?"""

from __future__ import annotations

from typing import Annotated

import typer
from typer.models import OptionInfo

from brimful.search.query import KINDS
from brimful.settings import FILLS, FORMATS, LINE_NUMBERS, MEANINGS, PACKINGS, SIZINGS, STRATEGIES

PREFIX = "BRIMFUL_"


def setting(*flags: str, key: str, metavar: str, text: str) -> OptionInfo:
    """An option that may also be set by its environment variable, or in a file (`configuration`)."""
    return _option(*flags, metavar=metavar, text=f"{text} [env: {PREFIX}{key.upper()}]")


def _option(*flags: str, metavar: str, text: str) -> OptionInfo:
    option = typer.Option(*flags, metavar=metavar, help=text)
    assert isinstance(option, OptionInfo)
    return option


def switch(flags: str, *, key: str, text: str) -> OptionInfo:
    """An option that is on or off."""
    option = typer.Option(flags, help=f"{text} [env: {PREFIX}{key.upper()}]")
    assert isinstance(option, OptionInfo)
    return option


def choice(key: str, names: tuple[str, ...], text: str) -> OptionInfo:
    """An option with named choices; the name is checked where it is used."""
    return setting(f"--{key}", key=key, metavar="|".join(names), text=text)


Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask; - reads it from standard input.")]
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH", help="Files, folders, globs, or - for standard input; without any, a store is asked."
    ),
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="What to condense; - reads standard input.")]

Store = Annotated[
    str | None, setting("--store", "-s", key="store", metavar="FILE", text="The store: a file, or its folder.")
]
Budget = Annotated[int, setting("--budget", "-b", key="budget", metavar="TOKENS", text="Tokens to fill.")]
Model = Annotated[
    str, setting("--model", "-m", key="model", metavar="NAME", text="Whose tokens: a model or a vocabulary.")
]
Format = Annotated[str, choice("format", FORMATS, "How the context is written.")]
LineNumbers = Annotated[
    str,
    typer.Option(
        "--line-numbers",
        metavar="|".join(LINE_NUMBERS),
        help="Name the lines of each window, number every line, or neither.",
    ),
]
WithQuestion = Annotated[
    bool | None,
    typer.Option(
        "--question/--no-question", help="Put the question behind the context, or not; messages have it without asking."
    ),
]
MapShare = Annotated[
    int, typer.Option("--map", metavar="SHARE", help="Begin with a map of the corpus, of so many % of the budget.")
]
Sizing = Annotated[str, choice("sizing", SIZINGS, "How much surrounds a hit.")]
Strategy = Annotated[str, choice("strategy", STRATEGIES, "Which windows belong together.")]
Packing = Annotated[str, choice("packing", PACKINGS, "Which windows get in first.")]
Fill = Annotated[str, choice("fill", FILLS, "Fill the rest, or stop at what matters.")]
Densify = Annotated[
    str | None,
    setting(
        "--densify", key="densify", metavar="MODEL", text="Condense what does not fit: extractive:, openai:NAME, ..."
    ),
]
Condenser = Annotated[
    str,
    setting(
        *("--model", "-m"),
        key="condenser",
        metavar="MODEL",
        text="Who condenses: extractive:, openai:NAME, ollama:NAME, http://...#NAME.",
    ),
]

Within = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="TEXT", help="Only where the path has this, or fits this pattern; any of several."),
]
NotWithin = Annotated[list[str] | None, typer.Option("--not-path", metavar="TEXT", help="Not where the path has this.")]
Kind = Annotated[
    list[str] | None, typer.Option("--kind", metavar="|".join(KINDS), help="Only this kind of text; any of several.")
]
After = Annotated[
    str | None, typer.Option("--after", metavar="TIME", help="Only from this year, month, day or time on.")
]
Before = Annotated[str | None, typer.Option("--before", metavar="TIME", help="Only before it.")]
Phrase = Annotated[
    list[str] | None, typer.Option("--phrase", metavar="WORDS", help="Only with these words side by side; all of them.")
]
Without = Annotated[
    list[str] | None, typer.Option("--without", metavar="WORDS", help="Only without this word or phrase.")
]
Operators = Annotated[
    bool,
    typer.Option(
        "--operators/--no-operators", help='Whether "phrases", -words, stars and path: in the question count.'
    ),
]
Repair = Annotated[
    bool,
    switch("--repair/--as-typed", key="repair", text="Look for likely spellings, or take every word as it is typed."),
]
Priors = Annotated[
    bool,
    switch("--priors/--no-priors", key="priors", text="Let tests, lock files and the like count for less, or not."),
]
Anyway = Annotated[
    bool,
    switch("--anyway/--not-anyway", key="anyway", text="Show what is nearest where words that decide are missing."),
]
Partial = Annotated[
    bool,
    switch("--partial/--whole", key="partial", text="Answer without shards that can't be reached, and say so."),
]

Ray = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS", help="The Ray cluster that serves the shards: auto, HOST:PORT or local."),
]

Set = Annotated[
    str | None,
    setting(
        "--set",
        key="set",
        metavar="NAME=VALUE;...",
        text="Any other choice: order=best, related=on, windows.snap=off, profile=cfs, ...",
    ),
]
Synonyms = Annotated[
    str | None,
    setting("--synonyms", key="synonyms", metavar="FILE", text="Lines of `word: synonym, synonym` for related=on."),
]

Meaning = Annotated[
    str, choice("meaning", MEANINGS, "Let a model read the best places, or compare all that `warm` has read.")
]
Embedder = Annotated[
    str,
    setting(
        *("--embedder", "-e"),
        key="embedder",
        metavar="NAME",
        text="Which model reads: minilm, a folder, openai:NAME@URL, none, ...",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="The whole result as JSON; an error too, on standard error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on standard error but errors.")]
Copy = Annotated[bool, typer.Option("--copy", "-c", help="Put it on the clipboard too.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done; write nothing, pay nothing.")]
Watch = Annotated[
    bool, typer.Option("--watch/--no-watch", help="Follow changes of the folders that were added, or not.")
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond loopback needs a token.")]
Port = Annotated[int, typer.Option("--port", "-p", metavar="PORT", help="0 takes any that is free.")]
TokenEnv = Annotated[
    str | None,
    typer.Option(
        "--token-env", metavar="VARIABLE", help="Which environment variable holds the token, if not BRIMFUL_TOKEN."
    ),
]

"""How much may anyone ask of this program, and how long? Every limit of its servers and of its providers, with why.

A client, a page, a model and a provider are strangers. What one of them can make large, deep, long or slow is bounded
by a name that stands here; the surfaces and `densify` read it, and docs/reliability.md says how each was tried.
"""

from __future__ import annotations

# ---- what a request may hold

BODY_BYTES = 8 << 20
"""A request's body: held in memory once, for each request that is answered at the moment."""
NESTING = 64
"""Brackets within brackets in JSON, from clients and providers: readers differ about more, and some give up."""
NUMBER_DIGITS = 400
"""The digits of a number in JSON: more than any double has; without a limit reading one takes quadratic time."""
QUESTION_CHARACTERS = 20_000
"""A question over HTTP: a page of text; every word of it is looked up."""
MODEL_QUESTION_CHARACTERS = 10_000
"""A question that a model asks over MCP: it is paid for by the token, so it is shorter."""
BUDGET_TOKENS = 1_000_000
"""A context over HTTP: what the largest models read."""
MODEL_BUDGET_TOKENS = 200_000
"""A context over MCP: it lands in the conversation of the model that asks."""
RESULTS = 200
"""Places that a search over HTTP lists."""
MODEL_RESULTS = 50
"""Places that a search over MCP lists: the model reads all of them."""
HIT_CHARACTERS = 2_000
"""The text of one place that a search over MCP lists; `read_span` reads on."""
RECEIPT_CHARACTERS = 12
"""The beginning of a receipt's id that names it over MCP: 48 bits among a few hundred receipts."""
OMITTED = 20
"""Windows that did not get in, as `explain` over MCP names them; it says how many there were."""
PAGE_ITEMS = 1_000
"""Documents or captures in one page of a list."""
PASSAGE_BYTES = 1 << 20
"""A stretch of a document over HTTP; the next one begins where it ends."""
MODEL_PASSAGE_BYTES = 32_768
"""A stretch of a document over MCP: some 8,000 tokens."""
CAPTURED_CHARACTERS = 1_000_000
"""A text that a model captures over MCP."""
MESSAGE_BYTES = BODY_BYTES
"""A message of MCP, over either transport: what a body of HTTP may hold."""

# ---- who may connect, how many, how long

TOKEN_CHARACTERS = 16
"""The shortest bearer token: 16 random characters of base 64 are 96 bits, beyond any guessing over a network."""
CONNECTIONS = 512
"""Connections at once; less where the system allows fewer open files. Half-sent requests give way to new ones."""
RESERVED_FILES = 200
"""Open files that connections leave to the store, its helpers and to providers."""
BACKLOG = 128
"""Connections that the system holds until they are taken; as many may be taken at a stroke, so they count above."""
HEAD_SECONDS = 10.0
"""From a connection, or from the last answer's end, to a whole request line with its headers."""
IDLE_SECONDS = 5.0
"""How long a connection is kept after an answer, in case another request follows."""
HEAD_BYTES = 64 << 10
"""A request line with its headers: a cursor and a token fit many times."""
REMOVED_PATHS = 100
"""Documents that one request forgets: their paths must fit into its head."""
REQUEST_SECONDS = 30.0
"""From a request's headers to the end of its answer; its body must come, and the answer be taken, within it."""
DENSIFY_SECONDS = 600.0
"""The whole time of a request that a provider condenses for."""
WORKERS = 4
"""Questions that are answered at once."""
WAITING = 64
"""Questions that wait for one of the workers; more are refused at once rather than answered too late."""
RUNS = 4
"""Condensations at once, in threads of their own: a provider that keeps them all leaves questions alone."""
WAITING_RUNS = 16
"""Condensations that wait; more are refused at once."""
READY_SECONDS = 5.0
"""How long a readiness check waits for the store: a writer may hold the lock."""
GRACE_SECONDS = 5
"""From SIGTERM to the end for requests that are being answered; what is longer at work is broken off."""
RECEIPTS = 512
"""Receipts that a server keeps to be fetched by id."""
MODEL_RECEIPTS = 256
"""Receipts that a server of MCP keeps to be explained."""
RECEIPTS_BYTES = 64 << 20
"""The bytes of those receipts."""
EXTRACT_BYTES = 1 << 20
"""Bytes of a text whose terms are found at once when it is condensed without a model."""

# ---- what a provider may answer

ANSWER_BYTES = 16 << 20
"""A provider's answer: thousands of times a digest."""
CONNECT_SECONDS = 10.0
"""From a name to a connection that is encrypted."""
SILENCE_SECONDS = 120.0
"""Between two bytes of an answer: models think before they write."""
ANSWER_SECONDS = 900.0
"""A whole answer, however it drips."""
LIMIT_SECONDS = 10.0
"""The answer to "which context limit do you have?": a table knows it too."""
PATIENCE_SECONDS = 86_400.0
"""The longest wait that a provider can ask for; what asks for more is taken to ask for this."""
COUNTED_TOKENS = 1_000_000_000
"""The most tokens that a provider can say it counted; what says more, or less than 0, has said nothing."""
LEAST_CONTEXT_TOKENS = 256
"""The smallest context limit that a model has; a provider that read less has not cut, but counts something else."""

# Bare `make` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
# The demo needs the package alone; where tests ran, their environment has it.
DEMO_VENV := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-faults fuzz fuzz-kernels fuzz-guided wheels lint types audit bench bench-core bench-speed bench-tools bench-postgres bench-embed bench-outline bench-densify bench-choices bench-reading eval eval-people cli-docs error-docs recording openapi screenshot bench-page lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml requirements/test.lock requirements/oracles.lock scripts/make_venv.py
	@$(PYTHON) scripts/make_venv.py $(VENV) requirements/test.lock requirements/oracles.lock .
	@touch $(STAMP)

demo:  ## Install the package alone, ask a few notes and this repository, verify a receipt, show the page
	@$(PYTHON) scripts/make_venv.py $(DEMO_VENV) $(if $(wildcard $(STAMP)),requirements/test.lock requirements/oracles.lock,requirements/demo.lock) .
	@$(DEMO_VENV)/bin/python scripts/demo.py

docs:  ## Build docs/ as a site that works offline, with search, into build/docs (30 packages, 200 MB, a minute)
	@$(PYTHON) scripts/make_venv.py $(DOCS_VENV) requirements/docs.lock
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet
	@echo build/docs/index.html

test: $(STAMP) lint types  ## Set everything up and pass every test (what CI runs); BROWSER=skip installs no browser
	@$(PYTHON) scripts/make_browser.py
	@$(PYTHON) scripts/make_postgres.py
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -n 2 -q

ONLY ?=

test-faults: $(STAMP)  ## The store under kills, power cuts, damages, many processes and files, a line of 1 GB, compiled loops under sanitizers (hours; goes on where it ended; ONLY=kills)
	@$(BIN)/python scripts/faults.py $(ONLY)

FUZZ_SECONDS ?= 20
FUZZ_SEED ?= 1

fuzz: $(STAMP)  ## Bent input for every way in, from a seed; finds are kept in tests/fuzz/found (three minutes)
	@$(BIN)/python scripts/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fuzz-kernels: $(STAMP)  ## The compiled kernels under sanitizers, against NumPy on generated input (minutes; needs gcc or clang)
	@$(BIN)/python scripts/fuzz_kernels.py

fuzz-guided: $(STAMP)  ## The same, with input that atheris looks for: what reaches new lines of the kernels (FUZZ_SECONDS each; 20 minutes)
	@$(BIN)/python scripts/fuzz_kernels.py --guided $(FUZZ_SECONDS)

wheels: $(STAMP)  ## A wheel for every platform, cross-built with zig, into dist; tries this machine's (a minute)
	@$(BIN)/python scripts/make_wheels.py

lint: $(STAMP)  ## Ruff, style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)  ## Mypy, strict
	@$(BIN)/mypy

ADVISORIES ?=

audit: $(STAMP)  ## Licences of all locked packages, into requirements/licences.md; known holes with ADVISORIES=folder or zip of OSV records
	@$(BIN)/python scripts/audit.py $(if $(ADVISORIES),--advisories $(ADVISORIES))

bench-core: $(STAMP)  ## Inflation and packing against LlamaIndex, LangChain and Haystack (several minutes)
	@$(PYTHON) scripts/make_venv.py $(BENCH_VENV) requirements/bench.lock requirements/oracles.lock .
	@$(BENCH_VENV)/bin/python benchmarks/core.py

bench: $(STAMP)  ## benchmarks/REPORT.md, and the figures of README and docs, from the committed results; each part renews its own
	@$(BIN)/python benchmarks/report.py

bench-speed: $(STAMP)  ## Indexing, asking, size and memory beside FTS5, tantivy and bm25s (several minutes)
	@$(PYTHON) scripts/make_venv.py $(BENCH_VENV) requirements/bench.lock requirements/oracles.lock .
	@$(BENCH_VENV)/bin/python benchmarks/speed.py

bench-tools: $(STAMP)  ## semble, qmd and repomix on the questions of people (half an hour; needs npm)
	@$(PYTHON) scripts/make_venv.py $(BENCH_VENV) requirements/bench.lock requirements/oracles.lock .
	@$(BENCH_VENV)/bin/python benchmarks/tools.py

MEGABYTES ?= 100
KEEP ?=

bench-postgres: $(STAMP)  ## PostgreSQL against a file and a tsvector + pgvector hybrid by hand (an hour; MEGABYTES="100 1000"; goes on where it ended with KEEP=folder)
	@$(BIN)/python benchmarks/postgres.py --megabytes $(MEGABYTES) $(if $(KEEP),--keep $(KEEP))

bench-embed: $(STAMP)  ## The sentence model: tokens a second, time to open (a minute)
	@$(BIN)/python benchmarks/embed.py

eval: $(STAMP)  ## Recall of evidence on the shared evaluation sets, where this machine has them
	@$(BIN)/python benchmarks/eval.py

PEOPLE ?=

eval-people: $(STAMP)  ## Questions as people ask them and of code, beside BM25 and a hybrid (minutes; fetches packages; PEOPLE="--late granite")
	@$(BIN)/python benchmarks/people.py $(PEOPLE)

bench-densify: $(STAMP)  ## Calls of a condensation against LangChain and LlamaIndex, and a real model (minutes)
	@$(PYTHON) scripts/make_venv.py $(BENCH_VENV) requirements/bench.lock requirements/oracles.lock .
	@$(BENCH_VENV)/bin/python benchmarks/densify.py

bench-outline: $(STAMP)  ## The outline's rules against grammars on real sources of 27 languages (fetches them; minutes)
	@$(BIN)/python benchmarks/outline.py

cli-docs: $(STAMP)  ## Write every command's help into docs/cli.md and into the program
	@$(BIN)/python scripts/cli_docs.py

openapi: $(STAMP)  ## Write the description of the HTTP surface into docs/openapi.json
	@$(BIN)/python scripts/openapi.py

error-docs: $(STAMP)  ## Write a section for every error code into docs/errors.md
	@$(BIN)/python scripts/error_docs.py

bench-choices: $(STAMP)  ## What each sizing, strategy, packing and profile costs in recall, and how full it fills (ten minutes)
	@$(BIN)/python benchmarks/choices.py

bench-reading: $(STAMP)  ## The reader's test: windows for questions to 35 folders, judged by rules (minutes)
	@$(BIN)/python benchmarks/reading.py

recording: $(STAMP)  ## Record the first commands on a terminal, into docs/start.md
	@$(BIN)/python scripts/start_page.py

screenshot: $(STAMP)  ## Take the pictures of the page that the documentation shows
	@$(PYTHON) scripts/make_browser.py
	@$(BIN)/python scripts/screenshot.py

bench-page: $(STAMP)  ## From a knob to the page that was assembled again, in a real browser (a minute)
	@$(PYTHON) scripts/make_browser.py
	@$(BIN)/python benchmarks/page.py

lock: $(STAMP)  ## Renew the lock files from pyproject.toml
	@$(BIN)/python scripts/make_lock.py

clean:  ## Remove what the targets made
	rm -rf $(VENV) $(BENCH_VENV) $(DOCS_VENV) .venv-demo build/docs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

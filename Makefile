# The front door. Needs Python 3.11 and make; everything else comes, locked, into .durak/ and .venv/.
#
#   PYTHON=/path/to/python3.11    the interpreter, if it is not on PATH
#   TESTS=tests/domain ARGS=-x    what `make test` runs, and how
#   WORKERS=3                     on how many processes; more than cores, as tests wait for clocks a third of the time

UV_VERSION := 0.13.9
PYTHON ?=
TESTS ?= tests
WORKERS ?= 3
ARGS ?=

BIN := .venv/bin
TOOLS := .durak/tools
UV_STAMP := $(TOOLS)/uv-$(UV_VERSION)
SYNC_STAMP := .venv/.synced
BASELINE := proto/durak-v1.binpb

# `make bench` owns standard output, wherever make is started from: make itself is silent, setting up speaks on standard error.
MAKEFLAGS += --no-print-directory

# `durak` starts in half a second from bytecode that is kept, and in two from none.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup serve demo test bench lint format proto proto-baseline clean

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-16s%s\n' "$$name" "$$text"; done

setup: $(SYNC_STAMP) ## The environment alone; every other target does it by itself
	@:

serve: setup ## The service, on an embedded Postgres unless DURAK_DATABASE_URL names another
	@exec $(BIN)/durak serve $(ARGS)

demo: setup ## A whole match over gRPC between four clients, then replayed from the log
	@exec $(BIN)/durak demo $(ARGS)

test: setup ## The tests, on three processes; TESTS=tests/domain for a part, ARGS=-x for pytest's options
	@exec $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS) $(TESTS)

bench: setup ## The measurements, in about four minutes: one JSON object on standard output, nothing else
	@exec $(BIN)/python -m tests.bench $(ARGS)

lint: setup ## Style, types, contract, import contract, generated code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against $(BASELINE)
	$(BIN)/python proto/generate.py --check

format: setup ## Formats the code and mends what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

proto: setup ## Generates the Python of the contract from proto/durak/v1/*.proto
	@$(BIN)/python proto/generate.py

proto-baseline: setup ## Takes today's contract as the one never to be broken (docs/adr/0003-contract-baseline.md)
	$(BIN)/buf build --exclude-source-info -o $(BASELINE)

clean: ## Removes what the tools made; keeps data, if any, in .durak/
	rm -rf .venv $(TOOLS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# uv, by pip, into an environment of its own. Downloads once.
$(UV_STAMP):
	@echo "make: fetching uv $(UV_VERSION)" >&2
	@python=; for candidate in $(PYTHON) python3.11 python3 python3.12 python3.13; do \
	  if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; done; \
	if [ -z "$$python" ]; then \
	  echo "make: no Python 3.11, 3.12 or 3.13 on PATH; name one: make PYTHON=/path/to/python3.11 …" >&2; exit 1; fi; \
	rm -rf $(TOOLS); \
	if ! "$$python" -m venv $(TOOLS) >&2; then \
	  echo "make: $$python has no working venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; fi; \
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) >&2
	@touch $@

# The locked environment; again only when the lock, pyproject.toml or uv's version has changed, and from uv's cache if all is in it.
# Behind a proxy that signs for all sites only the system's certificates will do; in small containers, which have none, only uv's own.
$(SYNC_STAMP): pyproject.toml uv.lock $(UV_STAMP)
	@echo "make: setting up .venv; the first time this takes about a minute" >&2
	@unset VIRTUAL_ENV; export UV_PYTHON_DOWNLOADS=never; export PATH="$(if $(PYTHON),$(dir $(PYTHON)):)$$PATH"; \
	sync="$(TOOLS)/bin/uv sync --locked --quiet"; \
	$$sync --offline 2>/dev/null || $$sync 2>/dev/null || $$sync --system-certs >&2
	@touch $@

# Entry point of the project. Needs Python 3.11 and make. Everything else is installed into .durak/ and .venv/ from the lock file.
#
#   PYTHON=/path/to/python3.11    the interpreter, if it is not on PATH
#   TESTS=tests/domain ARGS=-x    the tests that `make test` runs, and options of pytest
#   DURAK_CORE=pure               run the core in plain Python; `compiled` asks for the compiled one (docs/adr/0021)
#   WORKERS=3                     number of test processes; more than cores, because tests wait for clocks a third of the time

UV_VERSION := 0.13.9
PYTHON ?=
TESTS ?= tests domain eventstore service
WORKERS ?= 3
ARGS ?=

BIN := .venv/bin
TOOLS := .durak/tools
UV_STAMP := $(TOOLS)/uv-$(UV_VERSION)
SYNC_STAMP := .venv/.synced
BASELINE := proto/durak-v1.binpb

# Only `make bench` may write to standard output: make itself is silent, and the set-up writes to standard error.
MAKEFLAGS += --no-print-directory

# With cached bytecode `durak` starts in half a second instead of two.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup compile serve demo web test bench lint format proto docs proto-baseline clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-16s%s\n' "$$name" "$$text"; done

setup: $(SYNC_STAMP) ## Only set up the environment; every other target does this automatically
	@:

compile: setup ## Compile the core with mypyc, if its sources have changed: one to two minutes of work that make it faster (docs/adr/0021)
	@$(BIN)/python -m compiled.build

serve: compile ## Run the service, on an embedded Postgres unless DURAK_DATABASE_URL is set
	@exec $(BIN)/durak serve $(ARGS)

demo: setup ## Play a whole match over gRPC between four clients and replay it from the log
	@exec $(BIN)/durak demo $(ARGS)

web: compile ## Play in the browser: starts Postgres, the service, the edge and the web client. Needs Node
	@exec $(BIN)/python deploy/web.py $(ARGS)

test: setup ## Run the tests on three processes; TESTS=tests/domain selects a part, ARGS=-x passes options to pytest
	@exec $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS) $(TESTS)

bench: compile ## Run the benchmarks in about six minutes; standard output is one JSON object
	@exec $(BIN)/python -m tests.bench $(ARGS)

lint: setup ## Check style, types, the contract, the import contracts, the generated code and docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against $(BASELINE)
	$(BIN)/python proto/generate.py --check
	$(BIN)/python docs/generate.py --check

format: setup ## Format the code and apply the automatic fixes of ruff
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

proto: setup ## Generate the Python code of the contract from proto/durak/v1/*.proto
	@$(BIN)/python proto/generate.py

docs: setup ## Generate the parts of the docs that repeat the code
	@$(BIN)/python docs/generate.py

proto-baseline: setup ## Make the current contract the baseline of `buf breaking` (docs/adr/0003-contract-baseline.md)
	$(BIN)/buf build --exclude-source-info -o $(BASELINE)

clean: ## Remove the files of the tools; data in .durak/ is kept
	rm -rf .venv $(TOOLS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Install uv with pip into its own environment. Downloads it once.
$(UV_STAMP):
	@echo "make: installing uv $(UV_VERSION)" >&2
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

# Install the locked environment. Runs again only when the lock file, pyproject.toml or the version of uv changes. Tries uv's cache
# first, then its own certificates (small containers have no others), then those of the system (needed behind a TLS proxy).
$(SYNC_STAMP): pyproject.toml uv.lock $(UV_STAMP)
	@echo "make: setting up .venv; the first time this takes about a minute" >&2
	@unset VIRTUAL_ENV; export UV_PYTHON_DOWNLOADS=never; export PATH="$(if $(PYTHON),$(dir $(PYTHON)):)$$PATH"; \
	sync="$(TOOLS)/bin/uv sync --locked --quiet"; \
	$$sync --offline 2>/dev/null || $$sync 2>/dev/null || $$sync --system-certs >&2
	@touch $@

# Needs Python 3.11 or newer, make and a package registry. Everything goes into .venv and .demo.

PYTHON ?= python3
VENV   := .venv
PEERS  := .venv-peers
CRASH  := .venv-crash
MUTATE := .venv-mutants
SITE   := .venv-site
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Most of what a short process does is to import: of what is compiled, that is a third.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests test-all check style types layers bytecode model docs site pictures gallery bench bench-studio bench-cluster bench-crash bench-crash-cluster compare wheels mutants system lock clean

demo: $(VENV)/.demo  ## a page about this checkout by the embedded model, and what keeps it honest
	@PATH="$(CURDIR)/$(BIN):$$PATH" ARTIFICER_HOME="$(CURDIR)/.demo" sh examples/demo/demo.sh

test:  ## install and pass every test and check
	@$(MAKE) --no-print-directory -j3 tests types style layers

tests: $(VENV)/.dev $(VENV)/.conformance model bytecode
	@unset MAKEFLAGS MFLAGS MAKELEVEL; \
	    ARTIFICER_HOME="$(CURDIR)/.demo" CONFORMANCE_DIR="$(CURDIR)/$(VENV)/conformance" \
	    $(BIN)/python -m pytest -n auto --dist loadgroup

# The workers of the tests read what is compiled here once.
bytecode: $(VENV)/.dev
	@$(BIN)/python -m compileall -q -j 0 src
	@$(BIN)/python tests/bytecode.py >/dev/null || true  # the tests say what is wrong

test-all: export ARTIFICER_EXPLORE ?= 10
test-all: test  ## the same with ten times as many examples of each property, others each time

check: style types layers  ## style, types, architecture

style: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .

types: $(VENV)/.dev
	@$(BIN)/mypy $(if $(CI),--cache-dir=/dev/null)

layers: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo

model: $(VENV)/.dev
	@ARTIFICER_HOME="$(CURDIR)/.demo" $(BIN)/artificer local fetch

docs: $(VENV)/.dev  ## write the generated parts of docs/, and the definitions of artifact tools
	@$(BIN)/python docs/generate.py

site: $(SITE)/.site  ## build the documentation into site/; a broken link is an error
	@$(SITE)/bin/zensical build --clean --strict
	@$(SITE)/bin/python docs/localize.py site
	@echo "Open site/index.html"

pictures: $(VENV)/.dev  ## take the pictures of the README and of the studio
	@$(BIN)/python docs/pictures/make.py
	@$(BIN)/python tests/studio/take_pictures.py

gallery: $(VENV)/.dev  ## draw the reports of docs/gallery again from their recordings
	@$(BIN)/python docs/gallery/make.py

bench: $(PEERS)/.bench  ## measure against the peers, in one run
	@$(PEERS)/bin/python bench/speed.py

bench-studio: $(VENV)/.dev  ## measure the studio: in a browser, watched by many, with 100,000 runs
	@$(BIN)/python bench/studio.py

bench-cluster: $(VENV)/.dev  ## measure workers of one world in PostgreSQL
	@$(BIN)/python bench/cluster.py

bench-crash: $(CRASH)/.crash  ## kill this and the peers everywhere, and count what it costs
	@$(CRASH)/bin/python bench/crash/run.py

bench-crash-cluster: $(VENV)/.dev  ## kill, stop and cut off workers and their servers, and count what it costs
	@$(BIN)/python bench/crash/cluster.py

compare: $(PEERS)/.bench  ## run the same programs in Pydantic AI, and compare output and length
	@$(PEERS)/bin/python examples/compare/run.py

wheels: $(VENV)/.dev  ## install the wheel by pip and by uv on every Python here, and run the examples
	@$(BIN)/python -c "import uv" 2>/dev/null || $(PIP) install uv
	@$(BIN)/python tests/wheels.py

mutants: $(MUTATE)/.mutants  ## change the program in small ways, and count what no test notices
	@ARTIFICER_HOME="$(CURDIR)/.demo" nice $(MUTATE)/bin/python bench/mutants.py $(ASK)

$(VENV)/bin/python:
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements/install.lock

$(VENV)/.demo: requirements/demo.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the demo needs …"
	@$(PIP) install --require-hashes -r requirements/demo.lock
	@$(PIP) install --no-deps --editable .
	@touch $@

# pip uses one processor, so two of them install a half each.
# Large packages of which tests import little; the others are compiled in advance, on all processors.
SELDOM := agents|genai_prices|graphql|mypyc?|openai|pip|pkg_resources|pydantic_ai|pygments|schemathesis|setuptools|typer|werkzeug

$(VENV)/.dev: requirements/dev.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the tests need …"
	@awk '/^[a-z0-9]/ {n++} {print > ("$(VENV)/half" n % 2 ".lock")}' $<
	@half() { $(PIP) install --require-hashes --no-deps --no-compile -r $(VENV)/half$$1.lock; }; \
	    half 0 & half 1 && wait $$!
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 -x '/site-packages/($(SELDOM))/' $(VENV)/lib >/dev/null || true
	@touch $@

system:  ## the programs that tests run
	@sh requirements/system.sh

$(VENV)/.conformance: bench/conformance.sh | $(VENV)/bin/python system
	@if command -v npm >/dev/null; then \
	    CONFORMANCE_DIR="$(CURDIR)/$(VENV)/conformance" sh bench/conformance.sh --install; fi
	@touch $@

# An environment of its own, with what the first prerequisite locks.
define apart
@$(PYTHON) -m venv $(1)
@$(1)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps -r $<
@$(1)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --editable .
@touch $@
endef

$(PEERS)/.bench: requirements/bench.lock pyproject.toml
	@echo "Installing the peers into $(PEERS) …"
	$(call apart,$(PEERS))

$(CRASH)/.crash: requirements/crash.lock pyproject.toml
	@echo "Installing the peers that keep runs into $(CRASH) …"
	$(call apart,$(CRASH))

$(MUTATE)/.mutants: requirements/mutants.lock pyproject.toml
	@echo "Installing the mutation tool into $(MUTATE) …"
	$(call apart,$(MUTATE))

$(SITE)/.site: requirements/docs.lock
	@echo "Installing the site generator into $(SITE) …"
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

EXTRAS := --extra anthropic --extra openai --extra local --extra charts --extra pdf --extra docx --extra xlsx --extra http --extra mcp --extra browser --extra signatures --extra sandbox --extra cedar --extra otel --extra studio \
          --extra pydantic-ai --extra langgraph --extra openai-agents --extra postgres --extra s3 --extra temporal
LOCK   := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
          --no-emit-index-url --no-annotate --no-header pyproject.toml

lock: $(VENV)/.dev  ## resolve the locked versions again
	@$(PIP) install uv
	@$(filter-out pyproject.toml,$(LOCK)) --upgrade --group install --output-file requirements/install.lock
	@$(LOCK) --upgrade --extra local --extra charts --extra studio --output-file requirements/demo.lock
	@$(LOCK) --upgrade $(EXTRAS) --group test --group lint --output-file requirements/dev.lock
	@$(filter-out pyproject.toml,$(LOCK)) --upgrade --group docs --output-file requirements/docs.lock
	@$(LOCK) --upgrade --group bench --output-file requirements/bench.lock
	@$(LOCK) --upgrade --group crash --output-file requirements/crash.lock
	@$(LOCK) --upgrade $(EXTRAS) --group test --group mutants --constraints requirements/dev.lock --output-file requirements/mutants.lock

clean:  ## remove what was installed and made
	rm -rf $(VENV) $(PEERS) $(CRASH) $(MUTATE) $(SITE) mutants site .demo

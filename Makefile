PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS := -q -n auto --dist worksteal

# Hundreds of tests start a Python, which would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help explore test test-all style notebooks web docs soak fuzz oracle bench format clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

explore: $(VENV)/ready  ## set up, then serve the explorer; open the address that it prints
	@$(BIN)/tilewise explore

test: style  ## set up, then style, types, and the tests of a quick run; SEED=7 names its samples
	@TILEWISE_SEED=$(SEED) $(BIN)/python -m pytest --quick $(WORKERS) $(PYTEST_ARGS)

test-all: style $(VENV)/with-nvrtc  ## all tests: browsers, NVRTC, the built pages, every case and example
	@$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

style: $(VENV)/ready-to-test  ## style and types
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary

notebooks: $(VENV)/ready-with-notebooks  ## the widget in a real JupyterLab and a real marimo, driven in Chromium
	@$(BIN)/python -m pytest -q -m notebooks tests/notebooks $(PYTEST_ARGS)

web: web/node_modules/installed  ## check and build the explorer's sources; it takes Node
	@cd web && npm run -s check && npm run -s build && npm run -s golden

docs: $(VENV)/ready-to-test  ## build the documentation; warnings are errors
	@$(BIN)/sphinx-build -q -n -W --keep-going -b html docs docs/_build/html
	@echo docs/_build/html/index.html

soak: $(VENV)/ready-for-cuda  ## a million generated cases against the naive definition; kernels for every architecture
	@$(BIN)/python -m tests.soak.soak --count 1000000 --jobs $$(nproc)
	@$(BIN)/python -m tests.soak.algebra --count 1000000 --jobs $$(nproc)
	@$(BIN)/python -m tests.soak.algebra --hardware --count 30000 --jobs $$(nproc)
	@$(BIN)/python -m tests.soak.algebra --only owners --count 50000 --jobs $$(nproc)
	@$(BIN)/python -m tests.soak.kernels
	@$(BIN)/python -m tests.soak.moves
	@$(BIN)/python -m tests.soak.read --count 2000

fuzz: $(VENV)/ready-to-fuzz  ## fuzz the parser for a while
	@$(BIN)/python tests/notation/fuzz_parser.py

# torch brings a Triton of its own; the one that is held to comes after it
oracle: $(VENV)/ready-with-frameworks $(VENV)/ready-with-oracles  ## differential tests against the neighbours
	@$(BIN)/python -m pytest -q -m oracle tests $(PYTEST_ARGS)

bench: $(VENV)/ready-with-oracles  ## figures, side by side with the neighbours, into docs/reference/bench.md
	@$(BIN)/python bench/run.py --write docs/reference/bench.md

format: $(VENV)/ready-to-test  ## one style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:  ## forget the environment and what was built
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tilewise needs Python 3.11 or later; name one with make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "the venv module is missing: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	@echo "setting up in $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/ready: $(VENV)/made pyproject.toml
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

# axe-core, by which the explorer's pages are checked, comes with a package whose dependencies nobody needs here
$(VENV)/with-axe: $(VENV)/ready
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps axe-playwright-python==0.1.8 || \
		echo "axe-core cannot be had: the tests of accessibility are skipped"
	@touch $@

$(VENV)/ready-to-test: $(VENV)/ready $(VENV)/with-axe
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group test
	@touch $@

web/node_modules/installed: web/package-lock.json
	@cd web && npm ci --silent --no-audit --no-fund
	@touch $@

$(VENV)/ready-to-fuzz: $(VENV)/ready-to-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group fuzz
	@touch $@

$(VENV)/ready-for-cuda: $(VENV)/ready-to-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group cuda
	@touch $@

$(VENV)/with-nvrtc: $(VENV)/ready-to-test
	@$(MAKE) --no-print-directory $(VENV)/ready-for-cuda || \
		echo "NVRTC cannot be had: the tests that compile with it are skipped"
	@touch $@

$(VENV)/ready-with-oracles: $(VENV)/ready-to-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group oracle
	@touch $@

$(VENV)/ready-with-frameworks: $(VENV)/ready-to-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group frameworks
	@touch $@

$(VENV)/ready-with-notebooks: $(VENV)/ready-to-test
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group notebooks
	@touch $@

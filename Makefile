# Everything a user or a test machine needs: each target sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.ready-demo
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.ready-docs
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
comma := ,
# pip leaves it to the first import to compile a package; where that may not be kept, every process compiles torch
# and transformers again, and most of the time goes there.
export PYTHONDONTWRITEBYTECODE :=
# Fast tests by default; with CI set, all of them.
MARKS := $(if $(CI),,not slow)
# The report's scripts and styles are looked after by prettier and eslint, where there is node to run them.
NPM := $(shell command -v npm 2> /dev/null)
NODE_READY := $(if $(NPM),node_modules/.ready)
javascript = $(if $(NPM),npm run --silent $(1),@echo "The report's scripts and styles were left out of \"make $(1)\": there is no npm here.")
# Tests write and flush thousands of small files: in memory, where there is room for that, a slow disk costs nothing.
SCRATCH := $(shell df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 && $$4 > 8000000 { print "TMPDIR=/dev/shm" }')
# Faults in some minutes; FAULTS=long tries everything and writes the tables of two pages.
FAULTS ?= short

.PHONY: demo test suite check format docs links bench faults wheel ci beside clean

demo: $(DEMO_READY)
	$(BIN)/haarbor demo

# One process more than there are cores, because tests wait for disks, browsers and processes of their own.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell echo $$(($(CORES) + 1)))

# A file of tests runs in one process, where what it shares is made once.
# The checks use one core, and so take their turn beside the tests.
test:
	$(MAKE) --no-print-directory -j2 $(READY) $(NODE_READY)
	$(MAKE) --no-print-directory -j2 check suite

# Collected once beforehand, because every process that finds a module for the first time compiles it, and they start together.
suite: $(READY)
	$(BIN)/python -m pytest --collect-only -q tests > /dev/null || true
	$(SCRATCH) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "$(MARKS)" tests

# Everything that a test machine runs. What is no test takes its turn in the place of one process of tests, so that
# no core waits for the longest of them at the end.
ci:
	$(MAKE) --no-print-directory -j2 $(READY) $(NODE_READY)
	$(MAKE) --no-print-directory -j2 WORKERS=$(CORES) beside suite

beside:
	$(MAKE) --no-print-directory check
	$(MAKE) --no-print-directory docs
	$(MAKE) --no-print-directory faults FAULTS=short

check: $(READY) $(NODE_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(call javascript,check)
	$(BIN)/python -m pytest -q --doctest-modules src

format: $(READY) $(NODE_READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(call javascript,format)

# Every block of code on a page is run; what has not changed since it was run last is kept. Warnings are errors.
docs: $(DOCS_READY)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -j auto docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Links to other sites, too: asks every one of them, so it needs a network. Those inside the site are held by the build
# and by tests/documentation/test_links.py.
links: $(DOCS_READY)
	$(BIN)/sphinx-build --quiet -b linkcheck -j auto docs docs/_build/links

bench: $(READY)
	$(BIN)/python benchmarks/organize.py
	$(BIN)/python benchmarks/growth.py

wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m pytest -q tests/test_wheel.py tests/cli/test_demo_command.py

faults: $(READY)
	$(SCRATCH) $(BIN)/python -m faults --$(FAULTS) $(if $(filter long,$(FAULTS)),--page docs/faults.md --page docs/evidence/faults.md)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Haarbor needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Run make PYTHON=python3.11.")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip || echo "A newer pip would be quicker; this one does as well."

# The demo needs what a user needs, and nothing that the tests bring.
$(DEMO_READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt -e '.[models,report]'
	touch $@

$(DOCS_READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt -e '.[docs]'
	touch $@

# timm asks for a torchvision that is built for the same torch, which a build for the CPU may not find: both come
# beside the environment, for the tests of timm that know how to import them.
$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt --no-deps --upgrade --target $(VENV)/timm timm torchvision & beside=$$!; \
	$(PIP) -c constraints.txt -e '.[dev$(if $(CI),$(comma)bucket-tests$(comma)docs)]' && wait $$beside
	$(BIN)/python -m pip check
	touch $(DEMO_READY) $(if $(CI),$(DOCS_READY)) $@

node_modules/.ready: package.json package-lock.json
	npm ci --loglevel error > /dev/null
	touch $@

clean:
	rm -rf $(VENV) docs/_build dist node_modules demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two commands do everything on a machine with only Python and make: `make demo` and `make test`.
# Every target builds the environment it needs by itself: .venv, and beside it one for another interpreter
# (make test PYTHON=python3.14) and one with the lower bounds of pyproject.toml (make test OLDEST=1).
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))$(if $(OLDEST),-oldest)
BIN := $(VENV)/bin
WORKERS ?= 2
# One BLAS thread each: the workers share the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo check test bench docs reproduce walk campaign lint format clean help

help:  ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) "pip>=25.1"  # the first that knows dependency groups
ifdef OLDEST
	$(BIN)/python tests/oldest.py > $(VENV)/oldest.txt
	$(PIP) --editable . --group test --constraint $(VENV)/oldest.txt
else
	$(PIP) --editable . --group dev --group docs
endif
	@touch $@

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[demo]"
	@touch $@

demo: $(VENV)/.demo  ## fit the estimators on real data beside scikit-learn's; a table and a picture
	$(BIN)/python examples/demo.py

# Type stubs and the tools of the site follow the newest packages: the oldest are for the tests.
LINT := $(if $(OLDEST),$(VENV)/.ready,lint)

check: $(LINT)  ## lint and the fast tests, for the inner loop: two minutes
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow" tests

test: $(LINT)  ## lint, all tests and doctests, the site and its tests: ten minutes
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

walk:  ## do what the README says in a fresh clone, and say how long it took
	$(PYTHON) tests/walk_readme.py

campaign: $(VENV)/.ready  ## try to break it: drawn fits, files, kills, tables, graphs (MINUTES=30 SEED=0)
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m campaign --minutes $(or $(MINUTES),30) --seed $(or $(SEED),0)

lint: $(VENV)/.ready  ## ruff and mypy --strict
	$(BIN)/ruff check --no-cache .  # the cache does not see that a module moved
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready  ## let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove everything that was built
	rm -rf docs/api docs/drawn docs/gallery
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

bench: $(VENV)/.bench  ## speed against peers, as ratios (QUICK=1: small)
	$(BIN)/python -m benchmarks all $(if $(QUICK),--quick)

$(VENV)/.bench: $(VENV)/.ready
	$(PIP) --editable . --group bench
	@touch $@

docs: $(VENV)/.ready  ## the site, warnings are errors, and its tests: build/docs/index.html
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/site/test_site.py

reproduce: $(VENV)/.ready  ## every table and figure of the papers, run again; a report (QUICK=1: small)
	$(ONE_THREAD) $(BIN)/python -m experiments run all --jobs $(WORKERS) $(if $(QUICK),--quick)
	$(BIN)/python -m experiments report $(if $(QUICK),--quick)

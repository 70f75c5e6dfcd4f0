# Two commands do everything on a machine with only Python and make: `make demo` and `make test`.
# Every target builds the environment it needs in .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test bench docs reproduce walk lint format clean help

help:  ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

demo: $(VENV)/.ready  ## fit the estimators on real data beside scikit-learn's; a table and a picture
	$(BIN)/python examples/demo.py

test: lint  ## all tests, doctests and lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

walk:  ## do what the README says in a fresh clone, and say how long it took
	$(PYTHON) tests/walk_readme.py

lint: $(VENV)/.ready  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready  ## let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove everything that was built
	rm -rf docs/api docs/drawn docs/gallery
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

bench: $(VENV)/.bench  ## speed against peers, as ratios (QUICK=1: small)
	$(BIN)/python -m benchmarks all $(if $(QUICK),--quick)

$(VENV)/.bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

docs: $(VENV)/.docs  ## the site, warnings are errors, and its tests: build/docs/index.html
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	$(BIN)/python -m pytest -q tests/site/test_site.py

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

reproduce: $(VENV)/.ready  ## every table and figure of the papers, run again; a report (QUICK=1: small)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m experiments run all --jobs $(WORKERS) $(if $(QUICK),--quick)
	$(BIN)/python -m experiments report $(if $(QUICK),--quick)

# make demo: set up and compare methods on embedded data.   make test: set up, lint, run the tests.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint bench reproduce clean

demo: $(VENV)/.installed
	$(BIN)/podium compare --out podium-runs/demo

# One file stays in one worker: its compiled kernels are then compiled once. Idle threads sleep instead of spinning, since two
# workers share the cores.
test: lint
	OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_OPTIONS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Each benchmark runs Podium and the named peers in one process and prints the ratios.
bench: $(VENV)/.installed-bench
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script $(BENCH_OPTIONS) || exit 1; done

# All methods on real data, found in $PODIUM_DATA or ../shared/data, under the full protocol: writes docs/results, the README's
# table and picture. Stopped, it goes on where it was. REPRODUCE_OPTIONS=--quick tries it out and writes no documentation.
reproduce: $(VENV)/.installed-dev
	$(PIP) install --editable '.[report]'
	$(BIN)/python tools/reproduce.py $(REPRODUCE_OPTIONS)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Podium needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	touch $@

# PyTorch is an optional extra. Continuous integration (CI=true) tests it; elsewhere its tests are skipped if it is absent.
$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --editable '.[dev]'
	$(if $(CI),$(PIP) install torch==2.13.0)
	touch $@

$(VENV)/.installed-bench: benchmarks/requirements.txt $(VENV)/.installed-dev
	$(PIP) install --requirement benchmarks/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) podium-runs .pytest_cache .mypy_cache .ruff_cache

# make demo: set up, compare methods on search results of an invented shop, train, export, rank.
# make test: set up, lint, run the tests.   make test-extras: the tests that need optional packages or search engines.
# make fuzz: read damaged files for minutes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-quick coverage test-extras test-lowest fuzz engines lint bench reproduce defaults trees-of-peers clicks-study papers docs release clean

demo: $(VENV)/.installed
	$(BIN)/podium demo --out podium-runs/demo

# One file stays in one worker, so that its kernels are compiled once. Two workers share the cores, so BLAS gets one thread
# and idle threads sleep instead of spinning.
PYTEST := OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

test: lint
	$(PYTEST) $(PYTEST_OPTIONS)

# For the inner loop: no lint, and nothing marked slow (see conftest.py).
test-quick: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow" $(PYTEST_OPTIONS)

# Branch coverage of what Python runs; compiled functions are not traced and are left out (see pyproject.toml).
coverage: $(VENV)/.installed-dev
	$(PYTEST) --cov --cov-report term:skip-covered --cov-report html $(PYTEST_OPTIONS)

# The tests that need optional packages or search engines (see conftest.py). A missing package is an error here, not a reason to skip;
# without Java or the engines' jars (make engines), the tests in engines are skipped.
test-extras: $(VENV)/.installed-extras
	$(PYTEST) --extras $(PYTEST_OPTIONS)

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own.
LOWEST := .venv-lowest
test-lowest: $(LOWEST)/.installed
	$(subst $(BIN),$(LOWEST)/bin,$(PYTEST)) $(PYTEST_OPTIONS)

$(LOWEST)/.installed: pyproject.toml tools/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tools/lowest_versions.py dev > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install --constraint $(LOWEST)/lowest.txt --editable '.[dev]'
	touch $@

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/lint_script.py

# The search engines that exported models are tested in: their jars, by Maven (and Java 17 with a compiler), next to the programs that run them.
ENGINES := $(patsubst tests/engines/%/pom.xml,%,$(wildcard tests/engines/*/pom.xml))
engines: $(ENGINES:%=tests/engines/%/lib)

tests/engines/%/lib: tests/engines/%/pom.xml
	mvn --batch-mode --quiet --file $< dependency:copy-dependencies -DoutputDirectory=lib -DincludeScope=runtime

# Damaged files of all kinds, read in child processes: FUZZ_MINUTES=60 make fuzz. What it finds goes to fuzz-findings.
FUZZ_MINUTES ?= 5
fuzz: $(VENV)/.installed-dev
	$(BIN)/python tests/fuzz/run.py --minutes $(FUZZ_MINUTES) $(FUZZ_OPTIONS)

# Each benchmark runs Podium and the named peers in one process and prints the ratios.
bench: $(VENV)/.installed-bench
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script $(BENCH_OPTIONS) || exit 1; done

# All methods on real data, found in $PODIUM_DATA or ../shared/data, under the full protocol: writes docs/results and the README's
# table and picture. If interrupted, it resumes where it stopped. REPRODUCE_OPTIONS=--quick tries it out and writes no documentation.
reproduce: $(VENV)/.installed-dev
	$(PIP) install --editable '.[report]'
	$(BIN)/python tools/reproduce.py $(REPRODUCE_OPTIONS)

# Every preset with its defaults against the best single feature and tuned settings, and Auto, on training and validation parts: writes
# docs/results/defaults.md. If interrupted, it resumes where it stopped. DEFAULTS_OPTIONS="--sets mslr --parts presets" computes a part.
defaults: $(VENV)/.installed-dev
	$(BIN)/python tools/defaults.py $(DEFAULTS_OPTIONS)

# XE-NDCG and YetiRank on trees beside LightGBM's and CatBoost's own, on one thread: writes docs/results/trees-of-peers.md. If interrupted, it
# resumes where it stopped. PEERS_OPTIONS=--stored computes nothing.
trees-of-peers: $(VENV)/.installed-dev
	$(PIP) install --editable '.[peers]'
	$(BIN)/python tools/trees_of_peers.py $(PEERS_OPTIONS)

# Learning from simulated clicks on OHSUMED, the MSLR sample and synthetic lists, beside LightGBM's and XGBoost's own corrections: writes
# docs/results/clicks.md. If interrupted, it resumes where it stopped. CLICKS_OPTIONS=--quick tries it on little.
clicks-study: $(VENV)/.installed-dev
	$(PIP) install --editable '.[report,peers]'
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/clicks_study.py $(CLICKS_OPTIONS)

# The papers' own experiments beside their printed figures: writes docs/papers. If interrupted, it resumes where it stopped. PAPER=pmop makes
# one page; PAPERS_OPTIONS=--stored computes nothing and says what is missing.
papers: $(VENV)/.installed-dev
	$(PIP) install --editable '.[report]'
	OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python tools/papers $(PAPER) --jobs 2 $(PAPERS_OPTIONS)

# The site, into docs/_build/html, with a look at it in a browser; nothing is fetched, and warnings are errors.
docs: $(VENV)/.installed-docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet docs docs/_build/html
	$(BIN)/python -m pytest --extras tests/site

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Podium needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --editable '.[dev]'
	touch $@

$(VENV)/.installed-extras: $(VENV)/.installed-dev
	$(PIP) install torch==2.13.0
	$(PIP) install --editable '.[extras]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-extras
	$(PIP) install --editable '.[docs]'
	touch $@

$(VENV)/.installed-bench: benchmarks/requirements.txt $(VENV)/.installed-dev
	$(PIP) install --requirement benchmarks/requirements.txt
	touch $@

# Source archive and wheel, and a trial of the wheel in an empty environment.
release: $(VENV)/.installed
	rm -rf dist
	$(PIP) install 'build>=1.2'
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/try_wheel.py dist/*.whl

clean:
	rm -rf $(VENV) docs/_build docs/auto_gallery docs/reference podium-runs .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# Two commands on a fresh machine: `make demo` and `make test`. All targets make their own environment in .venv.
# `make bench QUICK=1` takes 3 minutes instead of 15, `make verify` one. `make docs REPLAYS=1` puts
# a replay on the page of every example.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
QUICK  ?=
SPEED  := $(if $(QUICK),--quick)
# tests that `make bounds` runs; a minute to compile, as many more take: `make bounds CHECKED=tests/sim`
CHECKED := tests/kernel/test_bounds.py tests/solver/contact/test_missing_blocks.py tests/physics/test_contact_heap.py
# engines to compare with that are left out where there is no wheel for this machine
RIVALS := drake newton pybullet

# robot files of public packages, and oracles, in an environment of their own; what does not install is left out
ROBOTS  := gymnasium gymnasium-robotics robosuite dm_control pybullet newton
ORACLES := pin example-robot-data
CACHED  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dovetail-robots

.PHONY: demo test fuzz bounds lint docs bench verify robots wheel clean

demo: $(VENV)/.installed
	$(BIN)/python -m dovetail.demo

# dozens of short processes import the package, so bytecode is kept whatever the environment says; and one of two
# processes that use both processors has no use for more threads of BLAS
unexport PYTHONDONTWRITEBYTECODE
test: export OPENBLAS_NUM_THREADS := 1
test: $(VENV)/.installed-test
	$(BIN)/python -m dovetail warmup
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# nonsense and spoilt files, several times as many as the tests have
fuzz: $(VENV)/.installed-test
	DOVETAIL_FUZZ=full $(BIN)/python -m pytest -q -n 2 tests/fuzz

# kernels that check every index, on a part of the tests: contact while bodies come and go
bounds: $(VENV)/.installed-test
	DOVETAIL_BOUNDS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q $(CHECKED)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/scripts/site.py $(if $(REPLAYS),--replays)

bench: $(VENV)/.installed-bench
	$(BIN)/python -m dovetail.bench $(SPEED) --out docs/benchmarks
	$(BIN)/python benchmarks/stages.py $(SPEED)
	$(BIN)/python docs/scripts/readme_figures.py

verify: $(VENV)/.installed-test
	$(BIN)/python benchmarks/verify.py $(SPEED)

# goes on where it was stopped; ONLY="newton robosuite": these packages, ONLY=times: the times of a step, on a quiet machine
robots: $(CACHED)/.installed
	DOVETAIL_THREADS=1 PYTHONPATH=src $(CACHED)/bin/python benchmarks/robots.py $(if $(QUICK),--postures 3) \
	    $(if $(filter times,$(ONLY)),--times) $(if $(filter-out times,$(ONLY)),--packages $(filter-out times,$(ONLY)))

# with kernels for this kind of machine, in dist/
wheel: $(VENV)/.installed
	$(BIN)/python packaging/wheel.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[viewer]'
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	for engine in $(RIVALS); do \
	    $(BIN)/python -m pip install --quiet --only-binary :all: $$engine || echo "no $$engine for this machine"; \
	done
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(CACHED)/.installed: pyproject.toml
	$(PYTHON) -m venv $(CACHED)
	$(CACHED)/bin/python -m pip install --quiet --editable '.[robots,usd]'
	for package in $(ORACLES); do \
	    $(CACHED)/bin/python -m pip install --quiet --only-binary :all: $$package || echo "no $$package"; \
	done
	for package in $(ROBOTS); do \
	    $(CACHED)/bin/python -m pip install --quiet --only-binary :all: --no-deps $$package || echo "no $$package"; \
	done
	touch $@

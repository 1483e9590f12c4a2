# Each target sets itself up: a virtual environment in .venv, the compiled core, what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# What the installation depends on: how to build, the native sources, and which modules there are
# (an editable install lists them, so a new file means a new installation).
SOURCES := pyproject.toml CMakeLists.txt constraints.txt $(shell find native -type f)
CXX_SOURCES := $(shell find native -name '*.[ch]pp')
MODULES := $(shell find src -name '*.py' | sort | cksum | cut -d' ' -f1)
DEMO := $(VENV)/.demo-$(MODULES)
DEV := $(VENV)/.dev-$(MODULES)
SPARK := $(VENV)/.spark-$(shell sed -n 's/^pyspark==//p' constraints.txt)

.PHONY: demo test test-data floors wheel picture lint format bench clean help
help:
	@echo "make demo       train on built-in digits, write a page of pictures (a minute)"
	@echo "make test       the tests, on any machine"
	@echo "make test-data  the tests that need data sets, databases and other engines"
	@echo "make floors     a part of the tests with the lowest versions of all dependencies"
	@echo "make wheel      a wheel in dist/, to install elsewhere"
	@echo "make lint       formatting, lint, types, import contracts, spelling"
	@echo "make bench      how fast is it, against peers"
	@echo "make picture    draw the picture of the README again"

demo: $(DEMO)
	$(BIN)/kinhash demo --out kinhash-demo --force

test: $(DEV)
	$(BIN)/python -m pytest -n auto -m 'not data and not engine'

# Needs data sets under $KINHASH_DATA or ~/.cache/kinhash, and engines such as PostgreSQL, whose
# servers the tests start and stop themselves; tests/prepare FOLDER links and installs both, and
# Java for Spark.
test-data: $(DEV) $(SPARK)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m 'data or engine'

# The lowest versions that pyproject.toml states, all but torch, in an environment of their own.
floors: $(BIN)/python
	$(BIN)/python .ci/floors

# pip builds it in an environment of its own, and CMake in a folder that no other build has used.
wheel: | $(BIN)/python
	rm -rf build/for-wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist --config-settings build-dir=build/for-wheel .
	@ls dist/*.whl

picture: $(DEV)
	$(BIN)/python experiments/picture.py

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

bench: $(DEV)
	$(BIN)/python benchmarks/bench_train.py
	$(BIN)/python benchmarks/bench_encode.py
	$(BIN)/python benchmarks/bench_metrics.py
	$(BIN)/python benchmarks/bench_index.py

clean:
	rm -rf $(VENV) build dist kinhash-demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kinhash needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..."; exit 1; }
	@command -v c++ > /dev/null || { echo "kinhash needs a C++ compiler (c++), such as the package g++."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO): $(SOURCES) | $(BIN)/python
	@echo "Installing kinhash and what the demo needs into $(VENV) (once, a minute or two) ..."
	$(INSTALL) --editable '.[train,plot]'
	@rm -f $(VENV)/.demo-* && touch $@

$(DEV): $(SOURCES) | $(BIN)/python
	@echo "Installing kinhash and its development tools into $(VENV) (once, a minute or two) ..."
	$(INSTALL) --editable '.[dev]'
	@rm -f $(VENV)/.dev-* $(VENV)/.demo-* && touch $@ $(DEMO)

# Only the tests of engines need it: `dev` and `all` stay small.
$(SPARK): | $(DEV)
	@echo "Installing PySpark into $(VENV) (once, a download of 430 MB) ..."
	$(INSTALL) pyspark
	@rm -f $(VENV)/.spark-* && touch $@

# Out of bounds, undefined: the core with both sanitisers under the tests of the index (minutes).
.PHONY: sanitize
sanitize: $(DEV)
	$(INSTALL) nanobind cmake ninja
	KINHASH_FUZZ_ROUNDS=40 native/sanitize/run $(BIN)/python -m pytest -q -m 'not data and not engine' tests/index

# Instructions that this machine lacks: all kernels on an emulated processor (Debian, as root, minutes).
.PHONY: emulate
emulate: $(DEV)
	$(INSTALL) nanobind cmake ninja
	native/emulate/run $(BIN)/python

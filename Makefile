# Needs make and Python 3.11 or newer, nothing else: every target makes .venv first if it is missing or stale.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(if \
	$(shell $(name) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(name))))
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test check quick lint types pyright tests docs bench bench-docs bench-peers wheel clean

help:
	@echo "make demo    train the language model of the demo and draw its loss (about a minute)"
	@echo "make test    lint, types and tests; make check is the same"
	@echo "make quick   ruff, and the tests that find most mistakes, in a minute"
	@echo "make lint | types | tests    one of the three"
	@echo "make pyright   what pyright says of the types: verdicts on uses, completeness"
	@echo "make docs    the documentation site, in build/site"
	@echo "make bench   the benchmarks, beside the limits they are held to"
	@echo "make bench-docs   the same, and write their numbers into the pages"
	@echo "make bench-peers   install what they are compared with: autograd, jax, torch, pytensor, distributed"
	@echo "make wheel   build the wheel, and try it in an empty environment"
	@echo "make clean   remove what the other targets made"

# The matrices are small: a second thread of linear algebra costs more than it brings, the more so on a busy machine.
demo: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/anyshape demo

# Lint and types take one core each.
test check: $(READY)
	@$(MAKE) --no-print-directory -j 2 lint types
	@$(MAKE) --no-print-directory tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/python -m tools.check_style

types: $(READY)
	$(BIN)/mypy

# At least 98 percent of the public names have declared types. It installs pyright, which the other targets do not need.
pyright: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pyright[nodejs]"
	$(BIN)/python -m pytest -m slow tests/typing

# One thread of linear algebra per worker: two workers already fill two cores. Idle workers steal tests: a few are slow.
# Bytecode is kept, whatever the environment says: the tests import three hundred files twice, and start 150 processes.
TESTS := PYTHONDONTWRITEBYTECODE= ANYSHAPE_CHECK=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n 2 --dist worksteal

tests: $(READY)
	$(TESTS)

# Values and gradients of every function of NumPy, batches of those that have rules of their own, sizes, messages,
# layers and passes. Functions of elements share one rule of batches.
QUICK := tests/laws/test_sample_sweep.py tests/graph/sizes/test_expr.py tests/errors \
	tests/transforms/test_jit.py tests/transforms/test_vmap.py tests/project/test_layers.py \
	tests/backend/compiler/passes/test_simplify.py
SWEPT := namespace or naive or second_derivatives or single_precision or fresh_process or declared_flat \
	or (vmap_equals and (elementwise or special))

quick: $(READY)
	$(BIN)/ruff check .
	$(TESTS) -q $(QUICK) -k "not ($(SWEPT))"

# What pages print is in the pages: python docs/regenerate.py writes it, and the tests check it.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open build/site/index.html"

# Nothing is set, as most users set nothing: leave the machine alone meanwhile.
bench: $(READY)
	$(BIN)/python -m benchmarks.run

# Measures all sections, stores the numbers in docs/measured.json, and writes the tables of the pages.
bench-docs: $(READY)
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.tables benchmarks/results.json

# What the benchmarks compare with, for the CPU, apart from what the project needs. What cannot be installed is left out.
PEERS := autograd jax torch pytensor distributed
TORCH_FOR_CPU := https://download.pytorch.org/whl/cpu

bench-peers:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv-peers
	@for peer in $(PEERS); do \
		echo "installing $$peer"; \
		index=; test $$peer = torch && index="--extra-index-url $(TORCH_FOR_CPU)"; \
		.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check scipy optree array-api-compat $$peer \
			|| echo "$$peer could not be installed: the benchmarks go without it" >&2; \
	done

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# What a new user gets: the wheel with its dependencies alone, tried outside of the checkout.
wheel: $(READY)
	rm -rf dist build/empty
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/python ../../tools/try_wheel.py

clean:
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage build dist *.egg-info demo_loss.png benchmarks/results.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

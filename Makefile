# Each target sets up what it needs in .venv by itself.
PYTHON ?= python3
BIN := .venv/bin

# Tests run in two processes: more threads than cores make small linear algebra slower.
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test quick check docs docs-outputs bench reproduce results format clean

.venv/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	touch $@

demo: .venv/.installed
	$(BIN)/vaecp demo --output demo-output

test: .venv/.installed
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The inner loop: all but the tests that are marked slow.
quick: .venv/.installed
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

check: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) test

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site lands in site/: open site/index.html, or serve it (python -m http.server -d site) to search.
docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/.installed
	$(BIN)/mkdocs build --strict --quiet

# Runs every code block of the documentation in full, and writes what they print into the pages.
docs-outputs: .venv/.installed
	$(BIN)/python tools/doc_blocks.py
	$(BIN)/python tools/run_notebooks.py

# PyTorch and SMURFF, to compare with.
.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]' --constraint constraints.txt
	touch $@

# Takes about a quarter of an hour, and an idle machine.
bench: .venv/.installed-bench
	$(BIN)/python benchmarks/run_all.py

reproduce: .venv/.installed
	$(BIN)/vaecp reproduce --output results

# Writes docs/results and the tables of README.md from the runs under evidence/.
results: .venv/.installed
	$(BIN)/python tools/results_pages.py

clean:
	rm -rf .venv build dist demo-output site

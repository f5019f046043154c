# Each target sets up what it needs in .venv by itself.
PYTHON ?= python3
BIN := .venv/bin

# Tests run in two processes: more threads than cores make small linear algebra slower.
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test quick check docs docs-outputs bench reproduce results format clean fuzz sbom

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

# Takes about twenty minutes, and an idle machine.
bench: .venv/.installed-bench
	$(BIN)/python benchmarks/run_all.py

# 10,000 files and calls, and 1,000 small tables for each method, then interrupts and surroundings.
# Takes some hours; every case has a limit of memory and of time. FUZZ="--cases 500 --seed 7" is shorter.
FUZZ ?= --cases 10000 --workers 2
fuzz: .venv/.installed
	PYTHONPATH=tests/fuzz $(BIN)/python -m fuzzing $(FUZZ)
	VAECP_FUZZ=1 $(BIN)/python -m pytest tests/fuzz/test_interrupts.py tests/fuzz/test_surroundings.py

# What is installed, with licences, as a CycloneDX bill of materials in sbom.json. The tool that writes it
# has an environment of its own, which is not listed.
sbom: .venv/.installed
	test -x .venv-sbom/bin/cyclonedx-py || ($(PYTHON) -m venv .venv-sbom && \
		.venv-sbom/bin/python -m pip install --quiet cyclonedx-bom==7.5.0)
	.venv-sbom/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml \
		--output-reproducible --output-format JSON --output-file sbom.json
	$(BIN)/python tools/licences.py

reproduce: .venv/.installed
	$(BIN)/vaecp reproduce --output results

# Writes docs/results and the tables of README.md from the runs under evidence/.
results: .venv/.installed
	$(BIN)/python tools/results_pages.py

clean:
	rm -rf .venv .venv-sbom build dist demo-output site

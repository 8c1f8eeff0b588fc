# make lab    read the course live          make test   check all of it          make help   everything else

PYTHON ?= python3
PORT ?= 8888
VENV := .venv$(if $(OLDEST),-oldest)
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python$(if $(filter Windows_NT,$(OS)),.exe)
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
CHECK_READY := $(VENV)/.ready-check
LAB_READY := $(VENV)/.ready-lab
TEST_READY := $(VENV)/.ready-test
# As many processes as there are cores, at most four; a file's tests, and so a notebook's cells, stay in one of them.
PARALLEL ?= -n auto --maxprocesses=4 --dist=loadfile
UNIT := -m "not contract and not long and not widget and not browser and not book and not slow and not fuzz and not real" -o addopts="--strict-markers --strict-config --doctest-modules"

# Kernels and workers import the package hundreds of times: what Python compiled is kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help lab test check check-models check-notebooks check-browser check-peers slow real results book notebooks screenshot animation \
  bench bench-peers lint types format dist release-notes clean distclean browser

help:
	@echo "make lab            start JupyterLab on the front page of the course   (PORT=8888)"
	@echo "make test           every test that runs anywhere                      (PYTEST='-k ppca -x')"
	@echo "make check          lint, types, unit tests, doctests: a minute and a half, and a small install"
	@echo "make check-models   scikit-learn's own checks, the longer fits, and the explorers without a browser"
	@echo "make check-notebooks  every cell against its stored output, and the built book"
	@echo "make check-browser  the explorers and the pages in a real browser"
	@echo "make check-peers    the README's tables against GPy, GPflow, GPyTorch and ugtm, each installed for it"
	@echo "make slow           the long tests: a fresh Binder environment, thousands of hostile tables, defaults"
	@echo "make real           what needs the papers' data: tests, then book/results   (GPLVM_EDU_DATA=folder)"
	@echo "make book           the static site, warnings as errors"
	@echo "make notebooks      run the notebooks and store their outputs          (NB=01_ppca for one)"
	@echo "make screenshot     the README's picture of the live first chapter;  make animation   its moving one"
	@echo "make bench          benchmarks, as ratios inside one run"
	@echo "make bench-peers    GPy, GPflow, ugtm and scikit-learn beside ours, each installed for it"
	@echo "make lint           what the linters and the formatters say; 'make format' lets the formatters mend it"
	@echo "make types          what the type checker says"
	@echo "make dist           the files that go to PyPI;  make release-notes VERSION=0.2.0   what they bring"
	@echo "make clean          remove what was built; 'make distclean' removes $(VENV) too"
	@echo "PYTHON=python3.12   which Python makes $(VENV) (3.11 or later)"
	@echo "PARALLEL=           tests in one process;  OLDEST=1 check   with the oldest versions that we allow"

# ---------------------------------------------------------------- set-up, once per change of pyproject.toml
$(PY):
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "I can't find '$(PYTHON)'. Install Python 3.11 or later, or name one: make PYTHON=/path/to/python3 lab"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "'$(PYTHON)' is $$("$(PYTHON)" --version 2>&1); this course needs Python 3.11 or later." \
	       "Name another: make PYTHON=python3.12 lab"; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# A set-up that was interrupted leaves an environment without pip: begin again.
MEND := $(PY) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV)

$(LAB_READY): $(PY) pyproject.toml
	@$(MEND)
	@echo "Installing JupyterLab and the course into $(VENV) (about a minute) ..."
	@$(PIP) -e ".[lab]"
	@touch $@

$(TEST_READY): $(PY) pyproject.toml
	@$(MEND)
	@echo "Installing the course and its tests into $(VENV) (a minute or two) ..."
	@$(PIP) -e ".[test]"
	@touch $(LAB_READY) $(CHECK_READY) $@

$(CHECK_READY): $(PY) pyproject.toml
	@$(MEND)
	@echo "Installing the package, the widgets and their unit tests into $(VENV) (half a minute) ..."
ifdef OLDEST
	@$(PY) tools/oldest.py > $(VENV)/oldest.txt
	@$(PIP) -c $(VENV)/oldest.txt -e ".[check]"
else
	@$(PIP) -e ".[check]"
endif
	@touch $@

# ---------------------------------------------------------------- read
lab: $(LAB_READY)
	@if [ "$$(uname)" = Darwin ] || [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then show=; else show=--no-browser; fi; \
	echo "JupyterLab prints its address, with a token, below. Stop it with Ctrl-C."; \
	exec $(PY) -m jupyterlab $$show --allow-root --ServerApp.ip=127.0.0.1 --ServerApp.port=$(PORT) \
	  --ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/book/index.ipynb

# ---------------------------------------------------------------- check
browser: $(TEST_READY)
	@$(PY) tests/lab.py

test: browser
	$(PY) -m pytest $(PARALLEL) --durations=20 $(PYTEST)

check: $(CHECK_READY) $(if $(OLDEST),,lint types)      # the linters are of one version, the newest
	HYPOTHESIS_PROFILE=quick $(PY) -m pytest $(PARALLEL) $(UNIT) tests gplvm_edu widgets $(PYTEST)

check-models: $(TEST_READY)
	$(PY) -m pytest $(PARALLEL) -m "(contract or long or widget) and not browser and not slow and not fuzz and not real" tests $(PYTEST)

check-notebooks: $(TEST_READY)
	$(PY) -m pytest $(PARALLEL) -m "not browser and not slow and not fuzz and not real" book tests/test_book.py \
	  tests/test_store_outputs.py tests/test_strips.py tests/test_binder.py $(PYTEST)

check-browser: browser
	GPLVM_EDU_REQUIRE_BROWSER=1 $(PY) -m pytest $(PARALLEL) -m "browser and not slow and not fuzz and not real" tests $(PYTEST)

# The peers want other versions of numpy than we do: each has an environment of its own, beside ours. GPy's explorer of a
# latent space is there only with matplotlib.
PEERS := GPy gpflow gpytorch ugtm
$(PEERS:%=.venv-peers/%/.ready):
	"$(PYTHON)" -m venv --clear $(@D)
	@echo "Installing $(notdir $(@D)) into $(@D) ..."
	@$(@D)/$(notdir $(BIN))/python -m pip install --quiet --disable-pip-version-check $(notdir $(@D)) \
	  matplotlib scikit-learn threadpoolctl "setuptools<81"
	@touch $@

check-peers: $(CHECK_READY) $(PEERS:%=.venv-peers/%/.ready)
	GPLVM_EDU_REQUIRE_PEERS=1 GPLVM_EDU_PEERS_PYTHON=$$(echo $(PEERS:%=.venv-peers/%/$(notdir $(BIN))/python) | tr ' ' ':') \
	  $(PY) -m pytest -o addopts= -v tests/test_peers.py $(PYTEST)

slow: browser
	$(PY) -m pytest $(PARALLEL) -m "(slow or fuzz) and not real" $(PYTEST)

real: $(TEST_READY)
	@[ -n "$$GPLVM_EDU_DATA" ] && [ -d "$$GPLVM_EDU_DATA" ] || { \
	  echo "make real needs the papers' data: GPLVM_EDU_DATA must name an existing folder (now: '$$GPLVM_EDU_DATA')."; \
	  echo "Appendix B (book/datasets.ipynb) says which files belong there. Then: make real GPLVM_EDU_DATA=/that/folder"; \
	  exit 1; }
	$(PY) -m pytest $(PARALLEL) -m real $(PYTEST)
	@$(MAKE) --no-print-directory results

results: $(TEST_READY)
	@names=$$($(PY) -m gplvm_edu.papers --list) || exit 1; for name in $$names; do \
	  $(PY) -m gplvm_edu.papers $$name book/results/$$name.json || exit 1; done

lint: $(CHECK_READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check --quiet .
	$(BIN)/deno fmt --check --quiet
	$(BIN)/deno lint --quiet

types: $(CHECK_READY)
	$(PY) -m mypy

format: $(CHECK_READY)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(BIN)/deno fmt

animation: browser
	$(PY) tools/animate.py

bench: $(TEST_READY)
	@for script in tests/bench*.py; do \
	  [ -f "$$script" ] || { echo "There is no benchmark yet (tests/bench*.py)."; exit 0; }; \
	  echo "== $$script"; $(PY) $$script || exit 1; done

# Ours and a peer in turn, in one process of the peer's environment: our package is read from here, with its numpy. One
# thread for OpenMP too: those of GPy's Cython go on spinning, and would be counted as ours.
bench-peers: $(TEST_READY) $(foreach peer,GPy gpflow ugtm,.venv-peers/$(peer)/.ready)
	@for pair in gplvm:GPy gplvm:gpflow variational:GPy variational:gpflow gtm:ugtm; do \
	  topic=$${pair%:*} peer=$${pair#*:}; echo "== $$topic beside $$peer"; \
	  OMP_NUM_THREADS=1 PYTHONPATH="$(CURDIR)" .venv-peers/$$peer/$(notdir $(BIN))/python tests/bench_$$topic.py $$peer || exit 1; done
	$(PY) tests/bench_tsne.py

# ---------------------------------------------------------------- the book
book: $(TEST_READY)
	$(BIN)/jupyter-book build book --all -W -n --keep-going
	@echo "The site is in book/_build/html; open book/_build/html/index.html"

notebooks: $(TEST_READY)
	@$(PY) book/_ext/store_outputs.py $(NB)

screenshot: browser
	GPLVM_EDU_SCREENSHOT="$(CURDIR)/book/images/chapter01.png" $(PY) -m pytest tests/test_browser.py -k screenshot
	$(PY) book/_ext/store_outputs.py --convert

# ---------------------------------------------------------------- a release
dist: $(TEST_READY)
	$(PY) tools/dist.py
	$(PY) -m twine check --strict dist/*

release-notes:
	@"$(PYTHON)" tools/release_notes.py $(VERSION) $(FILE)

clean:
	rm -rf book/_build build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .jupyter_cache
	find . -path ./$(VENV) -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -exec rm -rf {} +

distclean: clean
	rm -rf .venv .venv-oldest .venv-peers

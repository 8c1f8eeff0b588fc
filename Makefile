# make lab    read the course live          make test   check all of it          make help   everything else

PYTHON ?= python3
PORT ?= 8888
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
LAB_READY := $(VENV)/.ready-lab
TEST_READY := $(VENV)/.ready-test
# Topics with figures on the papers' real data: `python -m gplvm_edu.NAME FILE` writes them. `make real` runs each.
RESULTS := datasets ppca wishart gplvm proximity gtm gtm_variants ivm noise tsne variational prediction

.DEFAULT_GOAL := help
.PHONY: help lab test slow real results book notebooks screenshot bench bench-peers lint clean distclean browser

help:
	@echo "make lab            start JupyterLab on the front page of the course   (PORT=8888)"
	@echo "make test           every test that runs anywhere                      (PYTEST='-k ppca -x')"
	@echo "make slow           the long tests: a fresh Binder environment, and others"
	@echo "make real           what needs the papers' data: tests, then book/results   (GPLVM_EDU_DATA=folder)"
	@echo "make book           the static site, warnings as errors"
	@echo "make notebooks      run the notebooks and store their outputs          (NB=01_ppca for one)"
	@echo "make screenshot     the README's picture of the live first chapter"
	@echo "make bench          benchmarks, as ratios inside one run"
	@echo "make bench-peers    GPy, GPflow and ugtm beside ours, where they are installed"
	@echo "make lint           ruff"
	@echo "make clean          remove what was built; 'make distclean' removes $(VENV) too"
	@echo "PYTHON=python3.12   which Python makes $(VENV) (3.11 or later)"

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
	@touch $(LAB_READY) $@

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
	$(PY) -m pytest $(PYTEST)

slow: browser
	$(PY) -m pytest -m "slow and not real" $(PYTEST)

real: $(TEST_READY)
	@[ -n "$$GPLVM_EDU_DATA" ] && [ -d "$$GPLVM_EDU_DATA" ] || { \
	  echo "make real needs the papers' data: GPLVM_EDU_DATA must name an existing folder (now: '$$GPLVM_EDU_DATA')."; \
	  echo "Appendix B (book/datasets.ipynb) says which files belong there. Then: make real GPLVM_EDU_DATA=/that/folder"; \
	  exit 1; }
	$(PY) -m pytest -m real $(PYTEST)
	@$(MAKE) --no-print-directory results

results: $(TEST_READY)
	@for name in $(RESULTS); do \
	  echo "writing book/results/$$name.json"; $(PY) -m gplvm_edu.$$name book/results/$$name.json || exit 1; done

lint: $(TEST_READY)
	$(PY) -m ruff check .

bench: $(TEST_READY)
	@for script in tests/bench*.py; do \
	  [ -f "$$script" ] || { echo "There is no benchmark yet (tests/bench*.py)."; exit 0; }; \
	  echo "== $$script"; $(PY) $$script || exit 1; done

bench-peers: $(TEST_READY)
	@for topic in gplvm gtm variational; do echo "== $$topic"; $(PY) tests/bench_$$topic.py peers || exit 1; done

# ---------------------------------------------------------------- the book
book: $(TEST_READY)
	$(VENV)/bin/jupyter-book build book --all -W -n --keep-going
	@echo "The site is in book/_build/html; open book/_build/html/index.html"

notebooks: $(TEST_READY)
	@$(PY) book/_ext/store_outputs.py $(NB)

screenshot: browser
	GPLVM_EDU_SCREENSHOT="$(CURDIR)/book/images/chapter01.png" $(PY) -m pytest tests/test_browser.py -k screenshot

clean:
	rm -rf book/_build build *.egg-info .pytest_cache .ruff_cache .hypothesis .jupyter_cache
	find . -path ./$(VENV) -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

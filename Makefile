# make serve: the page.   make site: a folder for any static host.   make test: every check.   make bench: timings.
# Works on a fresh clone with Python 3.11 to 3.13 and nothing else installed.

PORT ?= 5006
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for v in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$v >/dev/null 2>&1 && $$v -c 'import sys; sys.exit(not (3,11) <= sys.version_info[:2] < (3,14))' 2>/dev/null && echo $$v && break; done)

.PHONY: serve site test check bench clean

serve: $(VENV)/run.done
	@echo "Serving on http://localhost:$(PORT)/app  (stop with Ctrl-C)"
	@$(BIN)/panel serve app.py --port $(PORT) --static-dirs assets=static

# make site OFFLINE=1: with Python for the browser in the folder too, instead of from its CDN.
site: $(VENV)/run.done
	@$(BIN)/python -m widgets.site $(if $(OFFLINE),--offline)

test: check
	$(BIN)/python -m pytest

check: $(VENV)/test.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/test.done
	$(BIN)/python -m tests.bench

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 was found; install one, or say make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.done: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/test.done: requirements.txt tests/requirements.txt tests/browser/find_chromium.py tests/browser/find_nginx.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	$(BIN)/python tests/browser/find_chromium.py --install
	$(BIN)/python tests/browser/find_nginx.py --install
	@touch $@ $(VENV)/run.done

clean:
	rm -rf $(VENV) dist .cache

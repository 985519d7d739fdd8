# Everything from a fresh machine with Python (3.10 or later) and make: `make demo`, `make test`.
PYTHON ?= python3
PIP = bin/pip --disable-pip-version-check install --quiet
DEMO = .venv-demo
DEV = .venv

.PHONY: demo test lint format clean

demo: $(DEMO)/.done  ## transcribe a recording with the base model
	$(DEMO)/bin/sasayaki transcribe tests/data/en_jfk.mp3 --model base

test: $(DEV)/.done  ## run all tests
	$(DEV)/bin/coverage run -m pytest
	$(DEV)/bin/coverage report --skip-covered

lint: $(DEV)/.done  ## style and types
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy

format: $(DEV)/.done
	$(DEV)/bin/ruff check --fix .
	$(DEV)/bin/ruff format .

clean:
	rm -rf $(DEMO) $(DEV)

$(DEMO)/.done: pyproject.toml $(shell find src -type f -not -name '*.pyc' 2>/dev/null)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/$(PIP) '.[base]'
	touch $@

$(DEV)/.done: pyproject.toml
	$(PYTHON) -m venv $(DEV)
	$(DEV)/$(PIP) -e '.[test,lint,torch,base,tiny-en]'
	touch $@

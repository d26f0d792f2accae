# make demo, make test and make docs each set up what they need in .venv; all may be repeated.
# make demo               builds a pipeline for the Human Phenotype Ontology and links clinical notes with it
# make test               format, lint, types, tests
# make test WITH_TORCH=1  also with the extra "transformers": torch and what stands on it (TORCH=... picks a build)
# make audit              asks whether packages in .venv have known vulnerabilities
# make dist               builds the sdist and the wheel, and tries the wheel in an environment of its own
# make docs               builds the documentation into site/; warnings are errors
# make clean              removes what all of these made

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
WITH_TORCH ?= 0
TORCH ?= torch

BIN := $(VENV)/bin
# What is to be waited for is said before it begins, since pip is quiet.
SAY := @printf '%s\n'
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint audit dist docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(SAY) 'Building a pipeline for the Human Phenotype Ontology: half a minute'
	$(BIN)/ontolink demo --output demo-output

test: lint
	$(BIN)/python -m pytest -n auto $(ARGS)

lint: $(VENV)/.dev $(if $(filter 1,$(WITH_TORCH)),$(VENV)/.torch)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive spacy_ontolink

audit: $(VENV)/.dev
	$(BIN)/python scripts/audit.py

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/try_wheel.py dist/*.whl

docs: $(VENV)/.docs
	$(BIN)/zensical build --clean --strict
	$(BIN)/python scripts/check_site.py site

# The package is installed editable, so that only a change of its metadata installs it again.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(SAY) 'Installing the package with its extra "demo" into $(VENV): a minute or two'
	$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(SAY) 'Installing the package with its extra "dev" into $(VENV): a few minutes'
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(SAY) 'Installing the package with its extra "docs" into $(VENV): a minute or two'
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	$(SAY) 'Installing torch and what stands on it into $(VENV): minutes'
	$(PIP) '$(TORCH)' 'transformers>=4.50,<6' 'sentence-transformers>=5,<7' 'peft>=0.15'
	@touch $@

$(VENV)/bin/python:
	$(SAY) 'Making an environment in $(VENV)'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) dist site .cache demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Every target sets up what it needs: `make demo` or `make test` may be the first command on a fresh clone.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# One more than two processors: real engines wait for the disk, and some tests for a time to pass.
WORKERS ?= 3
SECONDS ?= 60
TIMES ?= 3
COUNT ?= 40
ROOMS ?= extractors,options
# DRAW=WORD repeats the draw of an earlier run. PART: `unit` starts no git-agent, `command` runs it with stand-ins for
# engines, `system` with real ones.
PART ?=
DRAW ?=
MARK = $(if $(PART),-m '$(PART:unit=not command and not system)')
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist=worksteal -q

.PHONY: help demo test test-all flaky lint rooms system system-all bench fuzz chaos mutants hooks-mirror lock clean

help:
	@echo "make demo        a real start and a real resume, offline, with the history proven"
	@echo "make test        unit tests, and real engines against the scripted model server: what the gate runs"
	@echo "                 PART=unit, command or system: a part; DRAW=WORD draws as that run did"
	@echo "make test-all    every test on every engine version; writes docs/*-matrix.md"
	@echo "make flaky       the suite TIMES times in random order on a busy machine; PART as above"
	@echo "make lint        ruff, mypy and the table of rooms, as the gate runs them"
	@echo "make rooms       which room of the program imports which, from the ground up"
	@echo "make system      the real engines alone"
	@echo "make system-all  every real engine version; writes docs/*-matrix.md"
	@echo "make bench       ratios measured in one run"
	@echo "make fuzz        each profile, SECONDS each (Linux)"
	@echo "make chaos       random walks of branches and runs, SECONDS long, from SEED on"
	@echo "make mutants     COUNT small mutations of ROOMS against the closest tests, from SEED; prints those that live"
	@echo "make hooks-mirror INTO=DIR  the content of a small repository with pre-commit's hooks, for this version"
	@echo "make lock        write requirements.lock anew from pyproject.toml"

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "git-agent needs Python 3.11 or later; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m git_agent_fixtures.demo

test: $(READY)
	$(PYTEST) --durations=10 $(if $(DRAW),--draw=$(DRAW)) $(MARK) tests

test-all: $(READY)
	$(PYTEST) --durations=10 --everything --matrix docs tests

flaky: $(READY)
	$(BIN)/python tests/flaky.py --times $(TIMES) -n $(WORKERS) --dist=worksteal $(if $(DRAW),--draw=$(DRAW)) $(MARK) tests

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tests/rooms.py --check
	$(BIN)/mypy

rooms: $(READY)
	$(BIN)/python tests/rooms.py

system: $(READY)
	$(PYTEST) tests/system

system-all: $(READY)
	$(PYTEST) --everything --matrix docs tests/system

bench: $(READY)
	$(BIN)/python benchmarks/run.py

fuzz: $(READY)
	for engine in claude codex copilot gemini iflow opencode qwen docs/examples/pi.yaml; do \
	  mkdir -p .cache/fuzz/$$engine && \
	  PYTHONPATH=extractors:runner $(BIN)/python fuzz/profiles.py $$engine .cache/fuzz/$$engine \
	    -max_total_time=$(SECONDS) -artifact_prefix=.cache/fuzz/ || exit 1; \
	done

chaos: $(READY)
	PYTHONPATH=tests:runner:extractors:hooks:fixtures $(BIN)/python tests/chaos/walk.py $(SECONDS) $(SEED)

mutants: $(READY)
	$(BIN)/python tests/mutants.py --count $(COUNT) --rooms $(ROOMS) $(if $(SEED),--seed $(SEED))

hooks-mirror: $(READY)
	$(BIN)/python hooks/mirror.py $(or $(INTO),$(error make hooks-mirror INTO=DIR))

lock: $(READY)
	$(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --extra fixtures --extra dev -o requirements.lock pyproject.toml

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache

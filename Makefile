# make demo, make test: each does all its own set-up.
.PHONY: demo demo-realtime test test-spark test-beside test-rest check lint acceptance setup lock clean
.DEFAULT_GOAL := test
SHELL := /bin/sh
BIN := .venv/bin
SPARK := tests/contracts tests/kafka tests/spark
# A process for each core: threads of numeric libraries beside them would only wait for each other.
SPREAD = OMP_NUM_THREADS=1 nice $(BIN)/python -m pytest -n auto
RUN = JAVA_HOME="$$(cat .venv/java-home)" PYSPARK_PYTHON="$(CURDIR)/$(BIN)/python"

setup:
	@sh tools/setup

demo: setup            ## a job on the embedded cluster that the policy scales, beside a static deployment, drawn at the end (under five minutes)
	@$(RUN) $(BIN)/penstock demo

demo-realtime: setup   ## Kafka and Spark's Real-Time Mode: an embedded broker, a feeder, and a change of the mode on the way (under five minutes)
	@$(RUN) $(BIN)/penstock demo --realtime

lint: setup
	$(BIN)/ruff check --quiet src tests
	$(BIN)/ruff format --check --quiet src tests
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

check: lint            ## the fast checks
	$(SPREAD) -m "not slow and not long" tests/core src/penstock/core

test: setup            ## everything that does not take minutes; Spark waits more than it computes, so the rest runs beside it and is printed when it ends
	@$(MAKE) --no-print-directory --jobs=2 test-spark test-beside

test-spark:
	$(RUN) $(BIN)/python -m pytest -m "not long" $(SPARK) --durations=10

test-beside:
	@mkdir -p out; $(MAKE) --no-print-directory test-rest >out/test-rest.log 2>&1; code=$$?; cat out/test-rest.log; exit $$code

test-rest: lint
	$(RUN) $(SPREAD) --dist worksteal -m "not long" $(SPARK:%=--ignore=%) --durations=30

acceptance: setup      ## the long targets of all issues: one JSON and one table in out/
	$(RUN) $(BIN)/python -m pytest -m long tests
	$(RUN) $(BIN)/penstock selftest acceptance --out out

lock:                  ## renew requirements.lock (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -o requirements.lock -q

clean:
	rm -rf .venv out

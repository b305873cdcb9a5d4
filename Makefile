.DEFAULT_GOAL := help
.PHONY: help demo test e2e store brokers pictures spark airflow cluster fuzz chaos bench bench-small bench-core auto-cdc up setup jars chromium kafka s3 s3a registry postgres trino duckdb lint lock clean

BIN := .venv/bin

# What `make fuzz` tries, and more options of pytest: PYTEST="-k oracle -x".
EXAMPLES ?= 1000
PYTEST ?=

# How many kills `make chaos` makes; 0 is each step at which a task writes, once.
KILLS ?= 0

# What `make bench` is told: BENCH="increment --rounds 5"; `make bench BENCH=--help` lists it all.
# So is `make bench-core`: BENCH="decode history --records 50000".
BENCH ?=

# Tests and runs start many processes: whatever the environment says, they find modules compiled.
unexport PYTHONDONTWRITEBYTECODE

# Spark talks to itself only, also on a machine that cannot resolve its own name.
export SPARK_LOCAL_IP := 127.0.0.1

# Asked for when a target needs it, and in its shell, so that a missing Java stops that target only.
WITH_JAVA = JAVA_HOME=$$(sh setup.sh java) && export JAVA_HOME &&

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: jars ## replay two recorded databases through Kafka, Airflow and Spark; compare with the truth
	@$(WITH_JAVA) exec $(BIN)/python -m examples.demo

# In three processes, of which one has a Spark, and begins with it (tests/conftest.py): it plans on
# one core, and waits. The tests of a file stay together, since they share what is slow to build.
test: jars s3 lint ## check style, types and import rules, then run the tests
	@$(WITH_JAVA) exec $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

# Of the installations that `make airflow` makes, the one that has the most parts; of the store what
# `make store` tries without a driver of its own; of the brokers of `make brokers` a leader's death.
e2e: jars chromium kafka registry s3 s3a postgres trino duckdb ## run what `make test` has no time for outside of Spark: DAGs, the browser
	@$(WITH_JAVA) exec $(BIN)/python -m pytest tests --ignore tests/spark --ignore tests/cluster \
	  --ignore-glob 'tests/store/*_spread.py' --ignore tests/store/test_two_writers.py \
	  --ignore tests/installations/test_local_executor.py --ignore tests/installations/test_killed_worker.py \
	  --ignore tests/brokers/test_killed_brokers.py --ignore tests/brokers/test_lost_records.py \
	  -m heavy $(PYTEST)

store: jars kafka s3 s3a ## run the whole on a lake in an S3-compatible store, and what goes wrong with one
	@$(WITH_JAVA) exec $(BIN)/python -m pytest tests/store tests/alone/test_object_store.py \
	  -m "heavy or not heavy" $(PYTEST)

brokers: jars kafka ## land from a Kafka of three brokers that are killed, change places and lose records
	@$(WITH_JAVA) exec $(BIN)/python -m pytest tests/brokers -m heavy $(PYTEST)

pictures: chromium ## walk through the page in Airflow's frame, and renew the pictures that docs/ shows
	@$(WITH_JAVA) $(BIN)/python -m pytest tests/airflow/page/test_walk.py -m heavy $(PYTEST)
	@for view in overview table key change; do \
	  cp .strandline/walk/$$view-light-1440.png docs/airflow-$$view.png; done
	@cp .strandline/walk/quarantine-dark-1440.png docs/airflow-quarantine.png

spark: jars ## run every case, capture and test that Spark has (half an hour or more)
	@$(WITH_JAVA) STRANDLINE_CASES=all exec $(BIN)/python -m pytest tests/spark --numprocesses 2 --dist load \
	  -m "heavy or not heavy" $(PYTEST)

cluster: jars ## run the captures on a standalone cluster of Spark, and kill executors, a worker, its master
	@$(WITH_JAVA) exec $(BIN)/python -m pytest tests/cluster -m heavy $(PYTEST)

airflow: jars postgres ## run the DAGs in Airflows with PostgreSQL, several workers, two schedulers; kill a worker
	@$(WITH_JAVA) exec $(BIN)/python -m pytest tests/installations -m heavy $(PYTEST)

fuzz: setup ## try the laws on EXAMPLES random workloads per source and property (SEED repeats a run)
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "$(EXAMPLES) examples each; make fuzz EXAMPLES=$(EXAMPLES) SEED=$$seed repeats this run"; \
	STRANDLINE_FUZZ_EXAMPLES=$(EXAMPLES) STRANDLINE_FUZZ_SEED=$$seed exec $(BIN)/python -m pytest tests/properties \
	  --hypothesis-seed=$$seed $(PYTEST)

chaos: jars ## kill every task with SIGKILL, KILLS times, start it again, check the law (SEED repeats a run)
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "make chaos KILLS=$(KILLS) SEED=$$seed repeats this run"; \
	$(WITH_JAVA) PYTHONPATH=tests:.:plugins:spark_apps exec $(BIN)/python -m chaos $(KILLS) --seed $$seed

bench: jars kafka ## race Strandline against a MERGE by hand and the machine's floors (hours; see BENCH)
	@$(WITH_JAVA) exec $(BIN)/python -m bench --out bench/results $(BENCH)

bench-small: jars kafka ## the same in a few minutes, in sizes that show that it works and no more
	@$(WITH_JAVA) exec $(BIN)/python -m bench --small --rounds 1 $(BENCH)

bench-core: setup ## the core alone: records a second on one core, beside DuckDB (minutes, no Spark)
	@exec $(BIN)/python -m bench.core --out bench/results $(BENCH)

auto-cdc: setup ## make the environment of Spark's AUTO CDC, which `make bench` then races too (1 GB)
	@sh setup.sh auto-cdc

up: jars kafka ## serve Airflow on this machine with the example sources, until Ctrl-C
	@$(WITH_JAVA) exec $(BIN)/python -m examples.up

setup: ## make .venv from the locked requirements; the command line is .venv/bin/strandline
	@sh setup.sh python

jars: setup ## fetch Delta's jars once (finds or installs Java first)
	@sh setup.sh jars

chromium: ## find or install the browser that the page is tested with
	@sh setup.sh chromium

kafka: setup ## fetch the Kafka broker that `make up`, `make e2e` and `make bench` start
	@sh setup.sh kafka

s3: setup ## fetch the S3-compatible store that `make test` starts
	@sh setup.sh s3

s3a: jars ## fetch what Spark needs to read and commit to a lake at s3a:// (13 MB)
	@sh setup.sh s3a

registry: setup ## fetch the schema registry that `make e2e` starts, and a converter for it
	@sh setup.sh registry

postgres: setup ## fetch the PostgreSQL that `make airflow` and `make e2e` keep Airflow's metadata in
	@sh setup.sh postgres

trino: setup ## fetch the Trino that `make e2e` reads histories with (800 MB)
	@sh setup.sh trino

duckdb: setup ## make the environment of the DuckDB that `make e2e` reads histories with
	@sh setup.sh duckdb

lint: setup ## ruff, mypy and the import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: ## resolve requirements.in into requirements.txt (needs uv)
	uv pip compile --universal --generate-hashes --no-strip-extras --python-version 3.11 \
	  --custom-compile-command "make lock" requirements.in -o requirements.txt
	uv pip compile --universal --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" bench/auto_cdc/requirements.in -o bench/auto_cdc/requirements.txt
	uv pip compile --universal --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" tests/fixtures/duckdb/requirements.in -o tests/fixtures/duckdb/requirements.txt
	uv pip compile --universal --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" docker/spark/requirements.in -o docker/spark/requirements.txt
	uv pip compile --universal --no-deps --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" docker/airflow/requirements.in -o docker/airflow/requirements.txt

clean: ## remove everything that these targets made
	rm -rf .venv .strandline .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf strandline.egg-info build spark-warehouse

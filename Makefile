# Two commands do everything on a machine with Python 3.11+ and make: `make serve` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Compiled on all cores after the install, which would take one: where PYTHONDONTWRITEBYTECODE is set, every start would
# compile the libraries again.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes

.PHONY: help setup setup-dev serve test test-all distributed check lint-api api-clients clients collection fuzz-api conformance mcp-clients fuzz-files explore oracle record-release screenshots soak bench at-rest sbom audit settings-page lock clean
help:  ## What can be done here
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/service.stamp: .venv/pyvenv.cfg requirements.lock requirements-build.lock pyproject.toml
	$(INSTALL) -r requirements.lock -r requirements-build.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	-@$(BIN)/python -m compileall -q -j 0 .venv/lib >/dev/null 2>&1
	@touch $@

.venv/dev.stamp: .venv/service.stamp requirements-dev.lock
	$(INSTALL) -r requirements-dev.lock
	-@$(BIN)/python -m compileall -q -j 0 .venv/lib >/dev/null 2>&1
	@touch $@

setup: .venv/service.stamp  ## Virtual environment with what the service needs
setup-dev: .venv/dev.stamp  ## The same with what tests, checks and benchmarks need

serve: setup  ## Start everything: Postgres, API on 8000 with Dagster at /dagster, a demo company
	@exec $(BIN)/pcds serve

# Python keeps what it has compiled, also where the environment says otherwise: each worker of the tests would compile
# all tests, and each process that they start the service.
test test-all: export PYTHONDONTWRITEBYTECODE :=

# The first ring reads small tables, and each core has a worker: threads of Polars cost more than they give. `test-all`
# has those of a deployment. With two workers a third of the time goes by in waiting, so a third one works then.
test: export POLARS_MAX_THREADS := 1

test: setup-dev  ## Unit and contract tests, in parallel, against a real Postgres with the real migrations
	$(BIN)/python -m pytest -n 3 -m "not processes and not long" --hypothesis-profile=quick

# A third worker runs single tests while two wait for the services that they started (`tests/conftest.py`).
test-all: setup-dev  ## All tests: those too that start the service, kill its processes and drive a browser; all examples
	$(BIN)/python -m pytest -n 3

# Redis from Debian's packages, unpacked beside the libraries where it is not installed: that needs no root.
REDIS = $(CURDIR)/.venv-distributed/redis/usr
distributed: .venv-distributed/stamp  ## Imports and a backfill by Celery's workers, one of them killed (docs/scaling.md)
	PATH="$$PATH:$(REDIS)/bin" LD_LIBRARY_PATH="$(REDIS)/lib/$$(uname -m)-linux-gnu" \
	  .venv-distributed/bin/python -m pytest -n 0 -s tests/guards/test_deploy.py tests/journeys/test_distributed.py

.venv-distributed/stamp: requirements-dev.lock requirements-build.lock requirements-distributed.lock
	$(PYTHON) -m venv .venv-distributed
	for lock in requirements-dev.lock requirements-build.lock requirements-distributed.lock; do .venv-distributed/bin/python -m pip install \
	  --quiet --disable-pip-version-check --require-hashes -r $$lock || exit 1; done
	.venv-distributed/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	-@.venv-distributed/bin/python -m compileall -q -j 0 .venv-distributed/lib >/dev/null 2>&1
	command -v redis-server >/dev/null || { mkdir -p .venv-distributed/redis && cd .venv-distributed/redis && \
	  apt-get download -qq redis-server redis-tools liblzf1 libjemalloc2 && \
	  for package in *.deb; do dpkg -x $$package . || exit 1; done; }
	@touch $@

# A home without telemetry and of no database: the shipped dagster.yaml, which dg would take, asks for one.
DG = VIRTUAL_ENV=$(CURDIR)/.venv DAGSTER_HOME=$(CURDIR)/.venv/dagster-home $(BIN)/dg
.venv/dagster-home/dagster.yaml:
	@mkdir -p $(@D) && echo 'telemetry: {enabled: false}' >$@

check: setup-dev .venv/dagster-home/dagster.yaml  ## Lint, format, types, direction of imports, definitions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(DG) check defs
	$(DG) list defs

lint-api: setup-dev  ## The OpenAPI document against Redocly's and Spectral's rules (needs an npm registry once)
	$(BIN)/python -m tools.lint_api

api-clients: setup-dev  ## Clients from three generators: generated, compiled, used (needs npm and Python registries once)
	$(BIN)/python -m tools.generated_clients

clients: setup-dev  ## The official clients that the service serves, into api/reference/clients/: at each change of the document (needs npm and Python registries once)
	$(BIN)/python -m tools.build_clients

collection: setup-dev  ## The collection for API clients such as Postman and Bruno, in build/
	$(BIN)/python -m tools.write_collection

fuzz-api: setup-dev  ## Every operation of a running service, called in every way that its document allows
	$(BIN)/python -m tools.fuzz_api

mcp-clients: setup-dev  ## Real clients call a running connector (needs an npm registry once; PCDS_CONNECTOR_TOKEN)
	$(BIN)/python -m tools.run_mcp_clients --url http://127.0.0.1:$(or $(PCDS_PORT),8000)/api/mcp

fuzz-files: setup-dev  ## Files that nobody meant, read from seeds (SEEDS=500, FROM=0, FILES="examples other/folder")
	$(BIN)/python -m tools.fuzz_files --seeds $(or $(SEEDS),500) --from $(or $(FROM),0) --files $(or $(FILES),examples)

conformance: setup-dev  ## A running connector against the protocol's own suite (needs an npm registry once; PCDS_CONNECTOR_TOKEN)
	$(BIN)/python -m tools.mcp_conformance --port $(or $(PCDS_PORT),8000)

record-release: setup-dev  ## Keep the OpenAPI document and the clients of this release; the next one must only add to it
	$(BIN)/python -m tools.record_release

screenshots: setup-dev  ## The pictures in docs/pages and docs/dagster, taken anew (needs a Chromium)
	$(BIN)/python -m tools.screenshots

explore: setup-dev  ## The property tests with examples never drawn before (ROUNDS=5)
	for round in $$(seq $(or $(ROUNDS),5)); do $(BIN)/python -m pytest -q -m hypothesis \
	  --hypothesis-profile=explore || exit 1; done

soak: setup-dev  ## Hostile load, kills by seed, then the fuzzers for longer and from other beginnings (SEEDS="2 3", EXAMPLES=400)
	$(BIN)/python -m tools.hostile_load
	$(if $(filter 0,$(shell id -u)),$(BIN)/python -m tools.full_disk --seeds $(or $(DISK_SEEDS),1 2 3 4 5 6 7 8 9 10 11 12),\
	  echo "full disk: not run, only root may make a small disk")
	for seed in $(or $(SEEDS),2 3); do \
	  $(BIN)/python -m tools.fuzz_api --seed $$seed --max-examples $(or $(EXAMPLES),400) || exit 1; done
	PCDS_KILL_SEEDS="$(or $(KILL_SEEDS),1 2 3 4 5 6)" $(BIN)/python -m pytest -n 0 -q \
	  tests/journeys/test_orchestration_kills.py tests/journeys/test_killed_writes.py
	PCDS_NIGHT_SKUS=$(or $(NIGHT_SKUS),20000) $(BIN)/python -m pytest -n 0 -q tests/api/test_night_sync.py
	PCDS_WEBHOOK_MESSAGES=$(or $(WEBHOOK_MESSAGES),1000) $(BIN)/python -m pytest -n 0 -q -s tests/pipelines/test_webhooks.py -k half
	PCDS_CHANGES_SECONDS=$(or $(CHANGES_SECONDS),3600) $(BIN)/python -m pytest -n 0 -q tests/journeys/test_changes.py
	PCDS_TEST_POSTGRES="15 16 17" $(BIN)/python -m pytest -n 0 -rs tests/warehouse/test_roles.py \
	  tests/warehouse/test_database.py tests/warehouse/test_backup.py
	$(BIN)/python -m tools.fuzz_files --seeds $(or $(FILE_SEEDS),50000) --from 100000 --minutes 60 --files $(or $(FILES),examples)

oracle: setup-dev  ## The grading kernel against its slow transcription, and grading in arrays against the kernel (PACKS=100000, FROM=0)
	PCDS_PACKS=$(or $(PACKS),100000) PCDS_PACKS_FROM=$(or $(FROM),0) $(BIN)/python -m pytest -n 0 -q -k numbered_pack \
	  tests/compliance/test_grading_oracle.py tests/compliance/test_grading_many.py

bench: setup-dev  ## Ratios to floors measured in the same run (ROWS=50000, SKUS="1000 50000 1000000", ONLY=imports)
	$(BIN)/python -m bench --rows $(or $(ROWS),50000) --skus $(or $(SKUS),1000 50000) $(if $(ONLY),--only $(ONLY))

at-rest: setup-dev  ## What a running service takes at rest, by process, over a minute (PCDS_DATA_DIR)
	$(BIN)/python -m tools.at_rest --data-dir $(or $(PCDS_DATA_DIR),data)

sbom: setup-dev  ## The bill of materials (CycloneDX) and the licences of all dependencies, in build/
	$(BIN)/python -m tools.sbom

audit: setup-dev  ## Known weaknesses of the locked dependencies (needs a network; warns where the data cannot be had)
	$(BIN)/python -m tools.audit_dependencies

settings-page: setup-dev  ## docs/settings.md from the settings type
	$(BIN)/python -m tools.settings_page

lock: setup-dev  ## Resolve requirements*.in anew; names no host
	$(BIN)/python -m pip install --quiet uv
	for name in requirements requirements-dev requirements-build requirements-distributed tools/api_clients/requirements; do $(BIN)/uv pip compile --quiet \
	  --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --no-strip-extras $$name.in -o $$name.lock; done

clean:  ## Remove the virtual environment and caches; data/ stays
	rm -rf .venv .venv-distributed .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .lint_cache

# Everything a developer or a first user types; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
# a file's tests stay together, for what they share; files start in the order of the folders
SIDE_BY_SIDE := --dist loadfile --no-loadscope-reorder
# half of the files wait for programs, so three workers for each core keep it busy
WORKERS := $(shell expr $$(nproc) \* 3)
IMAGE ?= $(shell cat deploy/IMAGE)
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --only-binary :all: \
  --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help run demo test coverage unit check format golden docs pictures scenes bench bench-faults bench-pager soak mutants breaks mutants-rules lines image release-dry-run lock audit sbom clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# uv needs a quarter of pip's time; where there is no uv for the machine, pip installs
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV_PIP = $(BIN)/uv pip install --quiet --python $(BIN)/python
INSTALL = install() { { [ -x $(BIN)/uv ] && $(UV_PIP) "$$@"; } || $(PIP) "$$@"; }; install

$(VENV)/installed: pyproject.toml VERSION
	$(PYTHON) -m venv $(VENV)
	@$(PIP) --only-binary :all: uv || echo "pip goes on without uv"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@$(INSTALL) --editable '.[dev]'
	@# the fakes of the tests are built from C; without a compiler those tests would be skipped
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		$(PIP) ziglang
	@touch $@

# What tests compare with, large and used for nothing else; without it they are skipped by name.
$(VENV)/installed-reference: $(VENV)/installed-dev
	@$(INSTALL) --editable '.[reference]'
	@touch $@

run: $(VENV)/installed ## run the exporter on this machine
	@echo "hw-exporter: http://localhost:$(PORT)/   (metrics: /metrics)"
	@echo "  beside it: $(BIN)/hw-exporter status --url localhost:$(PORT)"
	@exec $(BIN)/hw-exporter run --port $(PORT)

demo: $(VENV)/installed ## run it on a simulated GPU node with incidents
	@exec $(BIN)/hw-exporter demo --whole-node --port $(PORT)

# compile each file once, not anew in each worker and in each of the programs that tests start
test unit coverage scenes: export PYTHONDONTWRITEBYTECODE :=

test: check $(VENV)/installed-reference ## every check and every test
	$(BIN)/python -m pytest -n $(WORKERS) $(SIDE_BY_SIDE)

coverage: $(VENV)/installed-reference ## every test, counting the lines and branches that none passes
	$(BIN)/python -m pytest -n $(WORKERS) $(SIDE_BY_SIDE) --cov --cov-report=term:skip-covered

unit: $(VENV)/installed-dev ## the tests that start no process: under a minute on two cores
	$(BIN)/python -m pytest -q -n auto $(SIDE_BY_SIDE) -m "not system and not slow"

check: $(VENV)/installed-dev ## format, lint, types, layers, generated files, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.docs --check
	$(BIN)/python -m tools.release.audit

format: $(VENV)/installed-dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --exit-zero .

golden: $(VENV)/installed-dev ## rewrite the expected pages; read the diff
	$(BIN)/python -m pytest -q tests/golden --rewrite-golden

docs: $(VENV)/installed-dev ## rewrite the generated documents and config/default.toml
	$(BIN)/python -m tools.docs

pictures: $(VENV)/installed-dev ## draw the README's picture from the demo's page; needs Chromium
	$(BIN)/python -m tools.pictures.draw

bench: $(VENV)/installed-dev ## measure against node_exporter; writes bench/results/
	$(BIN)/python -m bench

bench-faults: $(VENV)/installed-dev ## judge the recorded incidents: precision, recall, roots, time
	$(BIN)/python -m bench.faults
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/faults/test_classes.py --all-scenes
	$(BIN)/python -m bench.unusual

bench-pager: $(VENV)/installed-dev ## replay recorded incidents through Prometheus and Alertmanager; count notifications
	$(BIN)/python -m bench.pager

scenes: $(VENV)/installed-dev ## play every scene from the driver and the kernel to the fault; list the rules
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/scenes --all-scenes
	$(BIN)/python -m tests.scenes.table

mutants: $(VENV)/installed-dev ## break slices of the product in random small ways; count what tests see
	$(BIN)/python -m bench.mutants

lines: $(VENV)/installed-dev ## count the lines of Python: engine, default configuration, all
	$(BIN)/python -m tools.count_lines

breaks: $(VENV)/installed-dev ## break it in the ways that no test saw once; name the test that sees each
	$(BIN)/python -m bench.breaks

mutants-rules: $(VENV)/installed-dev ## break 100 rules, each in one small way; count the breaks that tests see
	$(BIN)/python -m bench.rule_mutants

soak: $(VENV)/installed-dev ## everything that is survived, in full sizes: half an hour
	$(BIN)/python -m bench.soak
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/collectors/gpu/test_recoveries.py --all-scenes

image: ## build the container image with the engine that works here
	@for engine in docker podman buildah none; do $$engine info >/dev/null 2>&1 && break; done; \
	test $$engine != none || { echo "needs docker, podman or buildah"; exit 1; }; \
	BUILDAH_FORMAT=docker $$engine build $(if $(BASE),--build-arg BASE=$(BASE)) \
	  $(ENGINE_OPTIONS) --build-arg VERSION=$$(cat VERSION) --tag $(IMAGE):$$(cat VERSION) .

release-dry-run: $(VENV)/installed-dev ## build and check everything that a tag publishes; into build/release/dist
	$(BIN)/python -m tools.release.dry_run

lock: $(VENV)/installed-dev ## pin the image's packages anew
	sed -n 's/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(LOCK) - -o deploy/build-requirements.lock
	$(LOCK) --extra auth pyproject.toml -o deploy/requirements.lock

audit: $(VENV)/installed-dev ## ask for known vulnerabilities of the locked packages
	$(BIN)/python -m tools.release.audit

sbom: $(VENV)/installed-dev ## write build/hw-exporter.cdx.json: packages of the image with versions and licences
	$(BIN)/uv venv --quiet --clear build/image-packages
	$(BIN)/uv pip install --quiet --python build/image-packages --require-hashes -r deploy/requirements.lock
	$(BIN)/uvx --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py environment build/image-packages \
	  --pyproject pyproject.toml --output-reproducible --of JSON -o build/hw-exporter.cdx.json

clean: ## remove what was built
	rm -rf $(VENV) .cache build dist *.egg-info

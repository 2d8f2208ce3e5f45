# netkv: `make demo` and `make test` do all set-up themselves. See README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
BOOTSTRAP := .cache/bootstrap
# Debian's kernel, unpacked and not installed: the machine would start it otherwise.
GUEST_KERNEL := .cache/guest-kernel
# A uv on PATH is taken; otherwise one is installed into $(BOOTSTRAP).
UV := $(or $(shell command -v uv),$(BOOTSTRAP)/bin/uv)
APT_INSTALL := .ci/apt-install
ENGINE_OF_WHEEL := $(PYTHON) .ci/engine
# Whether all of these programs are there.
has = [ "$$(command -v $(1) | wc -l)" -eq $(words $(1)) ]
# At the end of a line of a recipe, which has a shell of its own.
TOOK := echo "    took $$SECONDS s"
CARGO := cargo
REV ?= HEAD~1
WEB_TOOLS := tests/web/node_modules
JAVASCRIPT := "web/js/**/*.js" "tests/web/types/*.ts"
MANIFEST := engine/Cargo.toml
# A macro declares the modules of schemes, where cargo fmt does not find them.
FORMAT_ROLES := rustfmt --edition 2024 roles/src/*/mod.rs
ENGINE_SOURCES := $(shell find engine -type f \( -name '*.rs' -o -name '*.p4' -o -name 'Cargo.*' \) -not -path '*/target/*')

# maturin and the tests call uv by name.
export PATH := $(dir $(abspath $(UV))):$(PATH)
export CARGO_TERM_COLOR ?= auto
export CARGO_INCREMENTAL ?= 0

.NOTPARALLEL:
.PHONY: test-slurm help setup ready demo lint-web screenshots test packet-tests test-engine test-python test-fast lint fmt bench bench-compare docs docs-site wheel wheels clean tools test-tools

help: ## Show the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: tools $(VENV)/.engine ready ## Install everything that netkv needs; leaves .venv/bin/netkv

# Byte code is written here, because Python may not be allowed to write it later
# (PYTHONDONTWRITEBYTECODE); then each command would compile some hundred modules again. The first
# list of scenarios reads them all, and keeps what the next ones show.
ready:
	@$(BIN)/python -m compileall -q netkv
	@$(BIN)/netkv scenario list >/dev/null

tools:
	@[ -e $(VENV)/.engine -o -e $(VENV)/.quick-engine ] || echo "==> 1 of 3: checking the tools: Python, Rust, a C compiler, uv (seconds)"
	@command -v $(PYTHON) >/dev/null || { echo "netkv needs $(PYTHON); set PYTHON=/path/to/python3.11 or newer." >&2; exit 2; }
	@$(ENGINE_OF_WHEEL) find >/dev/null || command -v $(CARGO) >/dev/null || { echo "netkv needs a Rust toolchain (cargo) to build its engine; with a wheel of these sources in dist/ ('make wheels') it does not." >&2; exit 2; }
	@$(call has,cc) || $(APT_INSTALL) "the Rust toolchain links with gcc" gcc libc6-dev
	@if [ ! -x "$(UV)" ] && ! command -v uv >/dev/null; then \
	    $(PYTHON) -c 'import ensurepip' 2>/dev/null || $(APT_INSTALL) "it installs uv" python3-venv; \
	    echo "==> installing uv into $(BOOTSTRAP)"; \
	    $(PYTHON) -m venv $(BOOTSTRAP); $(BOOTSTRAP)/bin/pip install -q 'uv>=0.9,<1'; fi

$(VENV)/.packages: pyproject.toml uv.lock | tools
	@echo "==> 2 of 3: installing the locked Python packages into $(VENV) (a minute or two; 1.1 GB)"
	@[ -x $(BIN)/python ] || $(UV) venv -q --python $(PYTHON) $(VENV)
	@$(UV) sync -q --frozen --all-extras --compile-bytecode && $(TOOK)
	@touch $@

# A wheel in dist/ that was built from these sources (`make wheels`) has the same engine.
$(VENV)/.engine $(VENV)/.quick-engine: $(VENV)/.packages $(ENGINE_SOURCES)
	@if wheel=$$($(ENGINE_OF_WHEEL) find) && \
	    echo "==> 3 of 3: taking the engine of $$wheel" && $(ENGINE_OF_WHEEL) install "$$wheel"; then :; \
	else \
	    echo "==> 3 of 3: building the engine ($(BUILDING))"; \
	    VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop -q --profile $(PROFILE) --locked --uv; \
	fi && $(TOOK)
	@touch $@

$(VENV)/.engine: PROFILE := release
$(VENV)/.engine: BUILDING := a few minutes the first time
$(VENV)/.quick-engine: PROFILE := quick
$(VENV)/.quick-engine: BUILDING := a minute or two; 'make setup' builds one that simulates faster

# The first look does not wait for the optimized engine.
demo: tools $(firstword $(wildcard $(VENV)/.engine) $(VENV)/.quick-engine) ready ## Run NetCache against NoCache and show the comparison
	@echo "==> netkv scenario run quickstart"
	@$(BIN)/netkv scenario run quickstart

# Types of the dashboard, which is JavaScript with types in comments, its formatter, and axe-core for
# its tests.
$(WEB_TOOLS)/.installed: tests/web/package.json tests/web/package-lock.json
	@$(call has,npm) || $(APT_INSTALL) "they check the dashboard" nodejs npm
	@echo "==> npm: installing the locked tools of tests/web"
	@npm ci --prefix tests/web --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

# The formatter takes its settings from .editorconfig.
lint-web: setup $(WEB_TOOLS)/.installed
	@$(WEB_TOOLS)/.bin/prettier --log-level=warn --check $(JAVASCRIPT)
	@mkdir -p .cache/web-types
	@$(BIN)/python -m tests.web.openapi > .cache/web-types/openapi.json
	@$(WEB_TOOLS)/.bin/openapi-typescript .cache/web-types/openapi.json -o .cache/web-types/api.d.ts >/dev/null
	@$(WEB_TOOLS)/.bin/tsc -p tests/web/tsconfig.json

test-tools: $(WEB_TOOLS)/.installed
	@$(call has,chromium-headless-shell) || $(APT_INSTALL) "tests of the dashboard" chromium-headless-shell
	@$(call has,redis-server redis-benchmark memcached) || $(APT_INSTALL) \
	    "tests of the back end 'redis' and of the benchmarks" redis-server redis-tools memcached
	@compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || $(call has,postgres initdb) || \
	    $(APT_INSTALL) "tests of run stores on a server" postgresql
	@$(call has,ip ping iperf3 ethtool tcpdump) || $(APT_INSTALL) \
	    "tests of switches between interfaces" iproute2 iputils-ping iperf3 ethtool tcpdump
	@$(call has,linux.uml qemu-system-x86_64 /bin/busybox) || $(APT_INSTALL) \
	    "guests that drive designs" user-mode-linux qemu-system-x86 busybox-static
	@compgen -G "/boot/vmlinuz-*-cloud-amd64" >/dev/null || \
	    compgen -G "$(GUEST_KERNEL)/boot/vmlinuz-*-cloud-amd64" >/dev/null || \
	    $(APT_INSTALL) --unpack $(GUEST_KERNEL) "a kernel for guests in QEMU" linux-image-cloud-amd64
	@printf '#include <%s>\n' lz4.h zlib.h | c++ -E -x c++ - >/dev/null 2>&1 || $(APT_INSTALL) \
	    "designs for FPGAs and their waves are compiled" g++ zlib1g-dev liblz4-dev

test: setup test-tools test-engine test-python ## Set up, then run every test

# The codec and the control planes write them, so the extension must be that of these sources.
packet-tests: setup ## Write the packet tests of the P4 programs for the engine's tests
	@$(BIN)/python -m tests.p4programs.write

test-engine: packet-tests
	@echo "==> engine tests"
	@$(CARGO) test -q --locked --profile testing --manifest-path $(MANIFEST) --workspace --exclude netkv-python --tests

# A file's tests stay in one process: they share racks and servers. Many tests wait for a rack more
# than they compute, so one more process than cores keeps the cores busy. A rack has up to ten
# processes of its own, so there are at most four.
TEST_PROCESSES ?= $(shell n=$$(nproc); echo $$((n < 3 ? n + 1 : 4)))
PYTEST := $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test-python:
	@echo "==> system tests, $(TEST_PROCESSES) at a time"
	@$(PYTEST)

test-slurm: setup ## Run the tests that need a real SLURM, as root
	@$(call has,slurmctld slurmd munged) || $(APT_INSTALL) "a SLURM of one node" slurm-wlm munge
	@$(PYTEST) -q -n 0 tests/executors/test_slurm.py

test-fast: setup ## Run the tests that need no live rack, in minutes
	@$(PYTEST) -q -m "not live and not slow"

# clippy has the profile of the engine's tests, so that build scripts and macros are built once. The
# checks of Python take one core; clippy works beside them, and its words come last.
lint: setup lint-web ## Check style and types
	@said=$$(mktemp); trap 'kill $$! 2>/dev/null || true; rm -f $$said' EXIT; \
	$(CARGO) clippy -q --locked --profile testing --manifest-path $(MANIFEST) --workspace --all-targets -- -D warnings >$$said 2>&1 & \
	$(BIN)/ruff check . .ci/engine; $(BIN)/ruff format --check . .ci/engine; \
	$(BIN)/lint-imports --no-cache --no-logo; \
	$(BIN)/python -m tests.rust_modules; \
	$(BIN)/python -m tests.docs_site check; \
	$(BIN)/mypy; \
	( cd engine; $(CARGO) fmt --all --check; $(FORMAT_ROLES) --check ); \
	wait $$! || { cat $$said >&2; exit 1; }

fmt: setup $(WEB_TOOLS)/.installed ## Format everything
	@$(BIN)/ruff check --fix-only . ; $(BIN)/ruff format .
	@$(WEB_TOOLS)/.bin/prettier --log-level=warn --write $(JAVASCRIPT)
	@$(BIN)/python -m tests.wrap
	@cd engine && $(CARGO) fmt --all && $(FORMAT_ROLES)

bench: setup ## Run all benchmarks, and show their figures beside the goals
	@$(BIN)/netkv bench

bench-compare: $(VENV)/.packages ## Compare the data plane with another revision: REV=HEAD~1
	@$(BIN)/python -m tests.compare_revisions "$(REV)" $(OPTIONS)

screenshots: setup test-tools ## Take a picture of each view of the dashboard into docs/screenshots
	@$(BIN)/python -m tests.web.screenshots

docs: setup ## Write the reference documents, which are made of the code
	@$(BIN)/netkv scenario reference > docs/use/scenario-reference.md
	@$(BIN)/netkv runs tables > docs/use/run-store-tables.md
	@$(BIN)/python -m tests.tables
	@$(BIN)/python -m tests.includes
	@echo "==> docs/use: scenario-reference.md, run-store-tables.md; tables of docs/internals/traps.md;"
	@echo "    parts of files in docs/extend/add-a-scheme.md"

# The generator has an environment of its own: 100 MB that nothing else needs. Figures of scenarios
# are simulated once, with a store of their own; OPTIONS="--max-seconds 0" simulates none.
SITE_BUILD := .cache/docs-site
REPOSITORY ?=

docs-site: setup $(WEB_TOOLS)/.installed ## Build the site of the documentation; REPOSITORY=URL of its links
	@UV_PROJECT_ENVIRONMENT=$(SITE_BUILD)/venv $(UV) sync -q --frozen --only-group docs
	@NETKV_HOME=$(abspath $(SITE_BUILD))/home $(BIN)/python -m tests.docs_site write --repository "$(REPOSITORY)" $(OPTIONS)
	@$(SITE_BUILD)/venv/bin/zensical build --strict --clean --config-file $(SITE_BUILD)/mkdocs.yml
	@$(BIN)/python -m tests.docs_site finish

wheel: setup ## Build a wheel into dist/ that needs no Rust where it is installed
	@$(ENGINE_OF_WHEEL) record
	@$(BIN)/maturin build -q --release --locked --out dist
	@ls dist/*.whl

# The tools have an environment of their own. Set-up takes the engine of the new wheel.
WHEELS := .cache/wheels
SUDO ?= $(if $(filter-out 0,$(shell id -u)),sudo)

wheels: $(VENV)/.packages ## Build wheels for x86_64 and aarch64, and try them in clean systems (root or sudo)
	@UV_PROJECT_ENVIRONMENT=$(WHEELS)/venv $(UV) sync -q --frozen --only-group wheels
	@$(BIN)/python -m tests.wheels build
	@$(MAKE) --no-print-directory setup
	@$(BIN)/python -m tests.wheels try

clean: ## Remove what setup and tests made
	@[ ! -d $(WHEELS)/systems ] || $(SUDO) rm -rf $(WHEELS)
	@rm -rf $(VENV) .cache dist netkv/data/docs-site engine/target tests/p4programs/generated .pytest_cache .mypy_cache .ruff_cache

# A dozen recipes, two of which a newcomer needs: `make demo` and `make test`.
CARGO ?= cargo
BELLJAR = target/release/belljar

.PHONY: help build demo test test-python test-integrations test-openapi test-traces test-deploy test-mcp test-graders test-console wheel test-workspaces test-packages test-corpus test-vm test-vm-short test-vm-remedies test-vm-containers test-vm-package faults fuzz check fmt lint features deny reference bench bench-compare doctor deb clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

build: ## the belljar command, optimised
	$(CARGO) build --release --package belljar-cli

demo: build ## see a script run: streaming, a tool call, a caught failure, a limit that fires
	@scripts/demo $(BELLJAR)

test: ## everything that can be tested here
	@scripts/test

test-python: ## the Python package: its wheel in a fresh environment, types, pytest; part of `make test`
	@scripts/test-python

test-console: build ## the console, in headless Chromium, with attacks; a minute
	@scripts/test-console $(BELLJAR)

test-integrations: ## the Python package in seven frameworks, from PyPI; some minutes
	@scripts/test-integrations

test-graders: ## the routes for graders with the clients that they have, from PyPI; some minutes
	@$(CARGO) build --quiet --package belljar-cli && scripts/test-graders

test-openapi: ## thousands of requests, good and bad, against the OpenAPI document, by schemathesis; ten minutes
	@$(CARGO) build --quiet --package belljar-cli && scripts/test-openapi

test-traces: ## the command with the exporter of spans, against a collector; builds it with its feature
	$(CARGO) nextest run --package belljar-cli --features otlp --test it exported

test-mcp: ## `belljar mcp` and `/mcp` with the official Python client, from PyPI; half a minute
	@$(CARGO) build --quiet --package belljar-cli && scripts/test-mcp

test-workspaces: ## what is claimed of workspaces, on containers; needs a daemon, some minutes
	BELLJAR_TEST_ENGINE=docker $(CARGO) nextest run --package belljar-workspace --test conformance --test blocks

test-packages: build ## forty packages, each in a real use, on native cells and in containers; a few GB of cache
	@BELLJAR=$(BELLJAR) scripts/test-packages

ENGINE ?= native
test-corpus: build ## three hundred scripts, inside and outside, compared; ENGINE=docker for containers
	@scripts/corpus --engine $(ENGINE)

test-deploy: ## the server's image: what a container must be granted, how it ends, TLS, nginx; needs a daemon, a minute
	@$(CARGO) build --quiet --package belljar-cli && scripts/docker-up && scripts/docker-base-image
	@scripts/test-deploy $${CARGO_TARGET_DIR:-target}/debug/belljar

test-vm: ## on stock Debian with systemd, in a virtual machine: root and an ordinary user; 40 minutes
	@scripts/test-vm

test-vm-short: ## the same with a dozen scripts each; 4 minutes, and 3 more for the first image
	@scripts/test-vm --short

test-vm-remedies: ## do there what doctor advises, and see whether it helps; 15 minutes
	@scripts/test-vm --remedies

test-vm-containers: ## the docker engine there, on Docker, rootless Docker and Podman; 30 minutes
	@scripts/test-vm --containers

test-vm-package: ## install the Debian package there, use it and its service, and purge it
	@scripts/test-vm --package

faults: build ## every system call of ours fails once, in turn: root and strace, twenty minutes
	@scripts/faults

SECONDS_EACH ?= 60
fuzz: ## libFuzzer on everything that parses a stranger's bytes; SECONDS_EACH=600 for longer
	@scripts/fuzz $(SECONDS_EACH)

check: fmt lint features deny test ## what must pass before a change lands

fmt: ## is it formatted, Rust and Python
	$(CARGO) fmt --all --check
	@scripts/ruff format --check --quiet .

lint: ## clippy with warnings denied, ruff, and the width of comments
	@scripts/comment-width
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@scripts/ruff check --quiet .

features: ## does each feature, and none, compile without the others
	@for features in "" native docker local mcp agent workspace jupyter; do echo "features: [$$features]"; \
	$(CARGO) clippy --quiet --package belljar --no-default-features --features "$$features" -- -D warnings || exit 1; done
	@echo "features: the command with [otlp]"; \
	$(CARGO) clippy --quiet --package belljar-cli --features otlp -- -D warnings

deny: ## licences, sources and duplicates of dependencies
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	else echo "cargo-deny: skipped (not installed; cargo install cargo-deny)"; fi

reference: ## write the files that are rendered from code: docs/reference, the wire's schema, OpenAPI
	BELLJAR_WRITE_REFERENCE=1 $(CARGO) test --quiet --package belljar-core --package belljar-server --lib generated_files

bench: build ## figures of this machine
	$(BELLJAR) bench

bench-compare: build ## the same job in what you would pick instead
	@scripts/bench-compare

doctor: build ## what this machine lets us enforce
	$(BELLJAR) doctor

deb: build ## a package for Debian and Ubuntu, in target/deb
	@scripts/deb

wheel: ## the Python package for everybody, in target/wheels; optimised, by zig; ten minutes
	@scripts/wheel

clean: ## throw the build away
	$(CARGO) clean

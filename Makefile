# Kafka Steward. `make` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

# Stamped into the binaries. Without git or a tag: dev.
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BRANCH   ?= $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
# The time of the commit, so that the same commit gives the same binary.
DATE     ?= $(shell TZ=UTC0 git log -1 --date=format-local:%Y%m%d-%H:%M:%S --format=%cd 2>/dev/null || date -u +%Y%m%d-%H:%M:%S)

stamp   := github.com/prometheus/common/version
ldflags := -s -w \
	-X $(stamp).Version=$(VERSION) -X $(stamp).Revision=$(REVISION) -X $(stamp).Branch=$(BRANCH) \
	-X $(stamp).BuildUser=make -X $(stamp).BuildDate=$(DATE)

GO      ?= go
TESTBED := $(GO) run ./internal/kafkatest/cmd/testbed
TOOL    := $(GO) tool -modfile=tools/go.mod

# Packages tested at once against the clusters they share, and how long one
# package may take.
P            ?= 2
TEST_TIMEOUT ?= 30m
# What go test runs on; TEST_FLAGS='-run TestLag -v' narrows it down.
PKGS       ?= ./...
TEST_FLAGS ?=

.PHONY: help setup demo check test test-race test-kafka bench lint build fmt docs clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "; print "make TARGET, where TARGET is one of\n"} \
		/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## fetch all that the other targets need: Go modules, Kafka's jars, Prometheus
	@echo "Go modules (about 60 MB the first time, with those of the linters)"
	@$(GO) mod download
	@cd tools && $(GO) mod download
	@echo "Kafka and ZooKeeper from their published jars (about 170 MB the first time, with Maven)"
	@$(TESTBED) fetch
	@echo "prometheus and promtool"
	@$(GO) run ./internal/promtest/cmd/fetchprom

build: ## build bin/kafka-steward-exporter and bin/kafka-planner
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(ldflags)' -o bin/kafka-steward-exporter ./exporter
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(ldflags)' -o bin/kafka-planner ./planner/cmd/kafka-planner

demo: build ## three brokers, traffic, the exporter and Prometheus on this machine, until Ctrl-C
	@$(GO) build -o bin/demo ./demo
	@exec bin/demo $(DEMO_FLAGS)

check: ## fast checks without Kafka: formatting, go vet, unit tests with the race detector
	@./scripts/gofumpt.sh
	@$(GO) vet $(PKGS)
	@$(MAKE) test-race

test: setup test-race test-kafka ## all tests, those on real Kafka clusters included

# Packages run twice: here quickly and with the race detector, in test-kafka in
# full without it, as it would slow the clients of clusters that share two cores.
test-race: ## unit tests with the race detector, no Kafka
	$(GO) test -race -short -timeout 10m $(TEST_FLAGS) $(PKGS)

test-kafka: ## all tests against real Kafka, with clusters that the packages share
	$(TESTBED) run -- $(GO) test -p $(P) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PKGS)

bench: ## benchmarks within the packages, then the programs in benchmarks/
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m $(PKGS)
	@for program in $(wildcard benchmarks/*/main.go); do \
		echo "$(GO) run ./$$(dirname $$program)"; $(GO) run "./$$(dirname $$program)"; done

# All of them, so that one run tells everything.
lint: ## gofumpt, go vet, staticcheck, length of files
	@failed=; \
	run() { echo "$$*"; "$$@" || failed=yes; }; \
	run ./scripts/gofumpt.sh; \
	run $(GO) vet ./...; \
	run $(TOOL) staticcheck ./...; \
	run ./scripts/file-length.sh; \
	[ -z "$$failed" ] || { echo "lint failed" >&2; exit 1; }

fmt: ## format the code
	@./scripts/gofumpt.sh -w

docs: ## write the generated documentation anew
	$(GO) generate ./...

clean: ## remove what was built (caches outside the tree stay)
	rm -rf bin dist

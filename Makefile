# SPDX-License-Identifier: Apache-2.0

# The modules of go.work, in the order in which they build on each other.
MODULES := api client clusterconn fetch render expressions health doctest internal apiserver controllermanager observer kubectl-convoy e2e
# Each test binary links against much of Kubernetes: few at once keep memory bounded.
GO_TEST := go test -race -timeout 30m
# Tests hold pages against the code: their results are remembered for these pages only.
export CONVOY_DOCS_DIGEST := $(shell find . -name '*.md' -not -path './.*' -print0 | sort -z | xargs -0 cat | cksum)

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: build
build: ## Build the three servers and the kubectl plugin into bin/
	go build -o bin/ ./apiserver/cmd/convoy-apiserver ./controllermanager/cmd/convoy-controller-manager \
		./observer/cmd/convoy-observer ./kubectl-convoy/cmd/kubectl-convoy

.PHONY: demo
demo: ## Show what convoy does, on two clusters on this machine
	@mkdir -p bin && go build -o bin/convoy-demo ./e2e/cmd/demo && ./bin/convoy-demo up

.PHONY: demo-down
demo-down: ## End the demo
	@mkdir -p bin && go build -o bin/convoy-demo ./e2e/cmd/demo && ./bin/convoy-demo down

.PHONY: test
test: test-unit test-e2e ## Run all tests

.PHONY: test-unit
test-unit: ## Run the unit tests of every module, with the race detector
	$(GO_TEST) $(foreach m,$(filter-out e2e,$(MODULES)),./$(m)/...) ./e2e/framework/... ./e2e/bench/... ./e2e/cmd/...
	cd tools && GOWORK=off go test ./...
	cd tools/monitoring && GOWORK=off go test ./...
	cd tools/chart && GOWORK=off go test ./...

.PHONY: control-plane
control-plane: ## Build the control plane that the e2e tests and the demo run on (once)
	@./e2e/controlplane/build.sh

.PHONY: test-e2e
test-e2e: control-plane build ## Run the end-to-end suites against real clusters
	go test -count=1 -p 2 -timeout 40m ./e2e/suites/... -ginkgo.v

.PHONY: bench
bench: control-plane ## Measure speed and cost; BENCH="-run api/get -quick" chooses, see docs/performance.md
	@mkdir -p bin && go build -o bin/convoy-bench ./e2e/bench && ./bin/convoy-bench $(BENCH)

.PHONY: bench-quick
bench-quick: ## Run every benchmark with few objects: to see that it works, not how fast
	@$(MAKE) --no-print-directory bench BENCH=-quick

.PHONY: bench-counts
bench-counts: control-plane ## Check that nothing asks or writes more than e2e/bench/counts.yaml allows
	@mkdir -p bin && go build -o bin/convoy-bench ./e2e/bench
	@./bin/convoy-bench -quick -run 'delivery/fleet|resync|restart|sync|change' -check e2e/bench/counts.yaml

.PHONY: fuzz
fuzz: ## Run every fuzz target, FUZZTIME=10m each; FUZZ='FuzzTree|archive' chooses, FUZZMEM=2048 bounds the memory in MiB
	tools/fuzz.sh

.PHONY: generate
generate: ## Regenerate deep copies, OpenAPI, the client, and what the chart says of its values
	tools/generate.sh

.PHONY: verify
verify: ## Check generated code, module boundaries, standalone builds and lint
	tools/verify-generated.sh
	cd tools && GOWORK=off go run ./boundaries ..
	tools/verify-modules.sh $(MODULES) tools/monitoring tools/chart
	tools/lint.sh $(MODULES)

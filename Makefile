# The parts of the house; `make` alone lists them. Go and make are all that most of them need.

# Budgets in minutes, on two cores. Each part of `make check` is stopped when it passes its own. They leave
# room for a slow day of each part; .ci/run, which is `make test` and then `make check`, is stopped at 39 as
# a whole. What does not fit goes to `make chaos`.
BUDGET_test   := 16
BUDGET_race   := 17
BUDGET_lint   := 3
BUDGET_vet    := 4
BUDGET_guests := 2
BUDGET_user   := 5
BUDGET_smoke  := 3
BUDGET_vuln   := 1

# Knobs, for example: make fuzz FUZZTIME=1m
FUZZTIME     ?= 10s
BENCHTIME    ?= 1s
BENCHCOUNT   ?= 3
BENCH        ?= .
BENCHPKG     ?= ./...
BENCHSKIP    ?= ^$$
CHAOS_ROUNDS ?= 1000
SOAK         ?= 10m
# A package that hangs is stopped in time for what it was at to be seen, and to be run once more.
PACKAGE_WITHIN := 7m
SCRIPT       ?= examples/wordcount/job.alineo

# Guests are built by exactly this Go, so that everybody gets the same bytes.
PINNED := $(shell sed -n 's/^toolchain //p' go.mod)
# Nothing of the builder's own settings may reach a guest. GOENV=off also hides the module proxy,
# which is therefore passed on.
GUEST_ENV = GOENV=off GOPROXY="$$(go env GOPROXY)" GOTOOLCHAIN=$(PINNED) GOFLAGS= GOWASM= GOEXPERIMENT= \
	CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm
GUEST_BUILD = $(GUEST_ENV) go build -buildmode=c-shared -buildvcs=false -trimpath -ldflags="-s -w"
GUESTS = $(patsubst plugins/%/doc.go,%,$(wildcard plugins/*/doc.go))

BETTER_SQLITE3 := 12.11.1
GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)

# Where git can't say what was built (no git, another owner's clone), the binary goes without.
STAMP := $(shell git status --porcelain >/dev/null 2>&1 && echo auto || echo false)

# One way to compile, the one that is shipped, so that a fresh machine compiles everything once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)

PART := scripts/part.sh
# The race detector watches what is in a process; examples/ and internal/ drive programs and compilers. It
# watches our code: what SQLite, the compiler of WebAssembly and the rewriter of modules do inside, each for
# one caller at a time, takes ten times as long under it. (Only packages that use nothing generic of sync may
# go unwatched: the linker keeps one copy of such code.) Who is killed (Chaos) tells it nothing.
RACE_PACKAGES := ./abi/... ./cmd/... ./host/... ./plugins/... ./sdk/...
WAZERO := github.com/tetratelabs/wazero/internal
RACE_FLAGS := -race -skip=Chaos $(foreach p,modernc.org/sqlite/lib $(WAZERO)/engine/wazevo/ssa \
	$(WAZERO)/engine/wazevo/frontend $(WAZERO)/engine/wazevo/backend/... $(WAZERO)/leb128 \
	github.com/alineo-labs/alineo-host/host/internal/plugin/meter,-gcflags=$(p)=-race=false)
# The engine is tested as root and as anybody.
USER_PACKAGES := ./host/engine/... ./host/internal/engine/... ./cmd/...

.DEFAULT_GOAL := help
.PHONY: help build plugins sdk run test check lint bench bench-node soak fuzz chaos clean linter \
	check-race check-lint check-vet check-guests check-user check-smoke check-vuln

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/alineo-host
	go build -buildvcs=$(STAMP) -o bin/alineo-host ./cmd/alineo-host

run: build ## build, then run the example job in a sandbox, recorded in .alineo/ledger.db
	@./bin/alineo-host run --config alineo.toml --script $(SCRIPT)

test: ## run all tests (Go and make are enough), and say what was left out
	@go run ./internal/testrun -timeout=$(PACKAGE_WITHIN) ./...

check: ## what CI runs after the tests: race detector, lint, other platforms, guests, another user
check: check-lint check-guests check-race check-user check-smoke check-vet check-vuln

check-race:
	@$(PART) "tests under the race detector" $(BUDGET_race) \
		env CGO_ENABLED=1 go run ./internal/testrun $(RACE_FLAGS) -timeout=$(PACKAGE_WITHIN) $(RACE_PACKAGES)

check-lint:
	@$(PART) "lint" $(BUDGET_lint) $(MAKE) --no-print-directory lint

check-vet:
	@$(PART) "vet and build for other platforms" $(BUDGET_vet) scripts/platforms.sh

check-guests:
	@$(PART) "guests are what their sources make" $(BUDGET_guests) \
		sh -c '$(MAKE) --no-print-directory plugins && scripts/unchanged.sh'

check-user:
	@$(PART) "tests as an ordinary user" $(BUDGET_user) scripts/as-user.sh $(USER_PACKAGES)

check-smoke:
	@$(PART) "the first command, and most benchmarks once" $(BUDGET_smoke) \
		sh -c '$(MAKE) --no-print-directory run && $(MAKE) --no-print-directory bench BENCHTIME=1x BENCHCOUNT=1 BENCHSKIP="^BenchmarkLanguages|^BenchmarkLines|^BenchmarkSnapshotAndFork|^BenchmarkOutput"'

check-vuln:
	@$(PART) "known vulnerabilities" $(BUDGET_vuln) scripts/vuln.sh

linter: $(GOLANGCI)

lint: linter ## lint with every linter (the linter is built once, into bin/tools)
	$(GOLANGCI) run --allow-parallel-runners ./...

$(GOLANGCI):
	GOBIN="$(CURDIR)/bin/tools" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/tools/golangci-lint $@

plugins: ## rebuild the guests from their sources, byte for byte, and the guests of tests
	@have=$$($(GUEST_ENV) go env GOVERSION) || have=; test "$$have" = "$(PINNED)" || { \
		echo "make plugins: guests are built with $(PINNED), which is neither here ($$(go env GOVERSION) is) nor to be had"; exit 1; }
	@set -e; for name in $(GUESTS); do echo "plugins/$$name.wasm"; \
		$(GUEST_BUILD) -o plugins/$$name.wasm ./plugins/$$name; done
	@cd plugins && ../scripts/sha256.sh $(addsuffix .wasm,$(GUESTS)) >SHA256SUMS
	@GUEST_BUILD='$(GUEST_BUILD)' scripts/test-guests.sh

sdk: ## write the generated parts of the SDKs anew, build them all, try them (see sdk/*/README.md for what they need)
	go run ./internal/sdkgen
	go test -count 1 ./internal/sdkgen ./internal/sdktest

bench: ## run the benchmarks and set pairs in relation: plugin and native, metered and plain, engine and bare
	@{ go test -run '^$$' -bench '$(BENCH)' -skip '$(BENCHSKIP)' -benchtime $(BENCHTIME) -count $(BENCHCOUNT) $(BENCHPKG) || echo FAIL; } \
		| go run ./internal/benchratio plugin:native metered:plain engine:bare

bench-node: ## the same beside better-sqlite3, which needs node and npm and is installed into bin/bench-node
	@test -d bin/bench-node/node_modules/better-sqlite3 || { mkdir -p bin/bench-node && cd bin/bench-node && \
		npm install --no-save --no-audit --no-fund better-sqlite3@$(BETTER_SQLITE3); }
	@$(MAKE) --no-print-directory bench BENCH='^BenchmarkAppend$$' BENCHPKG=./host/internal/adapter

soak: ## append for SOAK (10m) and watch the heap
	ALINEO_SOAK=$(SOAK) go test -run '^TestSoak$$' -v -count 1 -timeout 0 ./host/internal/adapter

fuzz: ## run every fuzz target for FUZZTIME (10s)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

chaos: ## kill the host and cut the ledger off, CHAOS_ROUNDS (1000) times over, the engine a twentieth as often
	ALINEO_CHAOS_ROUNDS=$(CHAOS_ROUNDS) go run ./internal/testrun -run=Chaos -count=1 -timeout=60m ./...

clean: ## remove what was built (not the ledger)
	rm -rf bin
	go clean -testcache

budget-%:
	@echo $(BUDGET_$*)

# `make help` lists the targets. Most targets run a script of package.json or a main file.
.DEFAULT_GOAL := help
.PHONY: help run agent cluster cluster-status cluster-down cluster-ctl observe observe-down test test-all check image pods bench against fidelity simulate simulate-model simulate-agent coverage generate format ctl chaos mutation sbom licenses fuzz load tools deploy-test restore-rehearsal reference packages power-loss

NODE := node_modules/.bin/node
INSTALLED := node_modules/.package-lock.json
CLIENT := clients/typescript/node_modules/.package-lock.json
PAGES := build/console/index.html
# With DATA=folder, stores data in a SQLite file in that folder; expands a leading ~, which some
# shells leave.
ON_FILE = $(if $(DATA),SERVICE_STORAGE=sqlite SERVICE_SQLITE_FILE='$(patsubst ~/%,$(HOME)/%,$(DATA))/identity-engine.db')

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) $(PAGES) ## Start the service on port 8000 with docs, an account and a ready API key; DATA=folder stores data there
	@$(ON_FILE) SERVICE_DOCS_ENABLED=$${SERVICE_DOCS_ENABLED:-true} SERVICE_LOCAL_ACCOUNT=$${SERVICE_LOCAL_ACCOUNT:-true} exec $(NODE) services/main.ts standalone

# Bundles the example with the sources of the client, so that nothing else is installed or built.
agent: $(INSTALLED) ## Run an agent that changes its behaviour, against a running service: KEY=svc_sk_… API=http://…/v1
	@test -n "$(KEY)" || { echo "KEY is missing: make agent KEY=svc_sk_… with the API key that make run printed" >&2; exit 2; }
	@node_modules/.bin/esbuild clients/typescript/examples/agent-loop.ts --bundle --platform=node --format=esm --log-level=warning \
		--alias:identity-engine=./clients/typescript/src/identity-engine.ts --outfile=build/agent-loop.mjs
	@IDENTITY_ENGINE_API_KEY='$(KEY)' IDENTITY_ENGINE_BASE_URL='$(or $(API),http://127.0.0.1:8000/v1)' $(NODE) build/agent-loop.mjs

cluster: $(INSTALLED) $(PAGES) ## Start edges, engines, limiters, NATS and Cassandra here, without Docker; CASSANDRA=3: three Cassandra nodes
	@$(NODE) deploy/local/cluster.ts up $(if $(CASSANDRA),--cassandra $(CASSANDRA))

cluster-status: $(INSTALLED) ## Show the processes of the local cluster; ARGS=--json prints JSON
	@$(NODE) deploy/local/cluster.ts status $(ARGS)

cluster-down: $(INSTALLED) ## Stop the local cluster gracefully; data is kept
	@$(NODE) deploy/local/cluster.ts down

cluster-ctl: $(INSTALLED) ## Administer the local cluster: make cluster-ctl ARGS="accounts list"
	@$(NODE) deploy/local/cluster.ts ctl $(ARGS)

observe: $(INSTALLED) ## Watch the local cluster: Prometheus, alert rules and Alertmanager on loopback
	@$(NODE) deploy/observe/observe.ts up

observe-down: $(INSTALLED) ## Stop Prometheus and Alertmanager; their data is kept
	@$(NODE) deploy/observe/observe.ts down

test: $(INSTALLED) $(CLIENT) $(PAGES) ## Check the code and run the quick tests (6 min); ends with "N passed, N failed"
	@npm run --silent test

test-all: $(INSTALLED) $(CLIENT) $(PAGES) ## Run every test: browsers, clusters, kills, Kubernetes too (30 min; first make tools)
	@npm run --silent test:all

check: $(INSTALLED) $(CLIENT) ## Lint, type-check, look for unused code, compare generated files
	@npm run --silent check

bench: $(INSTALLED) ## Compare with other servers and write bench/RESULTS.md (hours): ARGS="--group memory", 30 min each
	@$(NODE) bench/main.ts $(ARGS)

against: $(INSTALLED) ## Compare this checkout with another commit (5 min): COMMIT=main~10
	@$(NODE) bench/against.ts $(COMMIT) $(ARGS)

fidelity: $(INSTALLED) ## Compare dialogues with and without the engine (4 min): ARGS="--model NAME"; scripted models by default
	@$(NODE) bench/fidelity/main.ts $(ARGS)

load: $(INSTALLED) ## Load the local cluster, or BASE_URL with API_KEY, with k6: PROFILE=smoke; RATE=50 DURATION=2m
	@exec $(NODE) loadtest/main.ts

tools: $(INSTALLED) ## Build the tools of the tests once (minutes): k6, Jaeger, kustomize, stripe-mock
	@$(NODE) deploy/local/fetch-tools.ts

simulate: $(INSTALLED) ## Run simulated clusters for MINUTES=n; SEED=n runs one with its trace
	@$(NODE) test/simulation/main.ts $(if $(SEED),--seed $(SEED) --trace,--minutes $(or $(MINUTES),1)) $(ARGS)

simulate-model: $(INSTALLED) ## Print how often contracts change under each model version, and draw one agent
	@$(NODE) test/simulation/model/main.ts

simulate-agent: $(INSTALLED) ## Print how the default rules judge agents at work, and draw one agent
	@$(NODE) test/simulation/agent/main.ts

chaos: $(INSTALLED) ## Break a real cluster under load and prove that nothing is lost: ARGS="--only kill-engine"
	@$(NODE) test/chaos/main.ts $(ARGS)

power-loss: $(INSTALLED) ## Kill the service on a file and simulate power loss, under load (20 min): CUTS=200 IMAGES=300
	@$(NODE) test/power-loss/main.ts $(if $(CUTS),--cuts $(CUTS)) $(if $(IMAGES),--images $(IMAGES)) $(ARGS)

fuzz: $(INSTALLED) ## Send mutated requests and broken bytes to a real service: MINUTES=n; SEED=n repeats a round
	@$(NODE) test/fuzz/main.ts $(if $(SEED),--seed $(SEED),--minutes $(or $(MINUTES),10)) $(ARGS)

packages: $(INSTALLED) ## Build the packages of the clients for npm and PyPI: REPOSITORY=https://github.com/OWNER/NAME
	@$(NODE) deploy/packages/main.ts $(REPOSITORY)

reference: $(INSTALLED) $(CLIENT) ## Write the reference pages of both client libraries (a minute)
	@cd clients/typescript && npm run --silent docs
	@python3 clients/python/tools/environment.py && clients/python/.venv/bin/python clients/python/tools/reference.py
	@echo 'clients/typescript/docs/index.html and clients/python/reference/index.html'

restore-rehearsal: $(INSTALLED) ## Back up, kill and restore a real cluster to a point in time, and check the data (2 min): ARGS="--cassandra 3"
	@$(NODE) test/restore/main.ts $(ARGS)

deploy-test: $(INSTALLED) $(PAGES) ## Apply the manifests to a real API server (5 min; the first run builds the server, 8 min more)
	@$(NODE) test/kubernetes/main.ts

image: $(INSTALLED) $(PAGES) ## Build the image as OCI archive without Docker: ARGS="--architecture arm64 --name registry.example/identity-engine:1.1.0"
	@$(NODE) deploy/image/main.ts $(ARGS)

pods: $(INSTALLED) $(PAGES) ## Run the production overlay on real pods on this machine, as root: ARGS="--only policies" (40 min)
	@$(NODE) test/pods/main.ts $(ARGS)

mutation: $(INSTALLED) ## Make one change to the code at a time and list changes that no test detects: ARGS=services/domain/identity/model.ts
	@$(NODE) test/mutation/main.ts $(ARGS)

sbom: $(INSTALLED) ## Write the SBOM of the image to sbom.cdx.json (CycloneDX), from the lockfile
	@$(NODE) deploy/supply/write-sbom.ts

licenses: $(INSTALLED) ## Count the licences of shipped packages; fails for a licence that is not allowed
	@$(NODE) deploy/supply/licenses.ts --list

coverage: $(INSTALLED) $(CLIENT) $(PAGES) ## Run all tests and report line coverage
	@npm run --silent coverage

generate: $(INSTALLED) ## Write generated wire code, API document and document blocks
	@npm run --silent generate

format: $(INSTALLED) ## Format and fix what can be fixed
	@npm run --silent format

ctl: $(INSTALLED) ## Administer a running service: make ctl ARGS="accounts list"; DATA=folder as in make run
	@$(ON_FILE) $(NODE) services/main.ts ctl $(ARGS)

# Rebuilds the console pages if a source is newer.
$(PAGES): $(INSTALLED) $(wildcard deploy/console/*.ts services/programs/console/pages/*.* services/programs/console/pages/*/*.* services/domain/identity/*.ts) docs/runbook.md
	@$(NODE) deploy/console/main.ts

# Installs exactly the lockfile, which has binaries for Linux, macOS and Windows on x64 and arm64.
# .npmrc prevents install scripts of packages.
$(INSTALLED): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer (nodejs.org)" >&2; exit 1; }
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || { echo "Node.js $$(node --version) is too old: install Node.js 20 or newer (nodejs.org)" >&2; exit 1; }
	@echo "installing dependencies (about 20 s) ..." >&2
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Installs the tools of the TypeScript client, and the agent frameworks of its adapters.
$(CLIENT): clients/typescript/package.json clients/typescript/package-lock.json clients/typescript/.npmrc | $(INSTALLED)
	@echo "installing dependencies of the TypeScript client (about 20 s) ..." >&2
	@cd clients/typescript && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

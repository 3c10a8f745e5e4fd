# Shortcuts around CMake; each target installs what it needs and can be called in an empty checkout.
PRESET ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ARGS ?=
BUILD = build/$(PRESET)

.PHONY: run test bench check format clean

run:
	@scripts/install_dependencies.sh build
	@cmake --preset $(PRESET) -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF
	@cmake --build $(BUILD) -j $(JOBS) --target digits
	$(BUILD)/examples/digits $(ARGS)

test:
	@scripts/install_dependencies.sh build test
	@cmake --preset $(PRESET) -DSLUICE_BUILD_TESTS=ON -DSLUICE_BUILD_BENCH=OFF
	@cmake --build $(BUILD) -j $(JOBS)
	@cd $(BUILD) && ctest --output-on-failure --no-label-summary -j 2

bench:
	@scripts/install_dependencies.sh build test bench
	@cmake --preset $(PRESET) -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=ON
	@cmake --build $(BUILD) -j $(JOBS) --target bench_all
	@scripts/run_benchmarks.sh $(BUILD)/bench $(ARGS)

check:
	@scripts/install_dependencies.sh build test check
	@cmake --preset release -B build/check -DSLUICE_BUILD_TESTS=ON -DSLUICE_PRECOMPILED_HEADERS=OFF
	@scripts/check_style.sh build/check $(JOBS)

format:
	@scripts/install_dependencies.sh check
	@scripts/source_files.sh | xargs clang-format-16 -i

clean:
	rm -rf build

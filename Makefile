# Shortcuts around CMake; each target installs what it needs and can be called in an empty checkout.
PRESET ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ARGS ?=
# How long `make fuzz` runs each fuzzer.
FUZZ_SECONDS ?= 60
# cuda:2 puts a simulated CUDA driver with two devices where programs look for the real one.
SIMULATE ?=
BUILD = build/$(PRESET)
SIMULATED_PARTS = $(subst :, ,$(SIMULATE))
SIMULATED_KIND = $(word 1,$(SIMULATED_PARTS))
SIMULATED_COUNT = $(or $(word 2,$(SIMULATED_PARTS)),1)
ifeq ($(SIMULATED_KIND),cuda)
RUN_TARGETS = sluice_backend_cuda sluice_simulated
RUN_ENVIRONMENT = LD_LIBRARY_PATH=$(CURDIR)/$(BUILD)/tests/simulated/cuda VIRTUAL_CUDA_COUNT=$(SIMULATED_COUNT)
else ifneq ($(SIMULATED_KIND),)
$(error SIMULATE=$(SIMULATE): only cuda:N can be simulated, for example SIMULATE=cuda:2)
endif

.PHONY: run test bench check fuzz format clean

run:
	@scripts/install_dependencies.sh build
	@cmake --preset $(PRESET) -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF
	@cmake --build $(BUILD) -j $(JOBS) --target digits $(RUN_TARGETS)
	$(RUN_ENVIRONMENT) $(BUILD)/examples/digits $(ARGS)

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

fuzz:
	@scripts/install_dependencies.sh build fuzz
	@cmake --preset fuzz
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@scripts/run_fuzzers.sh build/fuzz/fuzz $(FUZZ_SECONDS) $(ARGS)

format:
	@scripts/install_dependencies.sh check
	@scripts/source_files.sh | xargs clang-format-16 -i

clean:
	rm -rf build

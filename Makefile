# Shortcuts around CMake; each target installs what it needs and can be called in an empty checkout.
PRESET ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ARGS ?=
# How long `make fuzz` runs each fuzzer.
FUZZ_SECONDS ?= 60
# cuda:2, hip:2 or metal:2 puts a simulated driver with two devices where programs look for the real one.
SIMULATE ?=
BUILD = build/$(PRESET)
SIMULATED_PARTS = $(subst :, ,$(SIMULATE))
SIMULATED_KIND = $(word 1,$(SIMULATED_PARTS))
SIMULATED_COUNT = $(or $(word 2,$(SIMULATED_PARTS)),1)
SIMULATED_PREFIX_cuda = VIRTUAL_CUDA
SIMULATED_PREFIX_hip = VIRTUAL_HIP
SIMULATED_PREFIX_metal = VIRTUAL_METAL
ifneq ($(SIMULATED_PREFIX_$(SIMULATED_KIND)),)
RUN_TARGETS = sluice_backend_$(SIMULATED_KIND) sluice_simulated_$(SIMULATED_KIND)
RUN_ENVIRONMENT = LD_LIBRARY_PATH=$(CURDIR)/$(BUILD)/tests/simulated/$(SIMULATED_KIND) \
	$(SIMULATED_PREFIX_$(SIMULATED_KIND))_COUNT=$(SIMULATED_COUNT)
else ifneq ($(SIMULATED_KIND),)
$(error SIMULATE=$(SIMULATE): cuda:N, hip:N and metal:N can be simulated, for example SIMULATE=hip:2)
endif

.PHONY: run test hip-gate bench check fuzz format clean

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

# Compiles every kernel with the real hipRTC, for AMD GPUs that need not be there.
hip-gate:
	@scripts/install_dependencies.sh build test hip
	@cmake --preset $(PRESET) -DSLUICE_BUILD_TESTS=ON -DSLUICE_BUILD_BENCH=OFF
	@cmake --build $(BUILD) -j $(JOBS) --target hip_gate
	$(BUILD)/tests/hip_gate

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

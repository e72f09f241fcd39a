# The front door; Meson does the work. Build variants are build directories.
PREFIX ?= /usr/local
WERROR := $(if $(CI),true,false)

.PHONY: all run check units engines-test container-test lint fmt asan tsan fuzz bench bench-quick parity dist arm64 vm-test size docs install clean

all: build/build.ninja
	ninja -C build resource-tracker

build/build.ninja:
	meson setup build -Dwerror=$(WERROR)

run: ## install what is missing, build, track a demo command (CMD='...'), show the summary and where the report is
	@tools/setup build
	@$(MAKE) --no-print-directory all
	tools/demo build/resource-tracker

check: ## install what is missing, build, run every test
	@tools/setup check
	tools/variant build -Dtests=true -Dwerror=$(WERROR)
	tools/run-tests build $(TESTS)

units: ## of these only what needs no more than the build: units and the corpora of the fuzz targets
	@tools/setup units
	tools/variant build -Dtests=true -Dwerror=$(WERROR)
	tools/run-tests build --suite unit --suite fuzz

engines-test: ## recipes of the guide, run with the engines they are for (part of check, where the engines install quickly)
	@tools/setup engines
	tools/variant build -Dtests=true -Dwerror=$(WERROR)
	tools/run-tests build --suite engines

container-test: ## make run and make check from a clean clone in bare Debian roots (SUITE=bookworm STEP=run AS=user|sudo ...)
	tools/container-test

lint: ## formatting, warnings of both compilers, clang-tidy, layers, documents, scripts
	@tools/setup lint
	tools/lint

fmt: ## format the sources in place
	@tools/setup lint
	git ls-files '*.c' '*.h' | xargs clang-format -i

asan: ## every test under AddressSanitizer and UndefinedBehaviorSanitizer, with the unsigned char of arm64
	@tools/setup check
	tools/variant build-asan -Dtests=true -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-funsigned-char -Dwerror=$(WERROR)
	tools/run-tests build-asan

tsan: ## what runs in more than one thread, under ThreadSanitizer
	@tools/setup check
	@$(MAKE) --no-print-directory build-tsan
	tools/run-tests build-tsan --suite threads

.PHONY: build-tsan
build-tsan:
	tools/variant build-tsan -Dtests=true -Dbuildtype=debug -Doptimization=1 -Db_sanitize=thread -Db_lundef=false -Dwerror=$(WERROR)

fuzz: ## every libFuzzer target for a short while (SECS=10 each)
	@tools/setup fuzz
	CC=clang tools/variant build-fuzz -Dfuzz=true -Dtests=true -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false
	tools/fuzz build-fuzz $(SECS)

bench: ## what it costs and how exact it is, beside its peers (about 25 minutes; results in bench/results)
	@tools/setup bench
	@$(MAKE) --no-print-directory build-release
	bench/run build-release/resource-tracker

bench-quick: ## one table of the same in three minutes
	@tools/setup bench
	@$(MAKE) --no-print-directory build-release
	bench/run --quick build-release/resource-tracker

parity: ## our CSV against the other resource-trackers', column by column (SECS=60), and the Rust one's own tests
	@tools/setup bench
	@$(MAKE) --no-print-directory build-release
	bench/parity build-release/resource-tracker $(if $(SECS),--secs $(SECS))
	bench/parity_mask.py build-release/resource-tracker

dist: ## release artefacts of all targets in dist/, each held to its gates; built twice, with the same bytes
	@tools/setup dist
	tools/dist build
	tools/dist check
	tools/dist twice
	tools/package
	tools/package check

arm64: ## cross build for arm64, and the tests that qemu-user can run (KIND=unit: only the units)
	@tools/setup arm64
	tools/arm64-tests $(addprefix --kind ,$(KIND))

DIST_X86_64 := $(wildcard dist/stage/x86_64-linux-gnu/resource-tracker)
DIST_ARM64 := $(wildcard dist/stage/aarch64-linux-gnu/resource-tracker)
vm-test: ## virtual machines: cgroup v2, bad networks, an old kernel, a root without a C library, arm64 (after make dist)
	@tools/setup vm
	@$(if $(DIST_X86_64),,$(MAKE) --no-print-directory build-release)
	tests/vm/run $(or $(DIST_X86_64),build-release/resource-tracker) $(wildcard dist/stage/x86_64-linux-musl/resource-tracker)
	$(if $(DIST_ARM64),tests/vm/run --arm64 $(DIST_ARM64),@echo "vm-test: no machine for arm64: make dist builds the program for it" $(if $(CI),&& false))

size: ## the optimised program, stripped, against its limit
	@tools/setup build
	@$(MAKE) --no-print-directory build-release
	tools/check-size build-release/resource-tracker

docs: ## regenerate what follows from the tables: docs/, man/, completions/
	@tools/setup build
	tools/variant build
	ninja -C build generate-docs
	build/generate-docs .
	tools/source-map

.PHONY: build-release
build-release:
	tools/variant build-release -Db_lto=true -Dprefix=$(PREFIX)

install: ## build optimised and install below $(DESTDIR)$(PREFIX)
	@tools/setup build
	@$(MAKE) --no-print-directory build-release
	DESTDIR=$(DESTDIR) meson install -C build-release

clean: ## remove every build directory; what was fetched stays (build-tools, subprojects/packagecache, bench/peers)
	rm -rf build $(filter-out build-tools,$(wildcard build-*)) dist

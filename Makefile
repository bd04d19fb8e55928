# blco: `make` builds build/blco, with the CUDA backend where nvcc is at hand (CUDA=0 leaves it out).
#
#   make                 build/blco
#   make check           all tests that need no GPU
#   make asan tsan       the same tests under sanitizers (address and undefined; thread, with clang)
#   make fuzz            each reader on damaged input, FUZZ_SECONDS (20) each, with clang
#   make check-gpu       the tests of every operation on the GPU; fails without one
#   make install         to PREFIX (/usr/local), below DESTDIR
#   make format clean

PREFIX  ?= /usr/local
DESTDIR ?=
NVCC    ?= $(shell command -v nvcc)
CUDA    ?= $(if $(NVCC),1,0)
VERSION := 0.1.0
COMMIT  := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

# VARIANT is set by the sanitizer targets only; objects of each variant live apart.
VARIANT ?= $(if $(filter 1,$(CUDA)),cuda,host)
O       := build/$(VARIANT)

CC       := gcc
CSTD     := -std=c11 -D_GNU_SOURCE
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror
OPT      := -O3 -g -fno-math-errno -fopenmp
INCLUDE  := -Isrc -Ikernels $(shell pkg-config --cflags openblas 2>/dev/null)
LIBS     := $(shell pkg-config --libs openblas 2>/dev/null || echo -lopenblas) -llapacke -lisal -lm -lpthread

ifeq ($(VARIANT),asan)
  OPT := -O1 -g -fno-omit-frame-pointer -fopenmp -fsanitize=address,undefined -fno-sanitize-recover=all
endif
ifeq ($(VARIANT),tsan)
  CC  := clang
  OPT := -O1 -g -fno-omit-frame-pointer -fopenmp=libomp -fsanitize=thread
endif
ifeq ($(VARIANT),fuzz)
  CC  := clang
  OPT := -O1 -g -fno-omit-frame-pointer -fopenmp=libomp -fsanitize=fuzzer-no-link,address,undefined \
         -fno-sanitize-recover=all -Wno-pass-failed
endif
# What runs is shown in short; V=1 shows the commands.
ifneq ($(V),1)
  .SILENT:
  NOTE = @printf '%-5s %s\n' $(1) $(2)
endif

CFLAGS += $(CSTD) $(WARN) $(OPT) $(INCLUDE)

SOURCES := $(filter-out src/main.c src/backend_cuda%.c src/cuda_%.c src/device_%.c,$(wildcard src/*.c))
ifeq ($(VARIANT),cuda)
  CUDA_HOME ?= $(abspath $(dir $(realpath $(NVCC)))/..)
  SOURCES   += src/backend_cuda.c $(wildcard src/cuda_*.c src/device_*.c)
  KERNELS   := $(wildcard kernels/*.cu)
  # Machine code for the first architecture of every generation from sm_70 on that nvcc knows, which
  # serves the others of its generation, and PTX of the last for later ones; ARCH=native builds for the
  # card at hand.
  MAJORS    := $(shell $(NVCC) --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$$/\1/p' | sort -n | \
                 awk '$$1 >= 70 && !seen[int($$1 / 10)]++')
  GENCODE   := $(if $(ARCH),-arch=$(ARCH),$(foreach a,$(MAJORS),-gencode arch=compute_$a,code=sm_$a) \
                 -gencode arch=compute_$(lastword $(MAJORS)),code=compute_$(lastword $(MAJORS)))
  NVCCFLAGS := -O3 -lineinfo -std=c++17 -Xcompiler -Wall,-Wextra -Werror all-warnings $(GENCODE) -Ikernels
  CFLAGS    += -isystem $(CUDA_HOME)/include
  GPU_TESTS := $(patsubst tests/%.c,$O/tests/%,$(wildcard tests/gpu_*.c))
  LIBS      += -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcusolver -lcublas -lcudart -lstdc++
else
  SOURCES   += src/backend_cuda_absent.c
endif

OBJECTS    := $(SOURCES:%.c=$O/%.o) $(KERNELS:%.cu=$O/%.o)
LIBRARY    := $O/libblco.a
UNIT_TESTS := $(patsubst tests/%.c,$O/tests/%,$(wildcard tests/test_*.c))

FUZZERS    := $(patsubst tests/%.c,$O/tests/%,$(wildcard tests/fuzz_*.c))
FUZZ_SECONDS ?= 20

.PHONY: all blco tests fuzzers check asan tsan fuzz check-gpu install format clean FORCE
.PRECIOUS: $O/%.o
all: blco
blco: $O/blco
	install -m 755 $< build/blco

$O/blco: $O/src/main.o $(LIBRARY)
	$(call NOTE,LINK,$@)
	$(CC) $(OPT) -o $@ $^ $(LIBS)

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# Rewritten only when the commit is another one, so that the version is always the present one.
$O/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
FORCE:
$O/src/version.o: $O/commit
$O/src/version.o: CFLAGS += -DBLCO_VERSION='"$(VERSION)"' -DBLCO_COMMIT='"$(COMMIT)"'

# A product and a sum in one instruction, where the processor has it.
$O/src/dense_lanes%.o: CFLAGS += -ffp-contract=fast

$O/%.o: %.c
	@mkdir -p $(@D)
	$(call NOTE,CC,$<)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$O/%.o: %.cu
	@mkdir -p $(@D)
	$(call NOTE,NVCC,$<)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<

tests: $O/blco $(UNIT_TESTS)

$O/tests/test_%: $O/tests/test_%.o $O/tests/naive.o $(LIBRARY)
	$(call NOTE,LINK,$@)
	$(CC) $(OPT) -o $@ $^ -lcmocka $(LIBS)

$O/tests/gpu_%: $O/tests/gpu_%.o $O/tests/naive.o $(LIBRARY)
	$(call NOTE,LINK,$@)
	$(CC) $(OPT) -o $@ $^ -lcmocka $(LIBS)

check: blco tests
	scripts/run-tests $O

check-gpu: blco tests $(GPU_TESTS)
	scripts/run-tests $O gpu

asan:
	$(MAKE) VARIANT=asan tests
	scripts/run-tests build/asan

tsan:
	$(MAKE) VARIANT=tsan tests
	scripts/run-tests build/tsan

fuzzers: $(FUZZERS)

$O/tests/fuzz_%: $O/tests/fuzz_%.o $(LIBRARY)
	$(CC) $(OPT) -fsanitize=fuzzer -o $@ $^ $(LIBS)

fuzz:
	$(MAKE) VARIANT=fuzz fuzzers
	scripts/run-fuzzers build/fuzz $(FUZZ_SECONDS)

install: blco
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 755 build/blco $(DESTDIR)$(PREFIX)/bin/blco
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5

format:
	clang-format -i src/*.[ch] tests/*.[ch] $(wildcard kernels/*.cu kernels/*.h)

clean:
	rm -rf build

-include $(OBJECTS:.o=.d) $O/src/main.d $(UNIT_TESTS:=.d) $(GPU_TESTS:=.d) $(FUZZERS:=.d) $O/tests/naive.d

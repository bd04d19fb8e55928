# blco: `make` builds build/blco, with the CUDA backend where nvcc works (CUDA=0 leaves it out), and
# build/blco-mpi.so where mpicc does (MPI=0 leaves it out). At its end it says what was left out, and why.
#
#   make                 build/blco; CFLAGS, LDFLAGS and NVCCFLAGS come after our own flags
#   make HERE=1          the same for the GPU of this machine only; without one no code for GPUs
#   make check           all tests that need no GPU, but for those of releases
#   make check-release   tests of packages, other languages, Slurm, Spack, scripts of measurements
#   make test T=NAME     builds and runs one test: a program (T=test_plan) or a bats file (T=cli_cpd)
#   make debug           build/debug/blco, without optimisation, for a debugger (host backend only)
#   make coverage        runs the tests, or test T, and says how many lines of each folder have run
#   make tidy            clang-tidy over src, or over F='FILE...'
#   make check-format    says which files clang-format 14 would change; make format changes them
#   make check-layers    says which #include goes where src/LAYERS does not allow it
#   make compile_commands.json    what editors and clang tools read
#   make asan tsan       tests under sanitizers (address and undefined; thread, with clang)
#   make fuzz            each reader on damaged input, FUZZ_SECONDS (20) each, some at once, with clang
#   make kill            kills KILLS (300) runs that save checkpoints, and checks what is left
#   make table           long tables: momentum beside plain ALS, rows of which little is known
#   make check-gpu       the tests of every operation on the GPU; fails without one
#   make install         to PREFIX (/usr/local), below DESTDIR, stripped; make uninstall takes it away again
#   make deb             a Debian package of this build, in build/
#   make wheel           a Python wheel of this build, in build/: the program and its module
#   make dist            build/blco-VERSION.tar.gz of the last commit, with its sha256; it builds without git
#   make recipes         build/recipes, for conda, EasyBuild, Spack and Apptainer: scripts/packaging for this tarball
#   make format clean help

PREFIX  ?= /usr/local
DESTDIR ?=
NVCC    ?= $(shell command -v nvcc)
MPICC   ?= $(shell command -v mpicc)
# The file VERSION has the number, and in a tarball of `make dist` the commit too, which git has put there.
VERSION := $(firstword $(file <VERSION))
COMMIT  := $(or $(filter-out $$Format:%,$(word 2,$(file <VERSION))),\
             $(shell git describe --always --exclude '*' --dirty 2>/dev/null || echo unknown))
# Where releases will be, which recipes of packages name. There is no such place yet.
URL     ?= https://blco.invalid

# Why a part of the program is left out; nothing where it is built. A compiler may be there without its header.
HASH    := \#
COMMA   := ,
FAILS    = $(shell echo '$(HASH)include <$2>' | $1 - >/dev/null 2>&1 || echo it)
GPUS     = $(shell nvidia-smi -L 2>/dev/null | grep '^GPU ')
NO_CUDA  = $(if $(NVCC),$(if $(HERE),$(if $(GPUS),,nvidia-smi shows none in this machine))$(if \
             $(call FAILS,$(NVCC) -x cu -E,cuda_runtime.h), $(NVCC) does not compile a file with cuda_runtime.h),no nvcc is on the PATH)
NO_MPI   = $(if $(MPICC),$(if $(call FAILS,$(MPICC) -x c -fsyntax-only,mpi.h),$(MPICC) does not compile a file \
             with mpi.h$(COMMA) which libopenmpi-dev or libmpich-dev has),no mpicc is on the PATH)
ifdef HERE
  ARCH ?= native
endif
ifdef MPI
  NO_MPI := $(if $(filter 1,$(MPI)),,MPI=$(MPI) was given)
endif
ifdef CUDA
  NO_CUDA := $(if $(filter 1,$(CUDA)),,CUDA=$(CUDA) was given)
else ifdef VARIANT
  NO_CUDA := $(if $(filter-out cuda,$(VARIANT)),VARIANT=$(VARIANT) was given)
endif
NO_CUDA := $(strip $(NO_CUDA))
NO_MPI  := $(strip $(NO_MPI))

# VARIANT is set by targets such as asan and debug only; objects of each variant live apart.
VARIANT ?= $(if $(NO_CUDA),host,cuda)
O       := build/$(VARIANT)

CC       := gcc
CXX      := g++
CSTD     := -std=c11 -D_GNU_SOURCE
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT      := -O3 -g -fno-math-errno
OPENMP   := -fopenmp
INCLUDE  := -Isrc -I. $(foreach p,openblas jansson,$(shell pkg-config --cflags $p 2>/dev/null))
LIBS     := -lisal -lm -lpthread -ldl

# Warnings are errors for those who work on blco: wherever more is asked for than to build and install it.
WERROR   ?= $(if $(filter-out all blco install uninstall deb wheel dist recipes clean help,$(MAKECMDGOALS)),1)
WARN     += $(if $(WERROR),-Werror)

ifeq ($(VARIANT),debug)
  OPT := -O0 -g3 -fno-math-errno
endif
ifeq ($(VARIANT),coverage)
  OPT := -O1 -g -fno-math-errno --coverage -fprofile-update=atomic
endif
ifeq ($(VARIANT),asan)
  # What lies outside an object the sanitizer of addresses finds.
  OPT := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=object-size -fno-sanitize-recover=all
endif
ifeq ($(VARIANT),tsan)
  CC     := clang
  OPENMP := -fopenmp=libomp
  OPT    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread -Wno-pass-failed
endif
ifeq ($(VARIANT),fuzz)
  CC     := clang
  OPENMP := -fopenmp=libomp
  OPT    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
            -fno-sanitize-recover=all -Wno-pass-failed
endif
# libgomp becomes a part of the program where the compiler has it as an archive: src/base/threads.c can
# then say how long idle threads wait, and what libgomp finds wrong.
GCC  := $(findstring gcc version,$(shell $(CC) -v 2>&1))
GOMP := $(if $(GCC),$(wildcard $(shell $(CC) -print-file-name=libgomp.a)))
HIDE := -Wl,--exclude-libs,libgomp.a:libjansson.a
WRAP := -Wl,--wrap=gomp_error,--wrap=gomp_fatal,--undefined=__wrap_gomp_error
LIBS := $(HIDE) $(if $(GOMP),$(WRAP) $(GOMP),$(OPENMP)) $(LIBS)
# Jansson, too, becomes a part of the program where there is an archive of it.
JANSSON := $(wildcard $(shell $(CC) -print-file-name=libjansson.a))
LIBS    := $(or $(JANSSON),$(shell pkg-config --libs jansson 2>/dev/null || echo -ljansson)) $(LIBS)
# What runs is shown in short; V=1 shows the commands.
ifneq ($(V),1)
  .SILENT:
  NOTE = @printf '%-5s %s\n' $(1) $(2)
endif

FLAGS = $(CSTD) $(WARN) $(OPT) $(OPENMP) $(INCLUDE)
LINK  = $(CC) $(OPT) $(CFLAGS) $(LDFLAGS)

# A backend is a folder of src/backend; "absent" stands in for those that this build leaves out.
BACKENDS := host $(if $(filter cuda,$(VARIANT)),cuda,absent)
SOURCES  := $(filter-out %_simd.c,\
              $(shell find src -name '*.c' ! -path src/main.c ! -path 'src/backend/*/*' ! -path 'src/comm/*/*') \
              $(shell find $(BACKENDS:%=src/backend/%) -name '*.c'))
# Each X_simd.c of the host is compiled for several kinds of vectors, to X_simd-ENTRY-WIDTH.o: some for
# any processor, some for x86 with AVX2 or AVX-512. src/backend/host/simd_width.c chooses among them.
SIMD_ANY    := row_sums_simd-double-1 row_sums_simd-double-2 row_sums_simd-float-1 row_sums_simd-float-4 \
               dense_simd-double-1 dense_simd-double-2 nonneg_simd-double-2 systems_simd-double-2 \
               rows_simd-double-2 \
               residual_simd-double-1 residual_simd-float-1
SIMD_AVX2   := row_sums_simd-double-4 row_sums_simd-float-8 dense_simd-double-4 nonneg_simd-double-4 \
               systems_simd-double-4 rows_simd-double-4 residual_simd-double-4 residual_simd-float-4
SIMD_AVX512 := row_sums_simd-double-8 row_sums_simd-float-16 dense_simd-double-8 nonneg_simd-double-8 \
               systems_simd-double-8 rows_simd-double-8 residual_simd-double-8 residual_simd-float-8
SIMD_X86    := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),$(SIMD_AVX2) $(SIMD_AVX512))
SIMD        := $(patsubst %,$O/src/backend/host/host_%.o,$(SIMD_ANY) $(SIMD_X86))
TESTS    := $(shell find tests -name 'test_*.c')
ifeq ($(VARIANT),cuda)
  CUDA_HOME ?= $(abspath $(dir $(realpath $(NVCC)))/..)
  KERNELS   := $(shell find kernels -name '*.cu')
  # Machine code for the first architecture of every generation from sm_70 on that nvcc knows, which
  # serves the others of its generation, and PTX for later ones. ARCH names others: a list of compute
  # capabilities (80,86,90; sm_90 and 9.0 are 90), a word of nvcc (ARCH=native builds for the card at hand), or
  # newest, PTX for the newest of the generations only, which is enough for tests on a machine without a GPU.
  # No GPU of generation 11 is in a machine with x86. From generation 10 on, kernels become the same
  # PTX for all generations, which then is made once, for the first of them: each is MACHINE:PTX.
  LISTED    := $(filter-out newest,$(subst sm_,,$(subst .,,$(subst $(COMMA), ,$(ARCH)))))
  $(if $(filter-out native all all-major 1% 7% 8% 9%,$(LISTED)),$(error ARCH=$(ARCH): expected compute capabilities \
    from 7.0 on, as ARCH=80,86,90, or native, newest, all, all-major))
  MAJORS    := $(shell $(NVCC) --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$$/\1/p' | sort -n | \
                 awk -v cpu=$$(uname -m) \
                 '$$1 >= 70 && !(cpu == "x86_64" && int($$1 / 10) == 11) && !seen[int($$1 / 10)]++ { \
                    ptx = ptx >= 100 ? ptx : $$1; print $$1 ":" ptx }')
  MACHINES  := $(or $(shell printf '%s\n' $(LISTED) | sort -nu),$(MAJORS))
  LAST_PTX  := $(lastword $(subst :, ,$(lastword $(MACHINES))))
  GENCODE   := $(if $(filter native all%,$(ARCH)),-arch=$(ARCH),$(foreach m,$(if $(filter newest,$(ARCH)),,$(MACHINES)),-gencode \
                 arch=compute_$(lastword $(subst :, ,$m)),code=sm_$(firstword $(subst :, ,$m))) \
                 -gencode arch=compute_$(LAST_PTX),code=compute_$(LAST_PTX))
  # All device code is compressed. From CUDA 13 on, all modes of that make Zstandard frames, which every driver
  # reads that reads those of the default; `size` makes the smallest.
  # LINEINFO=1 adds the source lines that profilers show, which makes the device code four times as large.
  COMPRESS  := -Xfatbin -compress-all $(if $(shell $(NVCC) --version | grep 'release 1[3-9]'),--compress-mode=size)
  NVFLAGS   := -O3 $(if $(LINEINFO),-lineinfo) -std=c++17 $(COMPRESS) -Xcompiler -Wall,-Wextra \
               $(if $(WERROR),-Werror all-warnings) $(GENCODE) -Isrc -I.
  FLAGS     += -isystem $(CUDA_HOME)/include
  GPU_TESTS := $(patsubst %.c,$O/%,$(shell find tests -name 'gpu_*.c'))
  # The CUDA runtime becomes a part of the program, which loads the driver, cuBLAS, cuSOLVER and NCCL
  # when it needs them: from where the loader looks, which is also where this build has them.
  LIBS      := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -Wl,--exclude-libs,libcudart_static.a \
               -lcudart_static $(LIBS) -lrt -lstdc++
endif

ifeq ($(VARIANT),fuzz)
  # Fuzzers call only the folders that read files.
  SIMD    :=
  SOURCES := $(filter $(addprefix src/,$(addsuffix /%,base lapack tensor model problem formats checkpoint record report)),$(SOURCES))
endif

# Those that take longest come first, so that none of them is compiled alone at the end.
OBJECTS    := $(KERNELS:%.cu=$O/%.o) $(SIMD) $(SOURCES:%.c=$O/%.o)
LIBRARY    := $O/libblco.a
UNIT_TESTS := $(TESTS:%.c=$O/%)
SUPPORT    := $O/tests/support/naive.o
NAMED_TEST := $O/tests/support/named_test.o

# Kernels that also run on the host, as C++, so that a test without a GPU sees what they compute. Threads take turns
# (tests/kernels/on_host/lanes.h): the sanitizer of threads cannot follow them, that of addresses can if it leaves out
# the file that changes stacks.
ON_HOST_TESTS := $(patsubst %.c,$O/%,$(wildcard tests/kernels/test_*.c))
LANES         := $O/on_host/tests/kernels/on_host/lanes.o
ON_HOST       := $(patsubst %,$O/on_host/%.o,kernels/rows/row_systems kernels/rows/row_short kernels/rows/row_multiply \
                   tests/kernels/on_host/lane_examples) $(LANES)
ON_HOST_FLAGS := -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-missing-field-initializers $(if $(WERROR),-Werror) \
                 -O1 -g -fno-exceptions -fno-rtti -Itests/kernels/on_host -Itests -Isrc -I.
ifeq ($(VARIANT),asan)
  $(filter-out $(LANES),$(ON_HOST)): ON_HOST_FLAGS += $(OPT) -fno-sanitize=pointer-overflow,null
endif
ifeq ($(VARIANT),tsan)
  # Only tests of folders that start threads.
  UNIT_TESTS := $(filter $(addprefix $O/tests/,$(addsuffix /%,als backend base comm formats generate model ranks report tensor)),$(UNIT_TESTS))
endif

# The source of test T, and what it needs: a bats file runs the program and, some of them, a test program.
TEST       := $(if $T,$(shell find tests -name '$T.c' -o -name '$T.bats'))
TEST_BUILT := $(patsubst %.c,$O/%,$(filter %.c,$(TEST)))

# The tests of a folder are one program, which is linked once and has a link of the name of each. One test T is
# linked alone, and so is a test that replaces functions of the C library.
ALONE         := $(TEST_BUILT) $(patsubst %.c,$O/%,$(shell grep -rl '"support/file_systems.h"' tests --include='test_*.c'))
TOGETHER      := $(filter-out $(ALONE),$(UNIT_TESTS) $(GPU_TESTS))
TEST_PROGRAMS := $(addsuffix tests,$(sort $(dir $(TOGETHER))))

# The plugin that makes ranks of processes; a process on its own never loads MPI. The plugin uses the
# program's functions, which EXPORT shows to the plugin.
PLUGIN         := $(if $(NO_MPI),,$O/blco-mpi.so)
PLUGIN_OBJECTS := $(patsubst %.c,$O/%.o,$(wildcard src/comm/mpi/*.c))
EXPORT         := -rdynamic
MPI_TESTS      := $(patsubst %.c,$O/%,$(shell find tests -name 'mpi_*.c'))

FUZZERS    := $(patsubst %.c,$O/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 20

.PHONY: all blco tests test fuzzers check check-layers check-format check-gpu check-release asan tsan fuzz kill table debug coverage tidy \
        install uninstall deb wheel dist recipes format clean help FORCE
.PRECIOUS: $O/%.o
all: blco
blco: $O/blco $(PLUGIN)
	$(if $(PLUGIN),,rm -f build/blco-mpi.so $O/blco-mpi.so)
	install -m 755 $^ build
	$(if $(NO_CUDA),echo 'left out: GPUs ($(NO_CUDA))')
	$(if $(NO_MPI),echo 'left out: MPI ($(NO_MPI))')
	$(if $(HERE),echo 'built for this machine; what nvcc can build for all GPUs: make')

.PHONY: program
program: $O/blco $(PLUGIN)

$O/blco: $O/src/main.o $(LIBRARY)
	$(call NOTE,LINK,$@)
	$(LINK) $(EXPORT) -o $@ $^ $(LIBS)

# The compiler's wrapper of MPI knows where MPI is; it calls the compiler of the other files.
$O/src/comm/mpi/%.o $O/blco-mpi.so: private override CC := OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC)
$O/src/comm/mpi/%.o: FLAGS += -fPIC -fvisibility=hidden

$O/blco-mpi.so: $(PLUGIN_OBJECTS)
	$(call NOTE,LINK,$@)
	$(LINK) -shared -o $@ $^

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# Rewritten only when the commit is another one, so that the version is always the present one.
$O/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@

# Rewritten only when ARCH names other GPUs, or nvcc gets other options, so that no program has older kernels.
ifeq ($(VARIANT),cuda)
$O/machines: FORCE
	@mkdir -p $(@D)
	@echo '$(GENCODE) $(NVCCFLAGS)' | cmp -s - $@ || echo '$(GENCODE) $(NVCCFLAGS)' >$@
$(KERNELS:%.cu=$O/%.o): $O/machines
endif
FORCE:
KNOW_VERSION := $O/src/base/version.o $O/src/comm/mpi/comm_mpi.o
$(KNOW_VERSION): $O/commit
$(KNOW_VERSION): FLAGS += -DBLCO_VERSION='"$(VERSION)"' -DBLCO_COMMIT='"$(COMMIT)"'

# A product and a sum in one instruction, where the processor has it.
$O/src/backend/host/host_dense_simd-%.o $O/src/backend/host/host_nonneg_simd-%.o \
$O/src/backend/host/host_systems_simd-%.o $O/src/backend/host/host_rows_simd-%.o \
$O/src/report/unlisted_best.o: FLAGS += -ffp-contract=fast

# Of these a debugger shows little more than lines, and without variables they compile in four fifths of the time.
ifneq ($(filter host cuda,$(VARIANT)),)
  $(SIMD): FLAGS += -g1
endif

$(SIMD_AVX2:%=$O/src/backend/host/host_%.o): FLAGS += -mavx2 -mfma
$(SIMD_AVX512:%=$O/src/backend/host/host_%.o): FLAGS += -mavx512f -mavx512dq

# Those took most of the time of a build with sanitizers, which therefore has one kernel for all orders, whose body
# is that of the others. The sanitizer of addresses finds every wrong pointer when it is used.
ifneq ($(filter asan tsan,$(VARIANT)),)
  $(SIMD): FLAGS += -DANY_KERNEL
endif
ifeq ($(VARIANT),asan)
  $(SIMD): FLAGS += -fno-sanitize=pointer-overflow,null
endif

.SECONDEXPANSION:
$(SIMD): $O/%.o: $$(firstword $$(subst -, ,$$*)).c
	@mkdir -p $(@D)
	$(call NOTE,CC,$*)
	$(CC) $(FLAGS) -DSIMD_ENTRY=$(word 2,$(subst -, ,$*)) -DSIMD_WIDTH=$(word 3,$(subst -, ,$*)) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$O/%.o: %.c
	@mkdir -p $(@D)
	$(call NOTE,CC,$<)
	$(CC) $(FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$O/%.o: %.cu
	@mkdir -p $(@D)
	$(call NOTE,NVCC,$<)
	$(NVCC) $(NVFLAGS) $(NVCCFLAGS) -MMD -MP -c -o $@ $<

$O/on_host/%.o: %.cu
	@mkdir -p $(@D)
	$(call NOTE,CXX,$<)
	$(CXX) $(ON_HOST_FLAGS) -MMD -MP -x c++ -c -o $@ $<

$O/on_host/%.o: %.cpp
	@mkdir -p $(@D)
	$(call NOTE,CXX,$<)
	$(CXX) $(ON_HOST_FLAGS) -MMD -MP -c -o $@ $<

tests: $O/blco $(UNIT_TESTS) $(PLUGIN) $(MPI_TESTS)

# Tests themselves need not be fast, nor be examined for undefined behaviour, which takes as long to compile.
$O/tests/%.o: FLAGS += -Itests $(if $(filter host cuda,$(VARIANT)),-O1 -g1) $(if $(filter asan,$(VARIANT)),-fno-sanitize=undefined)
$(addsuffix .o,$(UNIT_TESTS) $(GPU_TESTS)): FLAGS += -D'main(x)=$(*F)_main(void); int $(*F)_main(x)'
$(addsuffix .o,$(UNIT_TESTS) $(GPU_TESTS)): tests/support/named_test.c
$(ON_HOST_TESTS:=.o): FLAGS += -Itests/kernels/on_host
$(filter $(ALONE),$(ON_HOST_TESTS)) $(addsuffix tests,$(sort $(dir $(ON_HOST_TESTS)))): $(ON_HOST)

$(TEST_PROGRAMS): $$(addsuffix .o,$$(filter $$(@D)/test_% $$(@D)/gpu_%,$$(TOGETHER))) $(NAMED_TEST)
$(filter $(ALONE),$(UNIT_TESTS) $(GPU_TESTS)): %: %.o $(NAMED_TEST)
$(MPI_TESTS): %: %.o
$(TEST_PROGRAMS) $(filter $(ALONE),$(UNIT_TESTS) $(GPU_TESTS)) $(MPI_TESTS): $(SUPPORT) $(LIBRARY)
	$(call NOTE,LINK,$@)
	rm -f $@ $(if $(filter tests,$(@F)),$$(find $(@D) -maxdepth 1 -type l))
	$(LINK) $(EXPORT) -o $@ $(filter-out $(LIBRARY),$^) $(LIBRARY) -lcmocka $(LIBS)

$(TOGETHER): $$(@D)/tests
	ln -sf tests $@

TEST_NEEDS := $(if $(filter %.bats,$(TEST)),$O/blco $(PLUGIN) $(MPI_TESTS),$(TEST_BUILT))

test: $(TEST_NEEDS)
	$(if $T,,$(error make test: T=NAME is missing, as T=test_plan or T=cli_cpd))
	$(if $(TEST),,$(error make test: there is no tests/*/$T.c and no tests/*/$T.bats))
	scripts/run-tests $O $(or $(filter %.bats,$(TEST)),$(TEST_BUILT))

check: blco tests check-layers
	scripts/run-tests $O

check-release: blco
	scripts/run-tests $O release

check-layers:
	scripts/check-layers

check-gpu: blco tests $(GPU_TESTS)
	scripts/run-tests $O gpu

asan tsan:
	$(MAKE) VARIANT=$@ tests
	scripts/run-tests build/$@

debug:
	$(MAKE) VARIANT=debug program

coverage:
	[ ! -d build/coverage ] || find build/coverage -name '*.gcda' -delete
	$(MAKE) VARIANT=coverage $(if $T,test,tests)
	$(if $T,,scripts/run-tests build/coverage)
	scripts/coverage build/coverage

fuzzers: $(FUZZERS)

$(FUZZERS): %: %.o $(LIBRARY)
	$(call NOTE,LINK,$@)
	$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

fuzz:
	$(MAKE) VARIANT=fuzz fuzzers
	scripts/run-fuzzers build/fuzz $(FUZZ_SECONDS)

table:
	BLCO_TABLE=1000 $(MAKE) test T=test_momentum_table
	BLCO_TABLE=2000 $(MAKE) test T=test_rows_table

kill: blco
	tests/kill/kill-checkpoints $O/blco

# What is installed into which folder below PREFIX. BUILT has the program and the plugin.
BUILT := build
INSTALLED_bin                := $(BUILT)/blco
INSTALLED_lib/blco           := $(if $(PLUGIN),$(BUILT)/blco-mpi.so)
INSTALLED_share/man/man1     := $(wildcard man/*.1)
INSTALLED_share/man/man5     := $(wildcard man/*.5)
INSTALLED_share/man/man7     := $(wildcard man/*.7)
INSTALLED_share/blco         := scripts/fetch-frostt
INSTALLED_share/blco/loaders := $(wildcard scripts/loaders/load_blco.*)
INSTALLED_share/blco/slurm   := $(wildcard scripts/slurm/*.sh)
INSTALLED_share/blco/schema  := $(wildcard data/schema/*.json)
INSTALLED_share/doc/blco     := LICENSE
INSTALLED_share/doc/blco/examples := data/README.md $(wildcard data/*.csv data/*.ipynb data/*.ktns data/*.map data/*.tns)
FOLDERS     := $(sort $(patsubst INSTALLED_%,%,$(filter INSTALLED_%,$(.VARIABLES))))
OWN_FOLDERS := lib/blco share/blco/loaders share/blco/slurm share/blco/schema share/blco share/doc/blco/examples share/doc/blco
PROGRAMS    := bin share/blco share/blco/slurm
STRIPPED    := bin lib/blco
INTO         = $(DESTDIR)$(PREFIX)
# Completion of words, which the program writes: SHELL:FILE.
COMPLETIONS := bash:share/bash-completion/completions/blco zsh:share/zsh/site-functions/_blco \
               fish:share/fish/vendor_completions.d/blco.fish

define install_files
install -D $(if $(filter $1,$(STRIPPED)),-s )-m $(if $(filter $1,$(PROGRAMS)),755,644) -t '$(INTO)/$1' $(INSTALLED_$1)

endef

install: blco
	$(foreach f,$(FOLDERS),$(if $(INSTALLED_$f),$(call install_files,$f)))
	for c in $(COMPLETIONS); do if $(BUILT)/blco completion $${c%:*} >/dev/null 2>&1; then \
	  $(BUILT)/blco completion $${c%:*} | install -D -m 644 /dev/stdin '$(INTO)'/$${c#*:}; fi; done

# The plugin also where this build has none, and what Python has left beside the loader.
uninstall:
	for c in $(COMPLETIONS); do rm -f '$(INTO)'/$${c#*:}; done
	rm -f $(foreach f,$(FOLDERS),$(patsubst %,'$(INTO)/$f/%',$(notdir $(INSTALLED_$f)))) \
	  '$(INTO)/lib/blco/blco-mpi.so' '$(INTO)'/share/blco/loaders/__pycache__/load_blco.*
	for f in share/blco/loaders/__pycache__ $(OWN_FOLDERS); do \
	  [ ! -d '$(INTO)'/$$f ] || rmdir --ignore-fail-on-non-empty '$(INTO)'/$$f; done

deb: blco
	+scripts/make-deb $O $(VERSION)

# The program of the wheel looks for libraries in the wheel, and in the wheels of NVIDIA beside it. An
# RPATH, unlike a RUNPATH, also serves the libraries of these libraries.
NVIDIA_LIBS  := cu13/lib cublas/lib cusolver/lib nccl/lib
WHEEL_RPATH  := $$ORIGIN/../lib$(subst $() ,,$(NVIDIA_LIBS:%=:$$ORIGIN/../../nvidia/%))

$O/wheel/blco: $O/src/main.o $(LIBRARY)
	@mkdir -p $(@D)
	$(call NOTE,LINK,$@)
	$(LINK) $(EXPORT) -Wl,--disable-new-dtags '-Wl,-rpath,$(WHEEL_RPATH)' -o $@ $^ \
	  $(filter-out -Wl$(COMMA)-rpath%,$(LIBS))

wheel: blco $O/wheel/blco
	scripts/make-wheel $O $(VERSION)

# The order, the times (that of the commit) and the owner of its files are git's, so each clone makes the same bytes.
DIST := blco-$(VERSION)
dist:
	[ "$$(git rev-parse --show-prefix 2>&1)" = '' ] || { echo 'make dist needs a clone of the repository' >&2; exit 1; }
	mkdir -p build
	git -c core.abbrev=12 -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >build/$(DIST).tar.gz
	cd build && sha256sum $(DIST).tar.gz | tee $(DIST).tar.gz.sha256

# Recipes name the version, the tarball's sum, and where it is.
recipes: dist
	rm -rf build/recipes && cp -r scripts/packaging build/recipes
	find build/recipes -type f -exec sed -i \
	  "s|@VERSION@|$(VERSION)|; s|@URL@|$(URL)|; s|@SHA256@|$$(cut -c -64 build/$(DIST).tar.gz.sha256)|" {} +
	cd build/recipes/easybuild && for f in *VERSION*; do mv $$f $$(echo $$f | sed 's/VERSION/$(VERSION)/'); done

# clang-format of another version formats otherwise.
CLANG_FORMAT := $(or $(shell command -v clang-format-14),clang-format)
FORMATTED     = find src kernels tests -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | xargs -n 16 -P $(shell nproc) $(CLANG_FORMAT)
format: PINNED
	$(FORMATTED) -i

check-format: PINNED
	$(FORMATTED) --dry-run -Werror --ferror-limit=1 || { echo 'these files are not formatted (make format)' >&2; exit 1; }

PINNED:
	$(CLANG_FORMAT) --version | grep -q 'version 14\.' || \
	  { echo 'clang-format 14 is needed (package clang-format-14)' >&2; exit 1; }

# The commands by which files are compiled, as JSON: make prints them, and does not run them.
compile_commands.json: Makefile FORCE
	$(MAKE) -nB V=1 --no-print-directory blco tests | \
	  sed -nE 's/[\\"]/\\&/g; s|^(OMPI_CC=[^ ]* MPICH_CC=[^ ]* )?(.* -c -o [^ ]+ ([^ ]+\.c))$$|{"directory": "$(CURDIR)", "command": "\2", "file": "\3"},|p' | \
	  sed '1s/^/[/; $$s/,$$/]/' >$@

tidy: compile_commands.json
	printf '%s\n' $(or $F,$(filter-out src/comm/mpi/%,$(sort $(SOURCES)))) | xargs -n 1 -P $(shell nproc) $(or $(shell command -v clang-tidy-14),clang-tidy) --quiet

help:
	sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

clean:
	rm -rf build compile_commands.json

-include $(OBJECTS:.o=.d) $O/src/main.d $(UNIT_TESTS:=.d) $(GPU_TESTS:=.d) $(MPI_TESTS:=.d) $(PLUGIN_OBJECTS:.o=.d) $(FUZZERS:=.d) $(SUPPORT:.o=.d) $(NAMED_TEST:.o=.d) $(ON_HOST:.o=.d)

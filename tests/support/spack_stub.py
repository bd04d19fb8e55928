"""Loads the Spack recipe of blco with a stub of Spack, and prints what the recipe declares.

Usage: spack_stub.py RECIPE VARIANTS PREFIX, VARIANTS as "+cuda~mpi cuda_arch=80,90". Prints a text line for each
directive, then those for the source, the build, the installation and the test."""
import importlib.util
import sys
import types

recipe, asked, prefix = sys.argv[1:]
sys.dont_write_bytecode = True


def directive(name):
    def record(*arguments, **options):
        print(name, *arguments, *(f"{key}={value}" for key, value in options.items()))

    return record


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


NAMES = ("license", "version", "variant", "depends_on", "conflicts", "requires")
module("spack")
module("spack.package", **{name: directive(name) for name in NAMES},
       Executable=lambda program: lambda *arguments: print("run", program, *arguments))
for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    module(name)
module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {"cuda_arch_values": ("60", "70", "80", "90", "90a")}))
module("spack_repo.builtin.build_systems.makefile", MakefilePackage=type("MakefilePackage", (), {}))


class Prefix(str):
    """A folder, whose member bin.blco is the program in it."""

    @property
    def bin(self):
        return types.SimpleNamespace(blco=f"{self}/bin/blco")


class Spec:
    """What the recipe asks a specification."""

    variants = {"cuda_arch": types.SimpleNamespace(value=asked.partition("cuda_arch=")[2].split(",") if "cuda_arch=" in asked else ["none"])}
    mpicc = "/mpi/bin/mpicc"
    prefix = types.SimpleNamespace(bin=types.SimpleNamespace(nvcc="/cuda/bin/nvcc"))

    def satisfies(self, constraint):
        assert constraint in ("+cuda", "+mpi"), constraint
        return constraint in asked

    def __getitem__(self, name):
        assert name in ("cuda", "mpi") and self.satisfies("+" + name), name
        return self


specification = importlib.util.spec_from_file_location("recipe", recipe)
loaded = importlib.util.module_from_spec(specification)
specification.loader.exec_module(loaded)
package = loaded.Blco()
package.spec = Spec()
package.prefix = Prefix(prefix)
print("url", package.url)
print("build", *package.build_targets)
print("install", *package.install_targets)
package.test_selftest()

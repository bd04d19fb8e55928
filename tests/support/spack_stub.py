"""Loads the Spack recipe of blco with a stub of Spack, and prints what the recipe declares.

Usage: spack_stub.py RECIPE VARIANTS PREFIX, VARIANTS as "+cuda~mpi". Prints a text line for each directive,
then those for the source, the build and the installation."""
import importlib.util
import sys
import types

recipe, variants, prefix = sys.argv[1:]
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
module("spack.package", __all__=list(NAMES), **{name: directive(name) for name in NAMES})
for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    module(name)
module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {}))
module("spack_repo.builtin.build_systems.makefile", MakefilePackage=type("MakefilePackage", (), {}))


class Spec:
    """What the recipe asks a specification."""

    variants = {"cuda_arch": types.SimpleNamespace(value=("90",))}
    mpicc = "/mpi/bin/mpicc"
    prefix = types.SimpleNamespace(bin=types.SimpleNamespace(nvcc="/cuda/bin/nvcc"))

    def satisfies(self, constraint):
        assert constraint in ("+cuda", "+mpi"), constraint
        return constraint in variants

    def __getitem__(self, name):
        assert name in ("cuda", "mpi") and self.satisfies("+" + name), name
        return self


specification = importlib.util.spec_from_file_location("recipe", recipe)
loaded = importlib.util.module_from_spec(specification)
specification.loader.exec_module(loaded)
package = loaded.Blco()
package.spec, package.prefix = Spec(), prefix
print("git", package.git)
print("build", *package.build_targets)
print("install", *package.install_targets)

"""Recipe of Spack 1.0 or later, which builds the clone of blco that the recipe lies in."""

import os

from spack.package import *
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Blco(MakefilePackage, CudaPackage):
    """Decomposes large sparse tensors (CP, PARAFAC) by alternating least squares, on NVIDIA GPUs or on
    processors, on one machine or on several."""

    # A recipe that is moved out of the clone needs the address of a repository here.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))
    homepage = git

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="Several processes work together")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("isa-l")
    depends_on("jansson")
    # OpenBLAS and NCCL are loaded by name when they are needed: as libraries that are linked, they are
    # in the program's search path. So is the folder of CUDA, which has cuBLAS and cuSOLVER.
    depends_on("openblas@0.3.10:")
    depends_on("nccl@2.18:", when="+cuda")
    depends_on("mpi", when="+mpi")

    # The Makefile calls gcc, which is Spack's wrapper then; warnings of other compilers are errors.
    requires("%c=gcc")
    conflicts("^cuda@:11", when="+cuda", msg="blco needs CUDA 12 or later")
    # The Makefile finds compute capabilities by itself, or builds for one.
    conflicts("cuda_arch=60", when="+cuda", msg="blco needs compute capability 7.0 or later")

    @property
    def settings(self):
        """The variables of the Makefile, for building and installing alike."""
        spec = self.spec
        settings = [f"CUDA={int(spec.satisfies('+cuda'))}", f"MPI={int(spec.satisfies('+mpi'))}"]
        if spec.satisfies("+cuda"):
            settings.append(f"NVCC={spec['cuda'].prefix.bin.nvcc}")
            architectures = [a for a in spec.variants["cuda_arch"].value if a != "none"]
            if len(architectures) == 1:
                settings.append(f"ARCH=sm_{architectures[0]}")
        if spec.satisfies("+mpi"):
            settings.append(f"MPICC={spec['mpi'].mpicc}")
        return settings

    @property
    def build_targets(self):
        return self.settings + ["blco"]

    @property
    def install_targets(self):
        return self.settings + [f"PREFIX={self.prefix}", "install"]

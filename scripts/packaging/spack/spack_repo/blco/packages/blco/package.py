from spack.package import *
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Blco(MakefilePackage, CudaPackage):
    """Decomposes large sparse tensors (CP, PARAFAC) by alternating least squares, counts and binary data by
    their likelihood, on NVIDIA GPUs or on processors, on one machine or on several."""

    homepage = "@URL@"
    url = "@URL@/blco-@VERSION@.tar.gz"

    license("MIT")

    version("@VERSION@", sha256="@SHA256@")

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

    # The Makefile calls gcc, which is Spack's wrapper then.
    requires("%c=gcc")
    conflicts("^cuda@:11", when="+cuda", msg="blco needs CUDA 12 or later")
    for capability in CudaPackage.cuda_arch_values:
        if int(capability.rstrip("af")) < 70:
            conflicts(f"cuda_arch={capability}", when="+cuda", msg="blco needs compute capability 7.0 or later")

    @property
    def settings(self):
        """The variables of the Makefile, for building and installing alike."""
        spec = self.spec
        settings = [f"CUDA={int(spec.satisfies('+cuda'))}", f"MPI={int(spec.satisfies('+mpi'))}"]
        if spec.satisfies("+cuda"):
            settings.append(f"NVCC={spec['cuda'].prefix.bin.nvcc}")
            # Without a choice the Makefile builds for all generations of GPUs that nvcc knows.
            architectures = [a for a in spec.variants["cuda_arch"].value if a != "none"]
            if architectures:
                settings.append("ARCH=" + ",".join(architectures))
        if spec.satisfies("+mpi"):
            settings.append(f"MPICC={spec['mpi'].mpicc}")
        return settings

    @property
    def build_targets(self):
        return self.settings + ["blco"]

    @property
    def install_targets(self):
        return self.settings + [f"PREFIX={self.prefix}", "install"]

    def test_selftest(self):
        """known answers, on the host and on each GPU"""
        Executable(self.prefix.bin.blco)("selftest")

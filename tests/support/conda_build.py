"""Renders the recipe of conda with rattler-build, and builds one variant of it without conda's packages.

Usage: conda_build.py RECIPE_FOLDER OUTPUT_FOLDER

Prints a text line for each variant: its build string, and what it requires. Then it builds the package of the variant
without CUDA and with MPI, and runs the tests of the recipe. The packages that the recipe names are empty here: compiler
and libraries are those of the system."""
import shutil
import sys
from pathlib import Path

from rattler_build import Stage0Recipe, ToolConfiguration, VariantConfig

STAND_IN = """
schema_version: 1
package: {{name: {name}, version: "{version}"}}
build:
  noarch: generic
  script: |
    mkdir -p $PREFIX/etc/conda/activate.d $PREFIX/bin
    {script}
"""
COMPILER = "echo 'export CC=gcc CFLAGS=-O0' >$PREFIX/etc/conda/activate.d/gcc.sh"
MPI = f"""printf '#!/bin/sh\\nexec {shutil.which("mpicc")} "$@"\\n' >$PREFIX/bin/mpicc; chmod +x $PREFIX/bin/mpicc"""
STAND_INS = [("gcc_linux-64", "14.2.0", COMPILER), ("sysroot_linux-64", "2.17", ""), ("make", "4", ""), ("pkg-config", "1", ""),
             ("isa-l", "2.31", ""), ("jansson", "2.14", ""), ("openblas", "0.3.30", ""), ("libopenblas", "0.3.30", ""),
             ("openmpi", "5", MPI)]

folder, output = map(Path, sys.argv[1:])
variants = Stage0Recipe.from_file(folder / "recipe.yaml").render(VariantConfig.from_file(folder / "variants.yaml"))
for variant in variants:
    recipe = variant.recipe.to_dict()
    print(recipe["build"]["string"], *recipe["requirements"]["host"], *recipe["requirements"]["run"])
for name, version, script in STAND_INS:
    stand_in = Stage0Recipe.from_yaml(STAND_IN.format(name=name, version=version, script=script))
    stand_in.render(VariantConfig())[0].run_build(output_dir=output, channels=[])
chosen = [v for v in variants if v.variant["cuda_compiler_version"] == "None" and v.variant["mpi"] == "openmpi"]
built = chosen[0].run_build(output_dir=output, channels=[], tool_config=ToolConfiguration(test_strategy="native"))
print("built", *built.packages)

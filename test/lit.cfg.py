"""lit configuration of pe's tests.

Files that end in .mlir or .test and lie outside Inputs/ are tests. A RUN line finds the programs of
this build (pe, pe-opt, pe-lsp-server) and LLVM's (FileCheck, not, count, split-file, mlir-opt, llc)
by PATH. %examples is examples/encodings, %python the build's python3, %root the source tree.
"""

import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "pe"
# lit's own shell: pipes fail when any part fails, and no login file of the user is read.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "encodings"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.pe_binary_root, "test")

programs = os.path.join(config.pe_binary_root, "bin")
llvm_config.with_environment("PATH", [programs, config.llvm_tools_dir], append_path=True)
# No test may touch the user's own cache.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
# In a sanitizer build: see pe_add_test in cmake/PETests.cmake.
config.environment["ASAN_OPTIONS"] = "allocator_may_return_null=1:detect_leaks=0"

examples = os.path.join(config.pe_source_root, "examples", "encodings")
config.substitutions.append(("%examples", examples))
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%root", config.pe_source_root))
config.substitutions.append(("%build", config.pe_binary_root))
# A CUDA driver of our own; and whether ptxas is here: what needs it is skipped and counted if not.
config.substitutions.append(
    ("%fakecuda", os.path.join(config.pe_binary_root, "lib", "libpe-fake-cuda.so")))
# A C program linked by hand does not load the sanitizers that libpe.so is built with.
if not config.pe_sanitizer:
    config.available_features.add("no-sanitizer")
if shutil.which("ptxas"):
    config.available_features.add("ptxas")

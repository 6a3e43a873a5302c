"""lit configuration of pe's tests.

The tests are the .mlir and .test files outside Inputs/. PATH contains the tools of this build (pe,
pe-opt, pe-lsp-server) and of LLVM (FileCheck, not, count, split-file, mlir-opt, llc). %examples is
examples/encodings, %python the build's python3, %root the source tree and %build the build tree.
"""

import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "pe"
# lit's internal shell fails a pipe if any command fails, and reads no startup files of the user.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "encodings"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.pe_binary_root, "test")

programs = os.path.join(config.pe_binary_root, "bin")
llvm_config.with_environment("PATH", [programs, config.llvm_tools_dir], append_path=True)
# Tests must not use the user's cache.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
# For sanitizer builds; see pe_add_test in cmake/PETests.cmake.
config.environment["ASAN_OPTIONS"] = "allocator_may_return_null=1:detect_leaks=0"

examples = os.path.join(config.pe_source_root, "examples", "encodings")
config.substitutions.append(("%examples", examples))
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%root", config.pe_source_root))
config.substitutions.append(("%build", config.pe_binary_root))
# A fake CUDA driver. Tests that need ptxas are reported as unsupported if it is not installed.
config.substitutions.append(
    ("%fakecuda", os.path.join(config.pe_binary_root, "lib", "libpe-fake-cuda.so")))
# A C program that a test links does not load the sanitizers with which libpe.so is built.
if not config.pe_sanitizer:
    config.available_features.add("no-sanitizer")
if shutil.which("ptxas"):
    config.available_features.add("ptxas")

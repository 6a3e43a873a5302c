# Reports all missing Debian packages in one error, before anything else fails because of them. Each
# package is detected by one of its files; scripts/install-deps.sh installs all of them. Can also be
# run as a script: cmake -P cmake/PEPackages.cmake.
set(PE_LLVM_PREFIX "/usr/lib/llvm-22" CACHE PATH "Prefix of the LLVM/MLIR 22 packages")

set(PE_MISSING)

# pe_need(PACKAGE FILE): FILE is the name of a program, a header relative to include, or an absolute
# path.
macro(pe_need package file)
  if(IS_ABSOLUTE ${file})
    set(PE_FOUND ${file})
  elseif(${file} MATCHES "\\.hp*$")
    find_path(PE_FOUND ${file} PATHS /usr/include /usr/local/include NO_CACHE)
  else()
    find_program(PE_FOUND ${file} NO_CACHE)
  endif()
  if(NOT EXISTS "${PE_FOUND}")
    string(APPEND PE_MISSING "\n  ${package} (${file})")
  endif()
  unset(PE_FOUND)
endmacro()

if(CMAKE_GENERATOR STREQUAL "Ninja" AND NOT CMAKE_MAKE_PROGRAM)
  pe_need(ninja-build ninja)
endif()
if(CMAKE_CXX_COMPILER STREQUAL "clang++-22")  # the setting of the presets
  pe_need(clang-22 clang++-22)
  pe_need(lld-22 ld.lld-22)
  pe_need(ccache ccache)
endif()
pe_need(clang-22 ${PE_LLVM_PREFIX}/bin/clang)
pe_need(llvm-22-dev ${PE_LLVM_PREFIX}/lib/cmake/llvm/LLVMConfig.cmake)
pe_need(libmlir-22-dev ${PE_LLVM_PREFIX}/lib/cmake/mlir/MLIRConfig.cmake)
pe_need(mlir-22-tools ${PE_LLVM_PREFIX}/bin/mlir-tblgen)
pe_need(libcli11-dev CLI/CLI.hpp)
pe_need(nlohmann-json3-dev nlohmann/json.hpp)
pe_need(libxsmm-dev libxsmm.h)
# The functions that GPU kernels call are linked with the math functions of libclc.
find_file(PE_LIBCLC nvptx64--.bc PATHS /usr/lib/clc ${PE_LLVM_PREFIX}/share/clc
  NO_DEFAULT_PATH DOC "libclc for NVPTX")
if(NOT PE_LIBCLC)
  pe_need(libclc-22 /usr/lib/clc/nvptx64--.bc)
endif()
if(PE_STATIC_JIT)
  pe_need(zlib1g-dev zlib.h)
endif()
if(NOT DEFINED PE_ENABLE_TESTS OR PE_ENABLE_TESTS)
  pe_need(llvm-22-tools ${PE_LLVM_PREFIX}/bin/FileCheck)
  pe_need(libgtest-dev gtest/gtest.h)
  pe_need(pkgconf pkg-config)
endif()

if(PE_MISSING)
  message(FATAL_ERROR "pe: expected files of these Debian packages, found none; install them "
    "(scripts/install-deps.sh), or set PE_LLVM_PREFIX to the prefix of LLVM 22:${PE_MISSING}")
endif()

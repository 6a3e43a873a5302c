# Debian's LLVM/MLIR 22 packages. `find_package(MLIR 22)` is refused by the package's own version
# file (major and minor must match), hence 22.1.
set(PE_LLVM_PREFIX "/usr/lib/llvm-22" CACHE PATH "Prefix of the LLVM/MLIR 22 packages")
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${PE_LLVM_PREFIX}/lib/cmake/mlir)
# AddMLIR writes documentation to /docs at the file-system root unless this is set before it.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(PE_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${PE_LLVM_DEFINITIONS})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

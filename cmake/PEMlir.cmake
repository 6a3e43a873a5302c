# Debian's LLVM/MLIR 22 packages. Their version file requires major and minor version to match, so
# `find_package(MLIR 22)` fails.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${PE_LLVM_PREFIX}/lib/cmake/mlir)
# AddMLIR writes documentation to /docs unless this is set before it is included.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# `make docs` generates the pages of all add_mlir_doc calls in build/docs.
if(NOT TARGET mlir-doc)
  add_custom_target(mlir-doc)
endif()
add_custom_target(pe-docs DEPENDS mlir-doc)
separate_arguments(PE_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${PE_LLVM_DEFINITIONS})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# The dialects use MLIR's headers. Everything else also uses the headers of the dialects, which
# exist after tablegen has run (dialect/CMakeLists.txt).
if(PE_PRECOMPILED_HEADERS)
  pe_add_headers(PEMlirHeaders MlirHeaders.h)
  pe_configure_mlir_target(PEMlirHeaders)
  pe_add_headers(PEDialectHeaders DialectHeaders.h)
  pe_configure_mlir_target(PEDialectHeaders)
  add_dependencies(PEDialectHeaders PEDialectIncGen PETileIncGen PEStepIncGen)
endif()

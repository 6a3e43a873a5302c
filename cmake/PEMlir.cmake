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

# Parsing MLIR's headers takes about 20 of the 22 s that a source file compiles, so the common ones
# are in a precompiled header that every target using MLIR shares (pe_configure_mlir_target).
# -DPE_PRECOMPILED_HEADERS=OFF checks that each source file includes what it uses.
option(PE_PRECOMPILED_HEADERS "Parse MLIR's common headers once for all targets" ON)
# Compile all objects with -fPIC, including those of executables, because a precompiled header
# requires one setting of position independence.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
if(PE_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/MlirHeaders.cpp
    CONTENT "// Carries the precompiled header of cmake/MlirHeaders.h.\n")
  add_library(PEMlirHeaders OBJECT ${PROJECT_BINARY_DIR}/MlirHeaders.cpp)
  pe_configure_mlir_target(PEMlirHeaders)
  target_precompile_headers(PEMlirHeaders PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirHeaders.h)
  # ccache requires a result without time stamps.
  target_compile_options(PEMlirHeaders PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

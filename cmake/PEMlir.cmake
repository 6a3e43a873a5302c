# Debian's LLVM/MLIR 22 packages. `find_package(MLIR 22)` is refused by the package's own version
# file (major and minor must match), hence 22.1.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${PE_LLVM_PREFIX}/lib/cmake/mlir)
# AddMLIR writes documentation to /docs at the file-system root unless this is set before it.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# `make docs`: the pages that the rooms' add_mlir_doc lines generate, in build/docs.
if(NOT TARGET mlir-doc)
  add_custom_target(mlir-doc)
endif()
add_custom_target(pe-docs DEPENDS mlir-doc)
separate_arguments(PE_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${PE_LLVM_DEFINITIONS})
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# Parsing MLIR's headers takes about 20 s of a source file's 22 s, so the common ones are parsed
# once into a precompiled header that every target using MLIR shares (pe_configure_mlir_target).
# Without it (-DPE_PRECOMPILED_HEADERS=OFF) each source file must include what it uses.
option(PE_PRECOMPILED_HEADERS "Parse MLIR's common headers once for all targets" ON)
# All objects are -fPIC, programs too: a precompiled header works for one kind of position
# independence.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
if(PE_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/MlirHeaders.cpp
    CONTENT "// Carries the precompiled header of cmake/MlirHeaders.h.\n")
  add_library(PEMlirHeaders OBJECT ${PROJECT_BINARY_DIR}/MlirHeaders.cpp)
  pe_configure_mlir_target(PEMlirHeaders)
  target_precompile_headers(PEMlirHeaders PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirHeaders.h)
  # Without time stamps the result depends on its contents only, which is what ccache needs.
  target_compile_options(PEMlirHeaders PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# Precompiled headers. Parsing takes most of a source file's compile time: 1 to 3 s for the standard
# library and JSON, 20 s for MLIR. Each carrier below is an object library with one precompiled header
# that targets of the same compile options reuse.
#
# -DPE_PRECOMPILED_HEADERS=OFF checks that each source file includes what it uses.
option(PE_PRECOMPILED_HEADERS "Parse common headers once for all targets" ON)
# Compile all objects with -fPIC, including those of executables, because a precompiled header
# requires one setting of position independence.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

# pe_add_headers(NAME HEADER) adds the carrier NAME of cmake/HEADER. The caller gives it the same
# compile options as the targets that reuse it.
function(pe_add_headers name header)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp
    CONTENT "// Carries the precompiled header of cmake/${header}.\n")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  # ccache requires a result without time stamps.
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

# pe_reuse_headers(NAME CARRIER) compiles NAME with the precompiled header of CARRIER, if there is one.
function(pe_reuse_headers name carrier)
  if(TARGET ${carrier} AND NOT name STREQUAL carrier)
    target_precompile_headers(${name} REUSE_FROM ${carrier})
  endif()
endfunction()

if(PE_PRECOMPILED_HEADERS)
  pe_add_headers(PERuntimeHeaders RuntimeHeaders.h)
  pe_configure_target(PERuntimeHeaders)
  pe_add_headers(PERuntimeHeadersSmall RuntimeHeaders.h)
  pe_configure_target(PERuntimeHeadersSmall)
  pe_optimize_for_size(PERuntimeHeadersSmall)
endif()

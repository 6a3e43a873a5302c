# Functions that define the libraries and executables of pe with common warnings, sanitizers and
# include directories.
include(GNUInstallDirs)

function(pe_configure_target name)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter
    -Wnon-virtual-dtor -Wno-missing-field-initializers)
  if(PE_WARNINGS_AS_ERRORS)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(PE_SANITIZER STREQUAL "address")
    target_compile_options(${name} PRIVATE -fsanitize=address,undefined
      -fno-sanitize=vptr,function -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# Reduces the size of binaries: removes unused functions and merges identical ones.
function(pe_leave_out_unused name)
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--icf=safe)
endfunction()

# Optimizes for size, for code such as parsing of options whose speed does not matter.
function(pe_optimize_for_size name)
  target_compile_options(${name} PRIVATE -Os)
endfunction()

# pe_add_library(NAME [SHARED|MODULE] [ALL_SMALL] sources... [SMALL sources...] [LINK libs...]) adds a
# library without LLVM. Sources after SMALL, or with ALL_SMALL all of them, are optimized for size.
function(pe_add_library name)
  cmake_parse_arguments(ARG "SHARED;MODULE;ALL_SMALL" "" "SMALL;LINK" ${ARGN})
  set(kind STATIC)
  if(ARG_SHARED)
    set(kind SHARED)
  elseif(ARG_MODULE)
    set(kind MODULE)
  endif()
  add_library(${name} ${kind} ${ARG_UNPARSED_ARGUMENTS})
  pe_configure_library(${name} "${ARG_ALL_SMALL}" ${ARG_LINK})
  if(ARG_SMALL)
    add_library(${name}_small OBJECT ${ARG_SMALL})
    pe_configure_library(${name}_small TRUE ${ARG_LINK})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_small>)
  endif()
endfunction()

function(pe_configure_library name small)
  pe_configure_target(${name})
  pe_leave_out_unused(${name})
  if(small)
    pe_optimize_for_size(${name})
    pe_reuse_headers(${name} PERuntimeHeadersSmall)
  else()
    pe_reuse_headers(${name} PERuntimeHeaders)
  endif()
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>)
  target_link_libraries(${name} PUBLIC ${ARGN})
endfunction()

# The carrier of the precompiled header of targets with MLIR: PEMlirHeaders for the dialects
# themselves, PEDialectHeaders for code that uses them.
set(PE_MLIR_HEADERS PEDialectHeaders)

# pe_add_mlir_library(NAME sources... [DEPENDS tablegen-targets...] [LINK libs...]) adds a library of
# the compiler. It links libMLIR.so and must not link static MLIR* targets in addition.
function(pe_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  pe_configure_mlir_target(${name})
  pe_reuse_headers(${name} ${PE_MLIR_HEADERS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
endfunction()

function(pe_configure_mlir_target name)
  pe_configure_target(${name})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # LLVM is built without exceptions; pe never unwinds through its frames.
  target_compile_options(${name} PRIVATE -fno-exceptions)
endfunction()

# pe_add_executable(NAME [MLIR] sources... [LINK libs...]) adds a program; with MLIR, its sources may
# include MLIR's headers.
function(pe_add_executable name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  pe_leave_out_unused(${name})
  if(ARG_MLIR)
    pe_configure_mlir_target(${name})
    pe_reuse_headers(${name} PEDialectHeaders)
    list(APPEND ARG_LINK MLIR LLVM)
  else()
    pe_configure_target(${name})
    pe_reuse_headers(${name} PERuntimeHeaders)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

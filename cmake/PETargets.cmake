# pe's own target helpers: every library and program of pe goes through these, so that
# warnings, sanitizers and include roots are stated once.
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

# What is shipped is small: functions that nothing calls are left out, equal ones are kept once.
function(pe_leave_out_unused name)
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--icf=safe)
endfunction()

# For what reads options and writes reports: size matters there, speed does not.
function(pe_prefer_size name)
  target_compile_options(${name} PRIVATE -Os)
endfunction()

# pe_add_library(NAME [SHARED|MODULE] sources... [LINK libs...]): a library without LLVM.
function(pe_add_library name)
  cmake_parse_arguments(ARG "SHARED;MODULE" "" "LINK" ${ARGN})
  set(kind STATIC)
  if(ARG_SHARED)
    set(kind SHARED)
  elseif(ARG_MODULE)
    set(kind MODULE)
  endif()
  add_library(${name} ${kind} ${ARG_UNPARSED_ARGUMENTS})
  pe_configure_target(${name})
  pe_leave_out_unused(${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# pe_add_mlir_library(NAME sources... [DEPENDS tablegen-targets...] [LINK libs...]): a library of
# the compiler. Links libMLIR.so only; never a static MLIR* target beside it.
function(pe_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  pe_configure_mlir_target(${name})
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
  if(TARGET PEMlirHeaders AND NOT name STREQUAL "PEMlirHeaders")
    target_precompile_headers(${name} REUSE_FROM PEMlirHeaders)
  endif()
endfunction()

# pe_add_executable(NAME sources... [LINK libs...])
function(pe_add_executable name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  pe_configure_target(${name})
  pe_leave_out_unused(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# The contents of the Python wheel. `make python` and `pip install .` install the component `python`:
#
#   pe_attention/             the Python sources
#   pe_attention/lib          libpe.so, libpe-jit.so, which contains LLVM, and libpe-torch.so
#   pe_attention/bin          pe
#   pe_attention/examples     sources with one encoding each
#
# With PE_STATIC_JIT, this libpe-jit.so is part of the default target; otherwise it is built only as
# `pe-jit-static`. It links Debian's static archives of LLVM and MLIR.
option(PE_STATIC_JIT "Build the compiler library of the Python wheel, which contains LLVM and MLIR" OFF)

# Collects `target` and the static libraries of pe that it depends on.
function(pe_collect_archives target result)
  set(found ${${result}})
  if(NOT TARGET ${target} OR target IN_LIST found OR target STREQUAL "MLIR" OR target STREQUAL "LLVM")
    return()
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  if(imported OR NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  list(APPEND found ${target})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(libraries)
    foreach(library ${libraries})
      pe_collect_archives(${library} found)
    endforeach()
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(pe_add_static_jit)
  set(archives)
  pe_collect_archives(pe_jit_compiler archives)
  set(files)
  foreach(archive ${archives})
    list(APPEND files $<TARGET_FILE:${archive}>)
  endforeach()
  # All archives are in one group, so that their order does not matter.
  file(GLOB upstream ${PE_LLVM_PREFIX}/lib/libMLIR*.a ${PE_LLVM_PREFIX}/lib/libLLVM*.a)
  list(FILTER upstream EXCLUDE REGEX "(Test|CAPI|Lsp|Tblgen|Runner)")
  set(exports ${PROJECT_BINARY_DIR}/pe-jit-static.map)
  file(WRITE ${exports} "{ global: peCreateJit; local: *; };\n")
  add_library(pe-jit-static MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pe_jit_objects>
    ${PROJECT_SOURCE_DIR}/runtime/jit/ZstdAbsent.cpp)
  set_target_properties(pe-jit-static PROPERTIES PREFIX "lib" OUTPUT_NAME "pe-jit"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/lib LINK_DEPENDS "${files};${exports}")
  if(PE_STATIC_JIT)
    set_target_properties(pe-jit-static PROPERTIES EXCLUDE_FROM_ALL FALSE)
  endif()
  add_dependencies(pe-jit-static ${archives})
  target_link_options(pe-jit-static PRIVATE LINKER:--gc-sections LINKER:--strip-all
    LINKER:-z,defs LINKER:--version-script=${exports} LINKER:--start-group ${files} ${upstream} LINKER:--end-group)
  target_link_libraries(pe-jit-static PRIVATE z rt ${CMAKE_DL_LIBS} m)
endfunction()

pe_add_static_jit()

# Debian 12 has newer libraries than the wheel may require. An object file, unlike an archive, replaces
# their functions regardless of the order of libraries.
foreach(binary pe pe-cli pe-jit-static pe-torch)
  target_sources(${binary} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/core/OlderSystems.cpp)
endforeach()

# This component is installed only on request (cmake --install BUILD --component python).
set(package pe_attention)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/pe_attention DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
# Installs the library itself as libpe.so, instead of a symbolic link to its versioned name.
install(PROGRAMS $<TARGET_FILE:pe> DESTINATION ${package}/lib RENAME libpe.so COMPONENT python
  EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:pe-torch> DESTINATION ${package}/lib COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:pe-jit-static> DESTINATION ${package}/lib COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:pe_ptx> $<TARGET_FILE:pe-ptx-command> $<TARGET_FILE:pe-ptx-cuda>
  DESTINATION ${package}/lib COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:pe-cli> DESTINATION ${package}/bin COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/encodings DESTINATION ${package}/examples
  COMPONENT python EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.mlir")
foreach(experiment ${PE_EXPERIMENTS})
  install(FILES ${PROJECT_SOURCE_DIR}/examples/${experiment}/experiment.json
    DESTINATION ${package}/examples/${experiment} COMPONENT python EXCLUDE_FROM_ALL)
endforeach()

# Functions of the test tree: pe_add_unittest for GoogleTest programs, pe_add_test for other tests,
# and pe_add_test_rooms, which finds the CMakeLists.txt of every room. Included by test/CMakeLists.txt.
find_package(GTest REQUIRED CONFIG)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# `ninja pe-tests` builds every test program.
add_custom_target(pe-tests)

# Compiles tests without optimization, which takes more than half of their compile time. The libraries
# under test are optimized.
function(pe_compile_test_code name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

if(PE_PRECOMPILED_HEADERS)
  pe_add_headers(PETestHeaders TestHeaders.h)
  pe_configure_target(PETestHeaders)
  pe_compile_test_code(PETestHeaders)
  target_link_libraries(PETestHeaders PRIVATE GTest::gtest)
endif()

# pe_add_unittest(NAME sources... [MLIR | OPTIMIZED] [LINK libs...] [ARGS args...] [SHARDS n] [TIMEOUT seconds])
# Adds a GoogleTest program build/test/bin/NAME and one ctest of this name, or n that split its cases
# and run in parallel. With MLIR, the sources may include MLIR's headers. Without MLIR and OPTIMIZED
# (for tests that compute much), they are compiled without optimization. The working directory is
# test/tmp in the build directory.
function(pe_add_unittest name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "SHARDS;TIMEOUT" "LINK;ARGS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_MLIR)
    pe_configure_mlir_target(${name})
    pe_reuse_headers(${name} PEDialectHeaders)
    target_link_libraries(${name} PRIVATE MLIR)
  else()
    pe_configure_target(${name})
    if(ARG_OPTIMIZED)
      pe_reuse_headers(${name} PERuntimeHeaders)
    else()
      pe_compile_test_code(${name})
      pe_reuse_headers(${name} PETestHeaders)
    endif()
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../../lib")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/include
    ${PROJECT_SOURCE_DIR}/test)
  target_compile_definitions(${name} PRIVATE
    PE_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PE_TEST_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_dependencies(pe-tests ${name})
  if(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      pe_add_test(${name}.${shard} COMMAND ${name} ${ARG_ARGS} TIMEOUT ${ARG_TIMEOUT}
        ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${shard} LABELS gtest)
    endforeach()
  else()
    pe_add_test(${name} COMMAND ${name} ${ARG_ARGS} TIMEOUT ${ARG_TIMEOUT} LABELS gtest)
  endif()
endfunction()

# pe_add_test(NAME COMMAND program args... [FULL] [ENVIRONMENT A=B...] [LABELS l...] [TIMEOUT seconds])
# Adds a program as a ctest, which passes if it exits with 0. FULL tests are too slow for `make test`
# and run only in `make test-full`.
function(pe_add_test name)
  cmake_parse_arguments(ARG "FULL" "TIMEOUT" "COMMAND;ENVIRONMENT;LABELS" ${ARGN})
  if(ARG_FULL)
    list(APPEND ARG_LABELS full)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  # Tests must not use the cache of the user.
  list(APPEND ARG_ENVIRONMENT XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test/cache
    GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/test-results/${name}.json)
  if(PE_SANITIZER STREQUAL "address")
    # Tests check that huge allocations fail without an abort. LLVM, which is not instrumented, does
    # not free all objects.
    list(APPEND ARG_ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/test/tmp)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# pe_add_python_test(NAME SCRIPT args...) runs SCRIPT, a path relative to the root of the repository,
# with the python3 that configured the build.
function(pe_add_python_test name script)
  pe_add_test(${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/${script} ${ARGN}
    LABELS python)
endfunction()

# Adds every directory below test/ with a CMakeLists.txt that its parent does not add.
function(pe_add_test_rooms)
  file(GLOB_RECURSE lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(SORT lists)
  foreach(list_file ${lists})
    get_filename_component(room ${list_file} DIRECTORY)
    pe_subdirectories(${CMAKE_CURRENT_SOURCE_DIR} present)
    if(NOT room IN_LIST present)
      add_subdirectory(${room})
    endif()
  endforeach()
endfunction()

function(pe_subdirectories directory result)
  get_property(children DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  set(all ${children})
  foreach(child ${children})
    pe_subdirectories(${child} below)
    list(APPEND all ${below})
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# The files of an installation (`cmake --install`, `make install`): the program pe, the libraries with their headers,
# the examples, and the files by which other builds find pe (pkg-config, find_package).
#
#   bin/pe                     the program
#   lib/libpe.so               the runtime, without LLVM
#   lib/libpe-jit.so           the compiler, which needs the shared libraries of LLVM and MLIR 22
#   lib/libpe_train.a          training, for pe/train.h
#   include/pe                 the C and C++ headers
#   share/pe                   encodings and experiments that `pe` finds by name
#   lib/pkgconfig/pe.pc        pkg-config --cflags --libs pe
#   lib/cmake/pe               find_package(pe), with the targets pe::pe and pe::train
#
# All paths are relative to the prefix, so an installation may be moved. Libraries are in lib on every system,
# because pe looks for the compiler library there.
include(CMakePackageConfigHelpers)

set_property(TARGET pe-jit APPEND PROPERTY INSTALL_RPATH ${PE_LLVM_PREFIX}/lib)
set_target_properties(pe_train PROPERTIES EXPORT_NAME train)
target_include_directories(pe INTERFACE $<INSTALL_INTERFACE:include>)

install(TARGETS pe EXPORT peTargets LIBRARY DESTINATION lib)
install(TARGETS pe_train EXPORT peTargets ARCHIVE DESTINATION lib)
install(TARGETS pe-jit pe_ptx pe-ptx-command pe-ptx-cuda LIBRARY DESTINATION lib)
install(TARGETS pe-cli RUNTIME DESTINATION bin)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/pe DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/encodings DESTINATION share/pe FILES_MATCHING PATTERN "*.mlir")
foreach(experiment ${PE_EXPERIMENTS})
  install(FILES ${PROJECT_SOURCE_DIR}/examples/${experiment}/experiment.json DESTINATION share/pe/${experiment})
endforeach()

configure_file(${CMAKE_CURRENT_LIST_DIR}/pe.pc.in ${PROJECT_BINARY_DIR}/pe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pe.pc DESTINATION lib/pkgconfig)

# Before 1.0, a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/peConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/peConfig.cmake ${PROJECT_BINARY_DIR}/peConfigVersion.cmake
  DESTINATION lib/cmake/pe)
install(EXPORT peTargets NAMESPACE pe:: DESTINATION lib/cmake/pe)

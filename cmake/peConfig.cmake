# The CMake package of an installed pe: find_package(pe) defines pe::pe (libpe.so with its headers) and pe::train
# (libpe_train.a, for pe/train.h).
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/peTargets.cmake)

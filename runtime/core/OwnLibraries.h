//===- OwnLibraries.h - Libraries next to this code -------------*- C++ -*-===//
#ifndef PE_RUNTIME_CORE_OWNLIBRARIES_H
#define PE_RUNTIME_CORE_OWNLIBRARIES_H

#include <array>
#include <string>

namespace pe {

/// Returns the paths where a library of pe is expected: in the directory of the library or
/// executable that contains this code, and in ../lib relative to it.
std::array<std::string, 2> ownLibraryPaths(const std::string &name);

/// Returns the first of these paths that exists, or the first one if none does.
std::string ownLibraryPath(const std::string &name);

} // namespace pe

#endif // PE_RUNTIME_CORE_OWNLIBRARIES_H

//===- Bundle.h - Named pieces of one file ----------------------*- C++ -*-===//
//
// The format of the disk cache's entries and of packages: named sections under one checksum.
//
//   "PEBUNDLE"  u32 version  u32 sections  u64 checksum of everything that follows
//   per section: u32 name bytes, u64 content bytes, name, content       (little-endian)
//
// Any damage to a bundle is an error.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_BUNDLE_H
#define PE_RUNTIME_API_BUNDLE_H

#include "pe/Error.h"

#include <map>
#include <string>
#include <string_view>

namespace pe::api {

using Bundle = std::map<std::string, std::string>;

/// True if `bytes` begin like a bundle.
bool isBundle(std::string_view bytes);
std::string writeBundle(const Bundle &bundle);
Expected<Bundle> readBundle(std::string_view bytes);

} // namespace pe::api

#endif // PE_RUNTIME_API_BUNDLE_H

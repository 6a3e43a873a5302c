//===- Bundle.h - Files of named sections -----------------------*- C++ -*-===//
//
// The file format of packages and of entries of the disk cache: named sections with one checksum.
//
//   "PEBUNDLE"  u32 version  u32 sections  u64 checksum of everything that follows
//   per section: u32 name bytes, u64 content bytes, name, content       (little-endian)
//
// Any damage to a bundle is reported as an error.
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

/// Returns true if `bytes` starts with the magic of a bundle.
bool isBundle(std::string_view bytes);
std::string writeBundle(const Bundle &bundle);
Expected<Bundle> readBundle(std::string_view bytes);

} // namespace pe::api

#endif // PE_RUNTIME_API_BUNDLE_H

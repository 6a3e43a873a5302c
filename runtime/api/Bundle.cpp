//===- Bundle.cpp - Files of named sections -------------------------------===//

#include "runtime/api/Bundle.h"

#include "runtime/core/Hash.h"

#include <cstdint>

namespace pe::api {
namespace {

constexpr std::string_view kMagic = "PEBUNDLE";
constexpr uint64_t kVersion = 4;
constexpr size_t kHeaderBytes = 24;

void appendNumber(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

/// Consumes bytes from the front. `good` becomes false if there are too few.
struct Cursor {
  std::string_view rest;
  bool good = true;

  std::string_view take(uint64_t count) {
    good &= count <= rest.size();
    if (!good)
      return {};
    const std::string_view piece = rest.substr(0, count);
    rest.remove_prefix(count);
    return piece;
  }
  uint64_t number(int bytes) {
    uint64_t value = 0;
    const std::string_view raw = take(static_cast<uint64_t>(bytes));
    for (size_t i = raw.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(raw[i]);
    return value;
  }
};

} // namespace

bool isBundle(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string writeBundle(const Bundle &bundle) {
  std::string body;
  for (const auto &[name, content] : bundle) {
    appendNumber(body, name.size(), 4);
    appendNumber(body, content.size(), 8);
    body += name;
    body += content;
  }
  std::string file(kMagic);
  appendNumber(file, kVersion, 4);
  appendNumber(file, bundle.size(), 4);
  appendNumber(file, hash64(body), 8);
  return file + body;
}

Expected<Bundle> readBundle(std::string_view bytes) {
  if (!isBundle(bytes) || bytes.size() < kHeaderBytes)
    return makeError("expected a pe package, found other data");
  Cursor cursor{bytes.substr(kMagic.size())};
  const uint64_t version = cursor.number(4);
  if (version != kVersion)
    return makeError("expected package version ", kVersion, ", found ", version,
                     "; compile it again with this version of pe");
  const uint64_t sections = cursor.number(4);
  if (cursor.number(8) != hash64(cursor.rest))
    return makeError("expected a package with a matching checksum, found a damaged one");
  Bundle bundle;
  for (uint64_t i = 0; i < sections && cursor.good; ++i) {
    const uint64_t nameBytes = cursor.number(4);
    const uint64_t contentBytes = cursor.number(8);
    const std::string name(cursor.take(nameBytes));
    bundle[name] = std::string(cursor.take(contentBytes));
  }
  if (!cursor.good || !cursor.rest.empty() || bundle.size() != sections)
    return makeError("expected ", sections, " sections in the package, found other data");
  return bundle;
}

} // namespace pe::api

//===- Hash.h - Content hashes ----------------------------------*- C++ -*-===//
//
// FNV-1a for short names and checksums against accidental damage; SHA-256 for cache keys and the
// identity of data, where different contents must not collide.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_HASH_H
#define PE_RUNTIME_CORE_HASH_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pe {

/// Returns the 64-bit FNV-1a hash; `state` continues an earlier hash.
constexpr uint64_t hash64(std::string_view bytes, uint64_t state = 0xCBF29CE484222325ull) {
  for (char c : bytes)
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return state;
}

/// SHA-256 (FIPS 180-4), computed incrementally.
class Sha256 {
public:
  void update(std::string_view bytes);
  /// Returns the digest as 64 lower-case hexadecimal digits. Must be called once, at the end.
  std::string finish();

private:
  void compress(const unsigned char *chunk);
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending{};
  size_t pendingBytes = 0;
  uint64_t totalBytes = 0;
};

/// Returns the SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace pe

#endif // PE_RUNTIME_CORE_HASH_H

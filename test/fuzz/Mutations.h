//===- Mutations.h - Damages text and bytes ---------------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_MUTATIONS_H
#define PE_TEST_FUZZ_MUTATIONS_H

#include "runtime/core/Random.h"

#include <string>
#include <vector>

namespace pe::fuzz {

/// Changes, removes, repeats or inserts a few bytes, or truncates the end.
std::string mutateBytes(std::string bytes, Random &random);

/// Removes, repeats, swaps or replaces a few words, numbers and symbols. Replacements are tokens of
/// `others` or numbers at the limits of types.
std::string mutateTokens(const std::string &text, const std::vector<std::string> &others,
                         Random &random);

/// Replaces a few values of a JSON text by other values of the text or extreme values, and removes,
/// repeats or renames members. Text that is not JSON is mutated as bytes.
std::string mutateJson(const std::string &text, Random &random);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_MUTATIONS_H

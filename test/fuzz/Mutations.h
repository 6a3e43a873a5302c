//===- Mutations.h - Damaged texts and bytes --------------------*- C++ -*-===//

#ifndef PE_TEST_FUZZ_MUTATIONS_H
#define PE_TEST_FUZZ_MUTATIONS_H

#include "runtime/core/Random.h"

#include <string>
#include <vector>

namespace pe::fuzz {

/// A few changed, lost, repeated or new bytes, or the end cut off.
std::string mutateBytes(std::string bytes, Random &random);

/// A few words, numbers and symbols lost, repeated, exchanged, or replaced by those of `others` and
/// by numbers at the limits of types.
std::string mutateTokens(const std::string &text, const std::vector<std::string> &others,
                         Random &random);

/// A few values of a JSON text replaced by others of the text and by extreme ones, and members
/// lost, repeated or renamed. Text that is not JSON is changed as bytes.
std::string mutateJson(const std::string &text, Random &random);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_MUTATIONS_H

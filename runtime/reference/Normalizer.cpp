//===- Normalizer.cpp - The list of normalizers ---------------------------===//
#include "runtime/reference/Normalizer.h"

#include <algorithm>

/// The keywords of all normalizers. Each is also the name of the function that returns the
/// instance.
#define PE_FOR_EACH_NORMALIZER(apply) apply(softmax) apply(stick_breaking)

namespace pe::reference {

#define PE_DECLARE(name) const Normalizer &name();
namespace normalizers {
PE_FOR_EACH_NORMALIZER(PE_DECLARE)
} // namespace normalizers
#undef PE_DECLARE

static const std::vector<const Normalizer *> &all() {
#define PE_INSTANCE(name) &normalizers::name(),
  static const std::vector<const Normalizer *> list = {PE_FOR_EACH_NORMALIZER(PE_INSTANCE)};
#undef PE_INSTANCE
  return list;
}

const Normalizer *Normalizer::find(std::string_view keyword) {
  auto found = std::find_if(all().begin(), all().end(), [&](const Normalizer *normalizer) {
    return normalizer->keyword() == keyword;
  });
  return found == all().end() ? nullptr : *found;
}

std::string Normalizer::keywords(bool onlyMergers) {
  std::vector<std::string> quoted;
  for (const Normalizer *normalizer : all())
    if (!onlyMergers || normalizer->merger())
      quoted.push_back("'" + std::string(normalizer->keyword()) + "'");
  std::string text;
  for (size_t n = 0; n < quoted.size(); ++n)
    text += (n == 0 ? "" : n + 1 < quoted.size() ? ", " : " or ") + quoted[n];
  return text;
}

} // namespace pe::reference

//===- RowNormalizer.cpp - Lookup of normalizers --------------------------===//
#include "runtime/reference/RowNormalizer.h"

#include <algorithm>

namespace pe::reference {

namespace normalizers {
#define PE_NORMALIZER(keyword) const Normalizer &keyword();
#include "runtime/reference/Normalizers.def"
#undef PE_NORMALIZER
} // namespace normalizers

static const std::vector<const Normalizer *> &all() {
  static const std::vector<const Normalizer *> list = {
#define PE_NORMALIZER(keyword) &normalizers::keyword(),
#include "runtime/reference/Normalizers.def"
#undef PE_NORMALIZER
  };
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

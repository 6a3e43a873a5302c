//===- NameList.h - Names of a table in messages --------------------*- C++ -*-===//

#ifndef PE_RUNTIME_PLAN_NAMELIST_H
#define PE_RUNTIME_PLAN_NAMELIST_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace pe::plan {

/// Returns "a, b and c", with `word` before the last name.
inline std::string listNames(std::span<const char *const> names, std::string_view word) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i)
      list += i + 1 < names.size() ? ", " : " " + std::string(word) + " ";
    list += names[i];
  }
  return list;
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_NAMELIST_H

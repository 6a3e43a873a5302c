//===- Product.h - Cores and clocks of products -----------------*- C++ -*-===//
//
// Predictions of times need them. Schedules must not depend on them (Machine.h).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_PRODUCT_H
#define PE_RUNTIME_PLAN_PRODUCT_H

#include <string_view>

namespace pe::plan {

struct Product {
  std::string_view machine; // a name of Machine.h
  std::string_view name;
  int cores; // or multiprocessors
  double gigahertz;
};

/// Boost clocks, from the vendor's data sheets.
inline constexpr Product kProducts[] = {
    {"sm_80", "A100 SXM", 108, 1.41},
    {"sm_86", "RTX 3090", 82, 1.70},
    {"sm_89", "RTX 4090", 128, 2.52},
    {"sm_90", "H100 SXM", 132, 1.755},
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_PRODUCT_H

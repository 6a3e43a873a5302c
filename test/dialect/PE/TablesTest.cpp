//===- TablesTest.cpp - Enums of the dialect against the tables of names --===//
#include "dialect/PE/PE.h"
#include "runtime/plan/Activations.h"
#include "runtime/plan/NameList.h"
#include "runtime/reference/RopeKinds.h"

#include <gtest/gtest.h>

namespace pe::test {
namespace {

TEST(Tables, ActivationsHaveTheNamesOfTheTable) {
  for (auto [number, name] : llvm::enumerate(plan::kActivationNames))
    EXPECT_EQ(mlir::pe::stringifyActivation(static_cast<mlir::pe::Activation>(number)), name);
}

TEST(Tables, RopeScalingsHaveTheNamesOfTheTable) {
  for (auto [number, row] : llvm::enumerate(reference::kRopeKinds))
    EXPECT_EQ(mlir::pe::stringifyRopeScalingKind(static_cast<mlir::pe::RopeScalingKind>(number)),
              row.name);
}

TEST(Tables, NamesAreListed) {
  constexpr const char *kNames[] = {"a", "b", "c"};
  EXPECT_EQ(plan::listNames(kNames, "or"), "a, b or c");
  EXPECT_EQ(plan::listNames(std::span(kNames).first(1), "or"), "a");
}

} // namespace
} // namespace pe::test

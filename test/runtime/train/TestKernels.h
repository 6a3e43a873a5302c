//===- TestKernels.h - The compiled kernels, for tests ----------*- C++ -*-===//

#ifndef PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H
#define PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H

#include "runtime/train/kernels/Kernels.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace pe::test {

inline train::Kernels compiledKernels() {
  auto kernels = train::bindKernels(
      [](const std::string &symbol) { return dlsym(RTLD_DEFAULT, symbol.c_str()); });
  EXPECT_TRUE(kernels) << kernels.error().getMessage();
  return kernels ? *kernels : train::Kernels{};
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H

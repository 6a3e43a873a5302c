//===- TestKernels.h - The compiled kernels, for tests ----------*- C++ -*-===//

#ifndef PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H
#define PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H

#include "runtime/train/kernels/Kernels.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace pe::test {

inline void *findKernel(const std::string &symbol) { return dlsym(RTLD_DEFAULT, symbol.c_str()); }

inline train::ActivationKernels compiledActivation(const std::string &name) {
  auto activation = train::bindActivation(findKernel, name);
  EXPECT_TRUE(activation) << activation.error().getMessage();
  return activation ? *activation : train::ActivationKernels{};
}

inline train::Kernels compiledKernels(const std::string &activation = "relu2") {
  auto kernels = train::bindKernels(findKernel);
  EXPECT_TRUE(kernels) << kernels.error().getMessage();
  if (!kernels)
    return {};
  kernels->activation = compiledActivation(activation);
  return *kernels;
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_TESTKERNELS_H

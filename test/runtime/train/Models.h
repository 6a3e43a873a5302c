//===- Models.h - Small models and batches for tests ------------*- C++ -*-===//
//
// Decoders on naive attention with random weights, random batches, and three ways to run work
// items, which must all give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_TRAIN_MODELS_H
#define PE_TEST_RUNTIME_TRAIN_MODELS_H

#include "NaiveAttention.h"
#include "TestKernels.h"
#include "runtime/core/Random.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/model/Decoder.h"

#include <gtest/gtest.h>
#include <thread>

namespace pe::test {

struct InOrder : ParallelFor {
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
  }
};

struct Backwards : ParallelFor {
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = items; item-- > 0;)
      body(context, item);
  }
};

struct OnThreads : ParallelFor {
  int threads() const override { return 3; }
  void run(int64_t items, Body body, void *context) override {
    std::vector<std::thread> list;
    for (int64_t t = 0; t < threads(); ++t)
      list.emplace_back([&, t] {
        for (int64_t item = t; item < items; item += threads())
          body(context, item);
      });
    for (std::thread &thread : list)
      thread.join();
  }
};

inline InOrder inOrder;
inline Backwards backwards;
inline OnThreads onThreads;

inline std::unique_ptr<train::Decoder> makeModel(const train::DecoderConfig &config,
                                                 bool gated = false,
                                                 const train::EmbeddingFactory &embedding = {},
                                                 const std::string &activation = "relu2") {
  EXPECT_TRUE(blas::load());
  auto model = train::Decoder::create(
      config, compiledKernels(activation),
      [&] {
        return Expected<std::unique_ptr<train::AttentionFunction>>(
            std::make_unique<NaiveAttention>(config.heads, gated));
      },
      embedding);
  EXPECT_TRUE(model) << model.error().getMessage();
  Random random(5, "weights");
  for (const train::Parameter &parameter : (*model)->layout().all()) {
    bool slopes = parameter.name.ends_with(".slopes");
    for (int64_t i = 0; i < parameter.count; ++i)
      (*model)->values().at(parameter)[i] =
          static_cast<float>(slopes ? random.uniform(0.02, 0.4) : 0.2 * random.normal());
  }
  return std::move(*model);
}

inline train::Batch makeBatch(int64_t sequences, int64_t length, int64_t vocabulary,
                              uint64_t seed = 6) {
  train::Batch batch;
  batch.resize(sequences, length);
  Random random(seed, "tokens");
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    batch.inputs[i] = static_cast<int32_t>(random.below(vocabulary));
    batch.targets[i] = static_cast<int32_t>(random.below(vocabulary));
  }
  return batch;
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_MODELS_H

//===- Trainers.h - Small trainers and their state --------------*- C++ -*-===//

#ifndef PE_TEST_RUNTIME_TRAIN_TRAINERS_H
#define PE_TEST_RUNTIME_TRAIN_TRAINERS_H

#include "Models.h"
#include "runtime/train/trainer/Trainer.h"

#include <map>

namespace pe::test {

inline const train::DecoderConfig kSmall{
    .layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 2, .vocabulary = 16};

inline std::unique_ptr<train::Trainer> makeTrainer(const train::OptimizerConfig &config = {},
                                                   ParallelFor &parallel = inOrder) {
  return std::make_unique<train::Trainer>(makeModel(kSmall), compiledKernels(), config, parallel);
}

inline Expected<train::StepReport> step(train::Trainer &trainer, const train::Batch &batch,
                                        double rate) {
  return trainer.step({&batch, 1}, std::vector<double>(trainer.optimizers().all().size(), rate));
}

inline void run(train::Trainer &trainer, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    auto report = step(trainer, makeBatch(3, 12, 16, 100 + trainer.steps()), 3e-3);
    ASSERT_TRUE(report) << report.error().getMessage();
    ASSERT_FALSE(report->skipped);
  }
}

inline std::vector<float> contents(const train::ParameterBlock &block) {
  return {block.data(), block.data() + block.size()};
}

/// Returns the block with this name of every parameter that has one.
inline std::map<std::string, std::vector<float>> blocks(train::Trainer &trainer,
                                                        std::string_view name) {
  std::map<std::string, std::vector<float>> result;
  const train::ParameterLayout &layout = trainer.model().layout();
  for (int64_t index = 0; index < layout.size(); ++index)
    if (const float *block = trainer.optimizers().find(name, index))
      result[layout[index].name].assign(block, block + layout[index].extent);
  return result;
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_TRAINERS_H

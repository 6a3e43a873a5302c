//===- WarmStart.cpp - Begin a run with saved weights ---------------------===//

#include "runtime/train/trainer/WarmStart.h"
#include "runtime/train/trainer/CheckpointFolder.h"
#include "runtime/train/trainer/RestoredState.h"

#include <filesystem>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

/// The files of a warm start. Only a checkpoint directory has an optimizer file.
struct WarmStart {
  std::string modelPath, optimizerPath;
  Safetensors model, optimizer;
};

Expected<WarmStart> readWarmStart(const std::string &from, bool keepsOptimizer) {
  std::error_code failure;
  WarmStart start{from, "", {}, {}};
  const bool isFolder = fs::is_directory(from, failure);
  if (isFolder) {
    if (!hasCheckpoint(from))
      return makeError("expected a checkpoint of pe train in '", from, "', found none");
    auto name = latestName(from);
    if (!name)
      return name.takeError();
    start.modelPath = from + "/" + *name + "/" + kModelFile;
    start.optimizerPath = from + "/" + *name + "/" + kOptimizerFile;
  } else if (keepsOptimizer) {
    return makeError("expected a checkpoint directory with --from-optimizer=keep, found the file '",
                     from, "'");
  }
  // A file may come from another program, or from pe reinit, which keeps the metadata unchanged.
  auto model = isFolder ? readUndamaged(start.modelPath) : readSafetensors(from);
  if (!model)
    return model.takeError();
  start.model = *std::move(model);
  if (!keepsOptimizer)
    return start;
  auto optimizer = readUndamaged(start.optimizerPath);
  if (!optimizer)
    return optimizer.takeError();
  start.optimizer = *std::move(optimizer);
  return start;
}

} // namespace

Expected<std::map<std::string, Tensor>> readWeights(const std::string &from, Trainer &trainer) {
  auto start = readWarmStart(from, false);
  if (!start)
    return start.takeError();
  Restored restored;
  if (Status status = readParts(start->model, start->modelPath, weightsOf(trainer), 0, restored);
      !status)
    return status.takeError();
  std::map<std::string, Tensor> weights;
  for (auto &[part, tensor] : restored)
    weights[part.name] = tensor.clone();
  return weights;
}

Expected<std::string> digestOfWarmStart(const std::string &from, bool keepsOptimizer) {
  auto start = readWarmStart(from, keepsOptimizer);
  if (!start)
    return start.takeError();
  return digestOf(start->model) + (keepsOptimizer ? digestOf(start->optimizer) : "");
}

Expected<Metadata> loadWarmStart(const std::string &from, bool keepsOptimizer, Trainer &trainer) {
  auto start = readWarmStart(from, keepsOptimizer);
  if (!start)
    return start.takeError();
  Restored restored;
  if (Status status = readParts(start->model, start->modelPath, weightsOf(trainer), 0, restored);
      !status)
    return status.takeError();
  for (const NamedTensor &entry : start->model.tensors)
    if (trainer.model().layout().find(entry.name) < 0)
      return makeError("file '", start->modelPath, "': expected only the model's tensors, found '",
                       entry.name, "'");
  if (keepsOptimizer) {
    const Tensor *steps = start->optimizer.find("steps");
    const int64_t before = stepsBefore(start->optimizer) +
                           (steps && steps->dtype() == DType::I64 ? *steps->data<int64_t>() : 0);
    if (Status status = readParts(start->optimizer, start->optimizerPath,
                                  trainer.optimizers().state(), before, restored);
        !status)
      return status.takeError();
    trainer.setStepsBefore(before);
  }
  for (auto &[part, tensor] : restored)
    part.view.copyFrom(tensor);
  return start->model.metadata;
}

} // namespace pe::train

//===- Checkpoint.cpp - Saving a run and going on with it -----------------===//
//
// The weights and the optimizer's state as safetensors, and the file that names the latest.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Checkpoint.h"
#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

std::string latestFile(const std::string &directory) { return directory + "/latest"; }

/// The folder's name in DIR/latest, "step-N" and nothing else: it becomes part of paths.
Expected<std::string> latestName(const std::string &directory) {
  auto name = readFile(latestFile(directory));
  if (!name)
    return name;
  constexpr std::string_view prefix = "step-";
  if (!name->starts_with(prefix) || name->size() == prefix.size() ||
      name->find_first_not_of("0123456789", prefix.size()) != std::string::npos)
    return makeError("file '", latestFile(directory), "': expected step-N, found '", *name, "'");
  return name;
}

Tensor copyOf(const ParameterBlock &block, const Parameter &parameter) {
  Tensor tensor = Tensor::empty(DType::F32, parameter.shape);
  std::copy_n(block.at(parameter), parameter.count, tensor.data<float>());
  return tensor;
}

Safetensors modelFile(Trainer &trainer, const Metadata &metadata) {
  Safetensors file;
  file.metadata = metadata;
  for (const Parameter &parameter : trainer.model().layout().all())
    file.tensors.push_back({parameter.name, copyOf(trainer.model().values(), parameter)});
  return file;
}

Safetensors optimizerFile(Trainer &trainer) {
  Safetensors file;
  for (const Parameter &parameter : trainer.model().layout().all()) {
    file.tensors.push_back(
        {"m." + parameter.name, copyOf(trainer.optimizer().firstMoments(), parameter)});
    file.tensors.push_back(
        {"v." + parameter.name, copyOf(trainer.optimizer().secondMoments(), parameter)});
  }
  const std::vector<int64_t> &updates = trainer.optimizer().updateCounts();
  file.tensors.push_back({"updates", Tensor::of(updates, {static_cast<int64_t>(updates.size())})});
  file.tensors.push_back({"steps", Tensor::scalar(trainer.steps())});
  file.tensors.push_back({"skipped", Tensor::scalar(trainer.skipped())});
  return file;
}

/// The tensor `name` of `file`, which must have this shape and dtype.
Expected<Tensor> take(const Safetensors &file, const std::string &path, const std::string &name,
                      const Shape &shape, DType dtype) {
  const Tensor *tensor = file.find(name);
  if (!tensor)
    return makeError("file '", path, "': expected a tensor '", name, "', found none");
  if (tensor->dtype() != dtype || tensor->shape() != shape)
    return makeError("file '", path, "': expected tensor '", name, "' to be ", nameOf(dtype), " ",
                     toString(shape), ", found ", nameOf(tensor->dtype()), " ",
                     toString(tensor->shape()));
  return *tensor;
}

struct State {
  std::vector<Tensor> values, first, second;
  Tensor updates, steps, skipped;
};

Expected<State> readState(const std::string &folder, const ParameterLayout &layout,
                          const Metadata &metadata) {
  std::string modelPath = folder + "/model.safetensors";
  std::string optimizerPath = folder + "/optimizer.safetensors";
  auto model = readSafetensors(modelPath);
  if (!model)
    return model.takeError();
  auto optimizer = readSafetensors(optimizerPath);
  if (!optimizer)
    return optimizer.takeError();
  for (const auto &[key, value] : metadata) {
    auto found = model->metadata.find(key);
    if (found == model->metadata.end() || found->second != value)
      return makeError("file '", modelPath, "': expected ", key, " '", value, "' as given, found ",
                       found == model->metadata.end() ? "none" : "'" + found->second + "'",
                       "; resume with the flags of the first run");
  }
  State state;
  auto collect = [&](const Safetensors &file, const std::string &path, const std::string &name,
                     const Shape &shape, DType dtype, Tensor &tensor) -> Status {
    auto taken = take(file, path, name, shape, dtype);
    if (!taken)
      return taken.takeError();
    tensor = *taken;
    return Status::success();
  };
  for (const Parameter &parameter : layout.all()) {
    Tensor value, m, v;
    for (Status status :
         {collect(*model, modelPath, parameter.name, parameter.shape, DType::F32, value),
          collect(*optimizer, optimizerPath, "m." + parameter.name, parameter.shape, DType::F32, m),
          collect(*optimizer, optimizerPath, "v." + parameter.name, parameter.shape, DType::F32,
                  v)})
      if (!status)
        return status.takeError();
    state.values.push_back(value);
    state.first.push_back(m);
    state.second.push_back(v);
  }
  for (Status status :
       {collect(*optimizer, optimizerPath, "updates", {layout.size()}, DType::I64, state.updates),
        collect(*optimizer, optimizerPath, "steps", {}, DType::I64, state.steps),
        collect(*optimizer, optimizerPath, "skipped", {}, DType::I64, state.skipped)})
    if (!status)
      return status.takeError();
  return state;
}

} // namespace

Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata) {
  std::string name = "step-" + std::to_string(trainer.steps());
  fs::path folder = fs::path(directory) / name;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    return makeError("cannot make the checkpoint folder '", folder.string(),
                     "': ", failure.message());
  if (Status status =
          writeSafetensors((folder / "model.safetensors").string(), modelFile(trainer, metadata));
      !status)
    return status;
  if (Status status =
          writeSafetensors((folder / "optimizer.safetensors").string(), optimizerFile(trainer));
      !status)
    return status;
  Expected<std::string> previous = hasCheckpoint(directory) ? latestName(directory) : name;
  if (Status status = writeFileAtomically(latestFile(directory), name, Durability::Disk); !status)
    return status;
  if (previous && *previous != name)
    fs::remove_all(fs::path(directory) / *previous, failure);
  return Status::success();
}

bool hasCheckpoint(const std::string &directory) {
  std::error_code failure;
  return fs::is_regular_file(latestFile(directory), failure);
}

Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata) {
  auto name = latestName(directory);
  if (!name)
    return name.takeError();
  const ParameterLayout &layout = trainer.model().layout();
  auto state = readState(directory + "/" + *name, layout, metadata);
  if (!state)
    return state.takeError();
  AdamW &optimizer = trainer.optimizer();
  for (int64_t i = 0; i < layout.size(); ++i) {
    auto restore = [&](const Tensor &tensor, ParameterBlock &block) {
      std::copy_n(tensor.data<float>(), layout[i].count, block.at(layout[i]));
    };
    restore(state->values[i], trainer.model().values());
    restore(state->first[i], optimizer.firstMoments());
    restore(state->second[i], optimizer.secondMoments());
    optimizer.updateCounts()[i] = state->updates.data<int64_t>()[i];
  }
  trainer.restore(*state->steps.data<int64_t>(), *state->skipped.data<int64_t>());
  return Status::success();
}

} // namespace pe::train

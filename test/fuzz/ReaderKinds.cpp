//===- ReaderKinds.cpp - Damages data files and reads them ----------------===//
//
// These readers do not need the compiler, so the address sanitizer covers all their code.
//
//===----------------------------------------------------------------------===//

#include "fuzz/FileKinds.h"
#include "fuzz/Mutations.h"
#include "pe/pe.h"
#include "runtime/api/Bundle.h"
#include "runtime/api/Inputs.h"
#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/SignatureJson.h"
#include "runtime/reference/Reference.h"
#include "runtime/train/report/RunFile.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/trainer/Checkpoint.h"

#include <cstring>
#include <set>

namespace pe::fuzz {
namespace {

namespace fs = std::filesystem;

/// Returns the sections of one of the valid packages.
api::Bundle goodBundle(const Corpus &corpus, Random &random) {
  auto bundle = api::readBundle(corpus.packages[random.below(corpus.packages.size())]);
  return bundle ? *bundle : api::Bundle{};
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

/// Damages the header, which is JSON after its eight-byte length, or any bytes.
std::string damageSafetensors(const std::string &good, Random &random) {
  uint64_t length = 0;
  std::memcpy(&length, good.data(), sizeof(length));
  if (length > good.size() - 8 || random.below(3) == 0)
    return mutateBytes(good, random);
  std::string header = mutateJson(good.substr(8, length), random);
  uint64_t stated = header.size() + (random.below(6) ? 0 : random.below(5) - 2);
  std::string bytes(reinterpret_cast<const char *>(&stated), sizeof(stated));
  return bytes + header + good.substr(8 + length);
}

std::string goodSafetensors() {
  Safetensors content;
  content.metadata["format"] = "pe";
  for (DType dtype : {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I64})
    content.tensors.push_back({"t" + std::to_string(int(dtype)), Tensor::zeros(dtype, {2, 3, 4})});
  content.tensors.push_back({"scalar", Tensor::scalar(int64_t(5))});
  std::string path = (fs::temp_directory_path() / ("pe-fuzz-" + std::to_string(getpid()))).string();
  Status status = writeSafetensors(path, content);
  auto bytes = readFile(path);
  fs::remove(path);
  return status && bytes ? *bytes : std::string(16, '\0');
}

std::string makeSafetensors(const Corpus &, uint64_t seed) {
  static const std::string good = goodSafetensors();
  Random random(seed, "safetensors");
  return damageSafetensors(good, random);
}

std::string readTensors(const Corpus &, const std::string &bytes, const fs::path &,
                        const Progress &) {
  return judgeMessage(parseSafetensors(bytes, "damaged.safetensors"));
}

//===----------------------------------------------------------------------===//
// Sections of packages
//===----------------------------------------------------------------------===//

std::string sectionOf(const Corpus &corpus, Random &random, const std::string &name) {
  for (const auto &[section, content] : goodBundle(corpus, random))
    if (section == name || section.ends_with("/" + name))
      return content;
  return "{}";
}

std::string makePlan(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "plan");
  return mutateJson(sectionOf(corpus, random, "plan"), random);
}

std::string readPlan(const Corpus &, const std::string &bytes, const fs::path &, const Progress &) {
  return judgeMessage(plan::parsePlan(bytes));
}

std::string makeSignature(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "entry");
  return mutateJson(sectionOf(corpus, random, "entry"), random);
}

std::string readSignature(const Corpus &, const std::string &bytes, const fs::path &,
                          const Progress &) {
  return judgeMessage(plan::parseEntryInfo(bytes));
}

/// Returns a damaged reference program, to be read with the signature of the valid one.
std::string makeReferenceProgram(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "program");
  return mutateJson(sectionOf(corpus, random, "program"), random);
}

std::string readReferenceProgram(const Corpus &, const std::string &bytes, const fs::path &,
                                 const Progress &progress) {
  auto program = reference::parseProgram(bytes);
  if (!program)
    return judgeMessage(program);
  TensorMap inputs;
  for (const reference::Argument &argument : program->arguments) {
    size_t rank = 0;
    for (char c : program->typeOf(argument.id))
      rank += c == '?';
    inputs[argument.name] =
        Tensor::zeros(DType::F32, rank == 4 ? Shape{1, 2, 3, 16} : Shape(rank, 2));
  }
  progress("evaluate");
  return judgeMessage(reference::evaluate(*program, inputs, {}, /*grad=*/false));
}

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

/// Damages bytes, or changes a section and updates the checksum. Compiled code is trusted to match
/// its plan, so it is not changed.
std::string makePackage(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "package");
  if (random.below(4) == 0)
    return mutateBytes(corpus.packages[random.below(corpus.packages.size())], random);
  api::Bundle bundle = goodBundle(corpus, random);
  for (uint64_t count = 1 + random.below(2); count > 0; --count) {
    auto section = bundle.begin();
    std::advance(section, random.below(bundle.size()));
    if (section->first.ends_with("object"))
      continue;
    if (random.below(12) == 0)
      bundle.erase(section);
    else
      section->second = mutateJson(section->second, random);
  }
  return api::writeBundle(bundle);
}

std::string readPackage(const Corpus &, const std::string &bytes, const fs::path &scratch,
                        const Progress &progress) {
  std::string path = (scratch / "damaged.pepkg").string();
  if (Status status = writeFileAtomically(path, bytes); !status)
    return status.error().getMessage();
  progress("load");
  auto program = Program::load(path);
  if (!program)
    return judgeMessage(program);
  for (const char *target : {"cpu", "gpu-emulator"}) {
    progress(std::string("load ") + target);
    auto function =
        program->compile({.target = target, .headDim = 16, .valueDim = 16, .grad = true});
    if (!function) {
      if (std::string problem = judgeMessage(function); !problem.empty())
        return problem;
      continue;
    }
    progress(std::string("run ") + target);
    auto inputs = function->randomInputs(1, {.batch = 1, .heads = 2, .queries = 5, .keys = 7});
    if (!inputs)
      return judgeMessage(inputs);
    auto call = function->forward(*inputs);
    if (std::string problem = judgeMessage(call); !problem.empty())
      return problem;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Training: checkpoints, logs, configurations
//===----------------------------------------------------------------------===//

struct InOrder : ParallelFor {
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
  }
};

/// An attention with parameters of an encoding; computes nothing.
class NoAttention : public train::AttentionFunction {
public:
  const std::vector<train::EncodingParameter> &parameters() const override { return list; }
  Status forward(const train::AttentionInputs &, const train::HeadRows<float> &) override {
    return Status::success();
  }
  Status backward(const train::AttentionInputs &, const train::HeadRows<const float> &,
                  const train::AttentionGradients &) override {
    return Status::success();
  }

private:
  std::vector<train::EncodingParameter> list = {{"slopes", {2}, "0.25", false, 0.01f, {}}};
};

std::unique_ptr<train::Trainer> smallTrainer() {
  static InOrder inOrder;
  train::DecoderConfig config{.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .vocabulary = 16};
  auto model = train::Decoder::create(config, train::Kernels{}, [] {
    return Expected<std::unique_ptr<train::AttentionFunction>>(std::make_unique<NoAttention>());
  });
  if (!model)
    return nullptr;
  return std::make_unique<train::Trainer>(std::move(*model), train::Kernels{},
                                          train::OptimizerConfig{}, inOrder);
}

/// Returns a damaged file of a checkpoint; its first byte encodes which file.
std::string makeCheckpoint(const Corpus &, uint64_t seed) {
  Random random(seed, "checkpoint");
  fs::path folder = fs::temp_directory_path() / ("pe-fuzz-good-" + std::to_string(getpid()));
  std::string bytes = "l";
  auto trainer = smallTrainer();
  if (trainer && train::saveCheckpoint(folder.string(), *trainer, {{"config", "{}"}})) {
    const char *const names[] = {"latest", "step-0/model.safetensors",
                                 "step-0/optimizer.safetensors"};
    const char *name = names[random.below(3)];
    auto good = readFile((folder / name).string());
    bytes = name[name[0] == 's' ? 7 : 0];
    if (good)
      bytes += name[0] == 's' ? damageSafetensors(*good, random) : mutateBytes(*good, random);
  }
  fs::remove_all(folder);
  return bytes;
}

std::set<std::string> filesBelow(const fs::path &folder) {
  std::set<std::string> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    files.insert(entry.path().string());
  return files;
}

std::string readCheckpoint(const Corpus &, const std::string &bytes, const fs::path &scratch,
                           const Progress &progress) {
  auto trainer = smallTrainer();
  if (!trainer)
    return "cannot make a small model";
  if (Status status = train::saveCheckpoint(scratch.string(), *trainer, {{"config", "{}"}});
      !status)
    return status.error().getMessage();
  fs::path damaged = scratch / (bytes[0] == 'l'   ? "latest"
                                : bytes[0] == 'm' ? "step-0/model.safetensors"
                                                  : "step-0/optimizer.safetensors");
  if (Status status = writeFileAtomically(damaged.string(), bytes.substr(1)); !status)
    return status.error().getMessage();
  std::set<std::string> before = filesBelow(scratch);
  progress("load");
  Status status = train::loadCheckpoint(scratch.string(), *trainer, {{"config", "{}"}});
  if (filesBelow(scratch) != before)
    return "loading a checkpoint changed files of its directory";
  return judgeMessage(status);
}

std::string makeLog(const Corpus &, uint64_t seed) {
  Random random(seed, "log");
  std::string good;
  for (int step = 0; step < 5; ++step)
    good +=
        R"({"event":"step","step":)" + std::to_string(step) + R"(,"loss":2.5,"lr":0.001})" + "\n";
  return mutateBytes(good, random);
}

/// Continues a log, which must keep every complete line.
std::string readLog(const Corpus &, const std::string &bytes, const fs::path &scratch,
                    const Progress &) {
  std::string path = (scratch / "log.jsonl").string();
  if (Status status = writeFileAtomically(path, bytes); !status)
    return status.error().getMessage();
  auto log = train::LogWriter::open(path, /*resume=*/true);
  if (!log)
    return judgeMessage(log);
  log->reset();
  auto after = readFile(path);
  if (!after)
    return after.error().getMessage();
  size_t whole = bytes.rfind('\n') == std::string::npos ? 0 : bytes.rfind('\n') + 1;
  return after->starts_with(bytes.substr(0, whole)) ? "" : "continuing a log lost lines";
}

/// Returns a damaged input of `pe plot`: a log, results of the demo or a table of bench.
std::string makeRun(const Corpus &, uint64_t seed) {
  Random random(seed, "run");
  static const char *const good[] = {
      R"({"event":"start","step":0}
{"event":"step","step":0,"bits_per_char":6.5}
{"event":"step","step":1,"bits_per_char":null}
{"event":"evaluation","step":2,"bits_per_char":{"256":2.5,"512":2.25}}
)",
      R"({"corpus": {"bytes": 3}, "seconds": 1.5, "encodings": {"t5": {"encoding_params": 256,
    "model_params": 1000, "bits_per_char": {"256": 2.5, "2048": 3.0}}}})",
      R"({"cpu": "C", "threads": 2, "copy_bytes_per_second": 1e10, "rows": [{"encoding": "t5",
    "n": 512, "forward_seconds": 0.5, "forward_flops": 1e9, "forward_bytes": 1e6,
    "forward_share_of_peak": 0.7, "backward_seconds": 1.5, "backward_flops": 1e9}]})"};
  const std::string text = good[random.below(3)];
  return random.below(2) ? mutateJson(text, random) : mutateBytes(text, random);
}

std::string readRunFile(const Corpus &, const std::string &bytes, const fs::path &,
                        const Progress &) {
  return judgeMessage(train::parseRunFile(bytes, "run.json"));
}

std::string makeConfig(const Corpus &, uint64_t seed) {
  Random random(seed, "config");
  return mutateJson(R"({"layers": 2, "dim": 64, "heads": 4, "seq": 256, "batch": 8, "steps": 100,
    "lr": 0.003, "schedule": "cosine", "warmup": 10, "clip": 1.0, "seed": 1, "objective": "causal",
    "optimizer": "adamw", "eval-lengths": "256,512", "encoding": "none", "activation": "relu2",
    "threads": 2, "reinit-iters": 0, "log": "log.jsonl", "checkpoint": "runs"})",
                    random);
}

std::string readConfig(const Corpus &, const std::string &bytes, const fs::path &scratch,
                       const Progress &) {
  std::string path = (scratch / "config.json").string();
  if (Status status = writeFileAtomically(path, bytes); !status)
    return status.error().getMessage();
  if (std::string problem = judgeMessage(train::readTrainOptions({{"config", path}}));
      !problem.empty())
    return problem;
  return judgeMessage(train::readTrainOptions({{"phases", path}}));
}

} // namespace

std::vector<FileKind> readerKinds() {
  return {{"safetensors", makeSafetensors, readTensors},
          {"plan", makePlan, readPlan},
          {"signature", makeSignature, readSignature},
          {"program", makeReferenceProgram, readReferenceProgram},
          {"package", makePackage, readPackage},
          {"checkpoint", makeCheckpoint, readCheckpoint},
          {"log", makeLog, readLog},
          {"run", makeRun, readRunFile},
          {"config", makeConfig, readConfig}};
}

} // namespace pe::fuzz

//===- Bench.cpp - pe bench ---===//
#include "runtime/core/File.h"
#include "runtime/core/Random.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/reference/Compare.h"
#include "runtime/train/blas/Blas.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"
#include "tools/pe/Timing.h"
#include "tools/pe/Unfused.h"
#include "tools/pe/ViewTiming.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>

namespace pe::cli {
namespace {

struct BenchOptions {
  std::string encodings = findExamples(), json;
  std::vector<std::string> names = {"nope",
                                    "alibi",
                                    "rope",
                                    "t5",
                                    "kerple_log",
                                    "fire",
                                    "fire_2x32",
                                    "stick_breaking",
                                    "rse",
                                    "sinusoidal",
                                    "learned",
                                    "algebraic",
                                    "algebraic_normalized",
                                    "binary",
                                    "mixture"};
  std::vector<int64_t> lengths = {512, 2048};
  int64_t heads = 8, headDim = 64;
  int threads = 1, repeats = 7;
  bool views = false;
};

Status checkOptions(const BenchOptions &options) {
  if (Status output = checkOutput("--json", options.json); !output)
    return output;
  const int64_t shortest = options.lengths.empty()
                               ? 0
                               : *std::min_element(options.lengths.begin(), options.lengths.end());
  for (auto [name, value] : {std::pair{"--lengths", shortest}, std::pair{"--heads", options.heads},
                             std::pair{"--repeats", int64_t{options.repeats}}})
    if (value < 1)
      return makeError(name, ": expected at least 1, found ", value);
  if (Status exist = checkEncodings(options.encodings, options.names); !exist)
    return exist;
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                     " (0: one per core), found ", options.threads);
  return Status::success();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Bench {
public:
  explicit Bench(BenchOptions options) : options(std::move(options)) {}
  Status run();

private:
  Expected<std::pair<double, double>> timeUnfused(int64_t length, bool withBias);
  Status check(const std::string &name, const jit::Description &description,
               const api::CompiledFunction &function);
  struct Checked {
    std::shared_ptr<const jit::Description> description;
    std::shared_ptr<const api::CompiledFunction> function;
  };
  Expected<Checked> compileAndCheck(const std::string &name);
  void reportEmbedding(const std::string &name, int64_t length, const Timing &timing);
  Status measure(const std::string &name, int64_t length);
  Status measureViews(const std::string &name, int64_t length);
  Status measureAll();
  TensorMap inputsOf(const jit::Description &description, int64_t length);

  BenchOptions options;
  std::unique_ptr<cpu::ThreadPool> pool;
  std::map<std::pair<int64_t, bool>, std::pair<double, double>> unfused;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int slower = 0;
};

Expected<std::pair<double, double>> Bench::timeUnfused(int64_t n, bool withBias) {
  auto known = unfused.find({n, withBias});
  if (known != unfused.end())
    return known->second;
  int64_t h = options.heads, d = options.headDim;
  TensorMap t;
  Random random(1, "bench");
  for (const char *name : {"q", "k", "v", "o", "dO", "dQ", "dK", "dV"}) {
    t[name] = Tensor::empty(DType::F32, {h, n, d});
    random.fillNormal(t[name], 0, 1);
  }
  t["bias"] = Tensor::zeros(DType::F32, {n, n});
  for (const char *name : {"p", "ds"}) {
    auto matrix = Tensor::allocate(DType::F32, {h, n, n});
    if (!matrix)
      return matrix.error();
    t[name] = *matrix;
  }
  auto at = [&](const char *name) { return t[name].data<float>(); };
  UnfusedAttention attention{h, n, d, at("q"), at("k"), at("v"), withBias ? at("bias") : nullptr};
  std::vector<double> forward, backward;
  for (int repeat = -1; repeat < options.repeats; ++repeat) {
    double begin = now();
    attention.forward(at("o"), at("p"), *pool);
    double middle = now();
    attention.backward(at("o"), at("dO"), at("p"), at("ds"), at("dQ"), at("dK"), at("dV"), *pool);
    double end = now();
    if (repeat < 0)
      continue;
    forward.push_back(middle - begin);
    backward.push_back(end - middle);
  }
  return unfused[{n, withBias}] = {medianOf(forward), medianOf(backward)};
}

TensorMap Bench::inputsOf(const jit::Description &description, int64_t length) {
  Sizes sizes = {{"b", 1},
                 {"h", options.heads},
                 {"hkv", options.heads},
                 {"sq", length},
                 {"sk", length},
                 {"d", options.headDim},
                 {"dv", options.headDim},
                 {"dm", options.heads * options.headDim}};
  auto inputs = randomInputs(description.entry, sizes, 1);
  return inputs ? *inputs : TensorMap();
}

/// Checks forward and every gradient at a small, odd size.
Status Bench::check(const std::string &name, const jit::Description &description,
                    const api::CompiledFunction &function) {
  TensorMap inputs = inputsOf(description, 77);
  auto arguments = argumentsOf(inputs, description.entry);
  auto cotangents = cotangentsOf(inputs, description.entry);
  if (!arguments || !cotangents)
    return makeError("cannot draw inputs for ", name);
  auto forward = function.runner->forward(*arguments, {}, *pool);
  if (!forward)
    return forward.error();
  auto found = function.runner->backward(**forward, *cotangents, *pool);
  if (!found)
    return found.error();
  for (auto &[result, tensor] : (*forward)->results())
    (*found)[result] = tensor;
  auto program = reference::parseProgram(description.program);
  if (!program)
    return program.error();
  auto expected = reference::evaluate(*program, inputs, {}, /*grad=*/true);
  if (!expected)
    return expected.error();
  auto report = reference::compare(*expected, *found);
  if (!report)
    return report.error();
  if (!report->passes())
    return makeError(name, " differs from the float64 reference; it is not timed\n",
                     report->table());
  return Status::success();
}

/// Prints and records the time of an embedding, which is compared with a copy of its tokens.
void Bench::reportEmbedding(const std::string &name, int64_t length, const Timing &timing) {
  std::printf("%-20s %6lld %9.3f %5.0f%% of copy %9.3f %5.0f%% of copy\n", name.c_str(),
              static_cast<long long>(length), timing.forwardSeconds * 1e3,
              100 * timing.forwardCopyShare, timing.backwardSeconds * 1e3,
              100 * timing.backwardCopyShare);
  std::fflush(stdout);
  rows.push_back({{"encoding", name},
                  {"n", length},
                  {"forward_seconds", timing.forwardSeconds},
                  {"forward_share_of_copy", timing.forwardCopyShare},
                  {"backward_seconds", timing.backwardSeconds},
                  {"backward_share_of_copy", timing.backwardCopyShare},
                  {"structure", "embedding"}});
}

/// Returns the bytes that a forward call must move: its arguments and the outputs. The backward
/// call reads them and the cotangent of the output, and writes the gradients.
static double bytesOf(const TensorMap &arguments, int64_t outputs) {
  double bytes = static_cast<double>(outputs) * sizeof(float);
  for (const auto &[name, tensor] : arguments)
    bytes += static_cast<double>(tensor.byteSize());
  return bytes;
}

Expected<Bench::Checked> Bench::compileAndCheck(const std::string &name) {
  FileOptions file;
  file.file = options.encodings + "/" + name + ".mlir";
  file.headDim = file.valueDim = options.headDim;
  file.grad = true;
  file.earlyExit = false;
  auto program = api::loadProgram(file.file, "");
  if (!program)
    return program.takeError();
  auto function = api::compileProgram(**program, compileOptionsOf(file));
  if (!function)
    return function.takeError();
  Checked checked = {(*program)->description, *function};
  if (Status right = check(name, *checked.description, *checked.function); !right)
    return right.takeError();
  return checked;
}

Status Bench::measure(const std::string &name, int64_t length) {
  auto checked = compileAndCheck(name);
  if (!checked)
    return checked.error();
  auto &[description, function] = *checked;
  TensorMap inputs = inputsOf(*description, length);
  auto arguments = argumentsOf(inputs, description->entry);
  auto cotangents = cotangentsOf(inputs, description->entry);
  if (!arguments || !cotangents)
    return makeError("cannot draw inputs for ", name);
  auto pairs = countMaskedPairs(*description, *arguments, {}, pool->threads());
  if (!pairs)
    return pairs.error();
  auto timing = timeCalls(*function, *arguments, *cotangents, {}, *pool, options.repeats, *pairs);
  if (!timing)
    return timing.error();
  if (timing->forwardBytes > 0) {
    reportEmbedding(name, length, *timing);
    return Status::success();
  }
  bool biased = function->runner->getPlan().structure.find('+') != std::string::npos;
  auto rival = timeUnfused(length, biased);
  if (!rival)
    return rival.error();
  const int64_t outputs = options.heads * length * options.headDim;
  double forward = rival->first / timing->forwardSeconds;
  double backward = rival->second / timing->backwardSeconds;
  slower += (forward < 1) + (backward < 1);
  std::printf("%-16s %6lld %9.2f %5.0f%% %6.2fx%s %9.2f %5.0f%% %6.2fx%s\n", name.c_str(),
              static_cast<long long>(length), timing->forwardSeconds * 1e3,
              100 * timing->forwardShare, forward, forward < 1 ? "!" : " ",
              timing->backwardSeconds * 1e3, 100 * timing->backwardShare, backward,
              backward < 1 ? "!" : " ");
  std::fflush(stdout);
  rows.push_back({{"encoding", name},
                  {"n", length},
                  {"forward_seconds", timing->forwardSeconds},
                  {"forward_share_of_peak", timing->forwardShare},
                  {"forward_speedup", forward},
                  {"backward_seconds", timing->backwardSeconds},
                  {"backward_share_of_peak", timing->backwardShare},
                  {"backward_speedup", backward},
                  {"forward_flops", timing->forwardFlops},
                  {"backward_flops", timing->backwardFlops},
                  {"forward_bytes", bytesOf(*arguments, outputs)},
                  {"backward_bytes", 2 * bytesOf(*arguments, outputs)},
                  {"structure", function->runner->getPlan().structure}});
  return Status::success();
}

/// Times calls on [B, H, S, D] views of [B, S, H, D] memory against the same calls on contiguous
/// tensors.
Status Bench::measureViews(const std::string &name, int64_t length) {
  auto checked = compileAndCheck(name);
  if (!checked)
    return checked.error();
  if (checked->function->runner->getPlan().headDim == 0) // an embedding has no heads
    return Status::success();
  auto timing = timeViews(*checked->function->runner, inputsOf(*checked->description, length),
                          *pool, options.repeats);
  if (!timing)
    return timing.error();
  if (!timing->isEqual)
    return makeError(name, ": expected bitwise equal results for views and contiguous tensors");
  const auto &[contiguous, views, isEqual] = *timing;
  std::printf("%-16s %6lld %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f\n", name.c_str(),
              static_cast<long long>(length), contiguous.forward * 1e3, views.forward * 1e3,
              views.forward / contiguous.forward, contiguous.backward * 1e3, views.backward * 1e3,
              views.backward / contiguous.backward);
  std::fflush(stdout);
  rows.push_back({{"encoding", name},
                  {"n", length},
                  {"forward_seconds", contiguous.forward},
                  {"forward_seconds_of_views", views.forward},
                  {"backward_seconds", contiguous.backward},
                  {"backward_seconds_of_views", views.backward}});
  return Status::success();
}

Status Bench::measureAll() {
  if (options.views) {
    std::printf(
        "views: q, k, v, o and their gradients as [B, H, S, D] views of [B, S, H, D] memory, "
        "against contiguous\ntensors in this run; results are bitwise equal\n");
    std::printf("%-16s %6s %9s %9s %6s %9s %9s %6s\n", "encoding", "N", "fwd ms", "views", "ratio",
                "bwd ms", "views", "ratio");
  } else {
    std::printf("share: of the FMA peak measured between the calls; x: speedup over softmax "
                "attention composed of OpenBLAS (%s) products in this run,\nwith a dense bias if "
                "the encoding has one; !: pe is slower\n",
                blas::coreName().c_str());
    std::printf("%-16s %6s %9s %6s %8s %9s %6s %8s\n", "encoding", "N", "fwd ms", "share", "",
                "bwd ms", "share", "");
  }
  for (int64_t length : options.lengths)
    for (const std::string &name : options.names)
      if (Status s = options.views ? measureViews(name, length) : measure(name, length); !s)
        return s;
  if (!options.views)
    std::printf("%s\n",
                slower ? "pe is slower in the entries with !" : "pe is faster in all entries");
  return Status::success();
}

Status Bench::run() {
  if (Status loaded = blas::load(); !loaded)
    return loaded;
  cpu::ThreadPool::Options threads;
  threads.threads = options.threads;
  pool = std::make_unique<cpu::ThreadPool>(threads);
  std::printf("%s, %d thread(s), %lld heads of %lld, causal, fp32, medians of %d calls\n",
              cpu::hostCpu().name.c_str(), pool->threads(), static_cast<long long>(options.heads),
              static_cast<long long>(options.headDim), options.repeats);
  Status measured = measureAll();
  if (!measured || options.json.empty())
    return measured;
  nlohmann::ordered_json file = {{"cpu", cpu::hostCpu().name},
                                 {"threads", pool->threads()},
                                 {"heads", options.heads},
                                 {"head_dim", options.headDim}};
  if (!options.views) {
    file["rival"] = "OpenBLAS " + blas::coreName();
    file["copy_bytes_per_second"] = cpu::measureCopyRate(*pool);
  }
  file["rows"] = rows;
  return writeFileAtomically(options.json, file.dump(2) + "\n");
}

} // namespace

Action addBench(CLI::App &app) {
  auto options = std::make_shared<BenchOptions>();
  app.add_option("--encodings", options->encodings, "Directory of the encoding files")
      ->capture_default_str();
  app.add_option("--with", options->names, "Encodings of that directory: file names without .mlir")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--lengths", options->lengths, "Sequence lengths")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--heads", options->heads, "Number of heads")->capture_default_str();
  app.add_option("--head-dim", options->headDim, "Head dimension")->capture_default_str();
  app.add_option("--threads", options->threads, "Threads; 0: one per core")->capture_default_str();
  app.add_option("--repeats", options->repeats, "Calls per median")->capture_default_str();
  app.add_option("--json", options->json, "Also write the table to this file, as JSON");
  addSwitch(app, "--views", options->views,
            "Time strided views of [B, S, H, D] tensors against contiguous tensors");
  app.footer("Example: pe bench --with=nope,alibi,fire --lengths=512");
  return [options] {
    Status status = checkOptions(*options);
    if (status)
      status = Bench(*options).run();
    return status ? 0 : reportError("bench", status.error());
  };
}

} // namespace pe::cli

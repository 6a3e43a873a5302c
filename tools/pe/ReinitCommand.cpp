//===- ReinitCommand.cpp - pe reinit ---===//
#include "runtime/core/Error.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/reinit/ReinitModel.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Memory.h"

#include <memory>

namespace pe::cli {
namespace {

struct ReinitOptions {
  reinit::ModelJob job;
  std::string engine = "qdwh", norm, scale = "muon", target = "all", layout = "out-in",
              device = "cpu";
  int64_t iterations = 0, threads = 0;
  uint64_t seed = 0;
};

/// Rejects flags of the cubic engine with other engines, where they would have no effect.
Status readEngine(const ReinitOptions &options, reinit::Settings &settings) {
  auto engine = reinit::parseEngine(options.engine);
  if (!engine)
    return engine.takeError();
  settings.engine = *engine;
  if (*engine != reinit::Engine::Cubic) {
    if (options.iterations || !options.norm.empty())
      return makeError(options.iterations ? "--iters" : "--norm",
                       ": expected it with --engine=cubic; engine ", options.engine,
                       " iterates until the factor is an isometry");
    return Status::success();
  }
  auto norm = reinit::parseNorm(options.norm.empty() ? "fro" : options.norm);
  if (!norm)
    return norm.takeError();
  settings.norm = *norm;
  constexpr int64_t kMost = 1000;
  if (options.iterations < 1 || options.iterations > kMost)
    return makeError("--iters: expected 1 to ", kMost,
                     " iterations of engine cubic (published: 10, "
                     "and 5 for language models), found ",
                     options.iterations ? std::to_string(options.iterations) : "none");
  settings.iterations = static_cast<int>(options.iterations);
  return Status::success();
}

Status readSettings(const ReinitOptions &options, reinit::ModelJob &job) {
  if (options.device != "cpu")
    return makeError("--device: expected cpu, found '", options.device,
                     "'; the Python package (pe_attention.plasticity) projects weights on GPUs");
  if (Status engine = readEngine(options, job.settings); !engine)
    return engine;
  auto scale = reinit::parseScale(options.scale);
  auto target = reinit::parseTarget(options.target);
  auto layout = reinit::parseLayout(options.layout);
  if (!scale)
    return scale.takeError();
  if (!target)
    return target.takeError();
  if (!layout)
    return layout.takeError();
  job.settings.scale = *scale;
  job.settings.seed = options.seed;
  job.selection.target = *target;
  job.settings.layout = job.selection.layout = *layout;
  return Status::success();
}

/// Returns advice on projecting the matrices of a fused tensor separately.
std::string adviceFor(const std::string &part) {
  if (part == "gate_up")
    return "split it in the checkpoint first, or exclude it with --exclude=gate_up";
  return "--split-qkv=" + part + " projects query, key and value separately";
}

Status run(const ReinitOptions &options) {
  keepFreedMemory();
  reinit::ModelJob job = options.job;
  if (Status read = readSettings(options, job); !read)
    return read;
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                     ", or 0 for all cores, found ", options.threads);
  cpu::ThreadPool pool({.threads = static_cast<int>(options.threads)});
  auto outcome = reinit::reinitModel(job, pool, [](const reinit::MatrixReport &report) {
    std::printf("%s\n", reinit::describe(report).c_str());
    std::fflush(stdout);
  });
  if (!outcome)
    return outcome.takeError();
  std::printf("%lld matrices projected", static_cast<long long>(outcome->projected));
  if (outcome->zero)
    std::printf(", %lld of zeros left alone", static_cast<long long>(outcome->zero));
  std::printf("; %lld tensors in %s\n", static_cast<long long>(outcome->tensors), job.out.c_str());
  if (outcome->inPlace)
    std::printf("replaced %s in place\n", job.in.c_str());
  if (!outcome->fused.empty())
    std::printf("'%s' looks fused and was projected as one matrix: %s\n", outcome->fused.c_str(),
                adviceFor(outcome->fusedPart).c_str());
  return Status::success();
}

void addSelection(CLI::App &app, ReinitOptions &options) {
  app.add_option(
         "--target", options.target,
         "Weights to project: all, attention (names with attn or attention) or mlp (mlp, ffn)")
      ->check(oneOf({"all", "attention", "mlp"}))
      ->default_str("all");
  app.add_option("--include", options.job.selection.include,
                 "Project only tensors whose names match this regular expression; default: all "
                 "except names with embed, wte, wpe, head, bias, norm or lambda");
  app.add_option("--exclude", options.job.selection.exclude,
                 "Exclude tensors whose names match this regular expression");
  app.add_option("--split-qkv", options.job.selection.splitQkv,
                 "Names of fused weights, whose query, key and value are projected separately");
  app.add_option("--qkv-sizes", options.job.selection.qkvSizes,
                 "Output sizes of query, key and value in fused weights; default: equal parts")
      ->delimiter(',');
  app.add_option("--batched", options.job.selection.batched,
                 "Names of stacked weights [count, out, in], projected matrix by matrix");
  app.add_option("--layout", options.layout,
                 "Layout of matrices: out-in (PyTorch) or in-out (JAX, GPT-2's Conv1D)")
      ->check(oneOf({"out-in", "in-out"}))
      ->default_str("out-in");
}

} // namespace

Action addReinit(CLI::App &app) {
  auto options = std::make_shared<ReinitOptions>();
  app.add_option("--in", options->job.in,
                 "Model: a safetensors file, or a directory with model.safetensors.index.json")
      ->required();
  app.add_option("--out", options->job.out,
                 "Result: a file, or a directory of shards; --in itself is replaced in place")
      ->required();
  app.add_option("--engine", options->engine,
                 "qdwh (float64, exact), quintic (float32, products only) or cubic (published)")
      ->check(oneOf({"qdwh", "quintic", "cubic"}))
      ->default_str("qdwh");
  app.add_option("--iters", options->iterations, "Number of iterations of engine cubic");
  app.add_option("--norm", options->norm,
                 "Norm that engine cubic divides by first: fro or spectral")
      ->check(oneOf({"fro", "spectral"}));
  app.add_option("--scale", options->scale,
                 "Scale of the isometries: muon (sqrt(out/in)), none, mean-sigma or fro")
      ->check(oneOf({"muon", "none", "mean-sigma", "fro"}))
      ->default_str("muon");
  addSelection(app, *options);
  app.add_option("--against", options->job.against,
                 "Older checkpoint that the report measures SFE from; default: --in");
  app.add_option("--report", options->job.report,
                 "Write the numbers of every tensor to this file, as a JSON list");
  app.add_option("--seed", options->seed,
                 "Seed of the noise that completes rank-deficient matrices");
  app.add_option("--threads", options->threads,
                 "Threads; 0: one per core; results do not depend on it");
  app.add_option("--device", options->device, "Device: cpu")->default_str("cpu");
  app.footer(
      "Example: pe reinit --in=model.safetensors --out=projected.safetensors --report=report.json");
  return [options] {
    Status status = run(*options);
    return status ? 0 : reportError("reinit", status.error());
  };
}

} // namespace pe::cli

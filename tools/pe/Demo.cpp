//===- Demo.cpp - pe demo ---===//
//
// Trains one small language model per encoding on real text, and evaluates it with growing context
// on the same targets. It is a comparison (Grid.h) with its own flags and limits.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/ThreadPool.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Grid.h"
#include "tools/pe/Run.h"
#include "tools/pe/TrainCommands.h"

namespace pe::cli {
namespace {

struct DemoOptions {
  std::string encodings = findExamples(), out = "build/demo", data;
  std::vector<std::string> names = {"nope",       "alibi", "rope",           "t5",
                                    "kerple_log", "fire",  "stick_breaking", "rse"};
  int64_t steps = 600;
  int threads = 0;
  uint64_t seed = 0;
  bool quick = false;
};

Experiment experimentOf(const DemoOptions &options) {
  Experiment experiment;
  experiment.title = "Positional encodings, compiled and trained";
  for (const std::string &name : options.names)
    experiment.rows.push_back({name, {{"encoding", options.encodings + "/" + name + ".mlir"}}});
  experiment.hasMargins = false;
  experiment.needsThisBuild = true;
  experiment.limits = {
      "A longer context brings no gain at this size: the models are too small to use it. The table "
      "shows which encodings tolerate contexts that are longer than in training.",
      "FIRE is trained at length 256, below its initial threshold L of 512, so its interpolation "
      "is "
      "hardly trained. The setting of its paper (125 M parameters) is too large for this demo."};
  return experiment;
}

/// Returns the options as flags of `pe train`, whose defaults are the model of the demo.
train::FlagValues valuesOf(const DemoOptions &options) {
  return {{"data", options.data},
          {"out", options.out},
          {"steps", std::to_string(options.steps)},
          {"threads", std::to_string(options.threads)},
          {"seed", std::to_string(options.seed)}};
}

void addOptions(CLI::App &app, DemoOptions &options) {
  app.add_option("--encodings", options.encodings, "Directory of the encoding files")
      ->capture_default_str();
  app.add_option("--out", options.out,
                 "Directory for results.json, report.html and finished runs, which are reused if "
                 "flags, text, encoding and pe are the same")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "Directory of text; default: the machine's Python standard library");
  app.add_option("--with", options.names, "Encodings of that directory: file names without .mlir")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Training steps per model")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; default: one per core");
  app.add_option("--seed", options.seed, "Seed of initial values and batches")
      ->capture_default_str();
  addSwitch(app, "--quick", options.quick, "Two encodings and fewer steps: under 90 seconds");
}

Expected<int> demo(DemoOptions options) {
  if (options.steps < 1)
    return makeError("--steps: expected at least 1, found ", options.steps);
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                     " (0: one per core), found ", options.threads);
  if (options.quick) {
    options.names = {"alibi", "fire"};
    options.steps = 200;
  }
  if (Status exist = checkEncodings(options.encodings, options.names); !exist)
    return exist.takeError();
  const train::FlagValues values = valuesOf(options);
  auto parsed = train::readTrainOptions(values);
  if (!parsed)
    return parsed.takeError();
  return runGrid(values, *parsed, experimentOf(options));
}

} // namespace

Action addDemo(CLI::App &app) {
  auto options = std::make_shared<DemoOptions>();
  addOptions(app, *options);
  return [options] { return runTraining("demo", [&] { return demo(*options); }); };
}

} // namespace pe::cli

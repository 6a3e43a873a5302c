//===- Files.cpp - Finding files, and options of compilation ---===//
#include "runtime/core/Error.h"
#include "runtime/plan/Machine.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

#include <algorithm>
#include <filesystem>

namespace pe::cli {

namespace fs = std::filesystem;

static constexpr const char *kExamples = "examples/encodings";

std::string findExamples() {
  std::error_code ignored;
  if (fs::is_directory(kExamples, ignored))
    return kExamples;
  // An installed program has examples in share, and the Python package next to bin. A program in a
  // build directory uses those of the source.
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path prefix = program.parent_path().parent_path();
  for (const fs::path &installed : {prefix / "share/pe/encodings", prefix / kExamples})
    if (fs::is_directory(installed, ignored))
      return installed.string();
  return PE_EXAMPLES_DIR;
}

/// Returns the name of the example to which "alibi", "alibi.mlir" or
/// "examples/encodings/alibi.mlir" refer; empty for other paths.
static std::string exampleNameOf(const std::string &file) {
  const fs::path path(file);
  const bool isInExamples = path.parent_path() == kExamples;
  const bool isSource = path.extension() == ".mlir";
  if ((path.has_parent_path() && !isInExamples) || (path.has_extension() && !isSource))
    return "";
  return path.stem().string();
}

std::string findFile(const std::string &file) {
  std::error_code ignored;
  const std::string name = exampleNameOf(file);
  if (name.empty() || fs::exists(file, ignored))
    return file;
  const fs::path own = fs::path(findExamples()) / (name + ".mlir");
  return fs::exists(own, ignored) ? own.string() : file;
}

/// Returns the names of the encodings in a directory.
static std::vector<std::string> encodingsIn(const std::string &folder) {
  std::error_code ignored;
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem().string());
  return names;
}

Status checkFile(const std::string &file) {
  std::error_code ignored;
  const std::string name = exampleNameOf(file);
  if (name.empty() || fs::exists(file, ignored))
    return Status::success();
  return makeError("cannot open '", file, "': no such file, and no example of pe has this name",
                   suggestChoice(name, encodingsIn(findExamples())));
}

Status checkEncodings(const std::string &folder, const std::vector<std::string> &names) {
  const std::vector<std::string> known = encodingsIn(folder);
  for (const std::string &name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return makeError("--with: expected encodings in '", folder, "', found no '", name,
                       ".mlir' there", suggestChoice(fs::path(name).stem().string(), known));
  return Status::success();
}

Expected<std::shared_ptr<const api::ProgramState>> loadFile(const std::string &file,
                                                            const std::string &entry) {
  if (Status exists = checkFile(file); !exists)
    return exists.takeError();
  return api::loadProgram(file, entry);
}

std::string findExperiment(const std::string &name) {
  std::error_code ignored;
  const fs::path path(name);
  if (fs::exists(path, ignored) || path.filename().empty() ||
      (path.has_parent_path() && path.parent_path() != "examples"))
    return name;
  // Experiments are next to the encodings, both in the source and in the Python package.
  const fs::path own = fs::path(findExamples()).parent_path() / path.filename();
  return fs::exists(own / "experiment.json", ignored) ? own.string() : name;
}

Status checkExperiment(const std::string &name) {
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) {
    if (fs::exists(fs::path(name) / "experiment.json", ignored))
      return Status::success();
    return makeError("expected an experiment, found the directory '", name,
                     "' without experiment.json");
  }
  if (const std::string file = findFile(name); fs::path(file).extension() == ".mlir")
    return makeError("expected an experiment, found the encoding '", name,
                     "'; write --encodings=", name, ",OTHER");
  if (fs::exists(name, ignored))
    return Status::success();
  std::vector<std::string> known;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(fs::path(findExamples()).parent_path(), ignored))
    if (fs::exists(entry.path() / "experiment.json", ignored))
      known.push_back(entry.path().filename().string());
  return makeError("cannot open '", name, "': no such file, and no experiment of pe has this name",
                   suggestChoice(fs::path(name).filename().string(), known));
}

Status checkOutput(const std::string &option, const std::string &file) {
  std::error_code ignored;
  if (file.empty())
    return Status::success();
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return makeError(option, ": directory '", folder.string(), "' does not exist");
  if (fs::is_directory(file, ignored))
    return makeError(option, ": expected the name of a file, found the directory '", file, "'");
  return Status::success();
}

void addFileOptions(CLI::App &app, FileOptions &options) {
  app.add_option("FILE", options.file,
                 "A .mlir source, a compiled package, or the name of one of pe's examples")
      ->required()
      ->transform(findFile);
  app.add_option("--entry", options.entry, "Public function to use; default: the only one");
  app.add_option("--target", options.target,
                 "cpu, cuda, gpu-emulator or reference; for a package, a list")
      ->capture_default_str();
  app.add_option(
      "--chip", options.chip,
      "GPU of --target=cuda: " + plan::namesOf(/*isGpu=*/true) +
          ", also with a PTX version (sm_80+ptx83); default when running: this "
          "machine's; for a package, a list. With --target=gpu-emulator, the GPU that is "
          "emulated; default: sm_80");
  app.add_option(
      "--dtype", options.dtype,
      "Type of activations: f32; on GPUs and with --lowering=loops also bf16, f16 and tf32 (f32 "
      "whose contractions round their operands to 10 bits of fraction)");
  app.add_option("--features", options.features,
                 "Compile for the baseline " + plan::namesOf(/*isGpu=*/false, " or ") +
                     " instead of this machine");
  app.add_option("--lowering", options.lowering,
                 "cpu: tuned kernels; loops: plain loops that define every tile operation")
      ->capture_default_str();
  app.add_option("--schedule", options.schedule,
                 "Fields of schedules to set, for measurements: NAME=VALUE, forward.NAME=VALUE or "
                 "backward.NAME=VALUE, separated by commas; pe compile --emit=step lists them");
  app.add_option(
         "--pairs-memory", options.pairsMemory,
         "GPUs: the most memory of a backward call for the adjoints of scores, in MiB; with "
         "more pairs, or 0, thread blocks add the gradients of queries in turns")
      ->capture_default_str();
}

void addEarlyExit(CLI::App &app, FileOptions &options) {
  app.add_option_function<std::string>(
         "--early-exit",
         [&options](const std::string &value) { options.earlyExit = value == "on"; },
         "on: stick-breaking stops at keys that cannot change the result (default); off")
      ->check(oneOf({"on", "off"}));
}

Status checkTarget(const FileOptions &options) {
  const auto target = plan::findTarget(options.target);
  if (!target || *target == plan::Target::None)
    return makeError("expected --target cpu, cuda, gpu-emulator or reference, found '",
                     options.target, "'");
  const bool isGpu = plan::isGpu(*target);
  if (!options.chip.empty() && !isGpu)
    return makeError("--chip: expected it with --target=cuda or gpu-emulator, found --target=",
                     options.target);
  if (!isGpu && options.pairsMemory != FileOptions().pairsMemory)
    return makeError("--pairs-memory: expected it with --target=cuda or gpu-emulator, found "
                     "--target=",
                     options.target);
  if (isGpu && !options.features.empty())
    return makeError("--features: expected it with --target=cpu, found --target=", options.target);
  if (target == plan::Target::Reference && !options.schedule.empty())
    return makeError("--schedule: expected it with --target=cpu, cuda or gpu-emulator, found "
                     "--target=reference");
  if (isGpu && options.lowering != "cpu")
    return makeError("--lowering=", options.lowering, ": expected it with --target=cpu, found ",
                     "--target=", options.target);
  const bool takesTf32 = isGpu || target == plan::Target::Reference || options.lowering == "loops";
  const Expected<DType> dtype = parseDType(options.dtype.empty() ? "f32" : options.dtype);
  if (!dtype ||
      !(*dtype == DType::F32 || (isNarrow(*dtype) && (*dtype != DType::TF32 || takesTf32))))
    return makeError("expected --dtype=f32, bf16", takesTf32 ? ", f16 or tf32" : " or f16",
                     " on target ", options.target, ", found '", options.dtype, "'");
  return Status::success();
}

CompileOptions compileOptionsOf(const FileOptions &options) {
  CompileOptions result;
  result.target = options.target;
  result.chip = options.chip;
  result.features = options.features;
  if (!options.dtype.empty())
    result.dtype = *parseDType(options.dtype);
  result.headDim = options.headDim;
  result.valueDim = options.valueDim;
  result.grad = options.grad;
  result.earlyExit = options.earlyExit;
  result.pairsMemory = options.pairsMemory;
  result.lowering = options.lowering;
  result.lineTables = options.lineTables;
  result.schedule = options.schedule;
  return result;
}

} // namespace pe::cli

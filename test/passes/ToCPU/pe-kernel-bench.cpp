//===- pe-kernel-bench.cpp - runs, compares and times the stages of a plan -===//
//
//   pe-kernel-bench FILE.mlir [--name=value ...]
//
// FILE is a module in the pe dialect, or one that holds a tile.plan. The tool compiles it through
// pe-tile-to-cpu and through the definition of the tile ops (pe-tile-to-loops), runs both on the
// same random inputs, and prints the relative difference of every result, residual and gradient.
// With time=1 it then times the fused stages on one thread and prints their share of the FMA peak,
// which is measured between the repeats. Options: b hq hkv r c q_start k_start, d e, grad=0|1,
// exit=0|1, features=x86-64-v3, set=key_block=32,..., check=0|1, repeats, tolerance,
// ignore=NAME,... (not compared: sums that cancel), stages=1 (times per stage). against="A;B;..."
// (each like set) times other schedules alternately with this one, which cancels the effect of
// other load on the machine. equal=OTHER.mlir also compiles that file through pe-tile-to-cpu, runs
// it on the same inputs, converted exactly to its types, and compares bits; with time=1 it times
// both alternately. Buffers are between inaccessible guard pages; memory=end|begin selects the
// adjacent page. spread multiplies q. layout=bshd makes q, k, v, o and their gradients views of [B,
// S, H, D] memory.
//
//===----------------------------------------------------------------------===//
#include "KernelRun.h"

#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/ToCPU.h"
#include "passes/ToLoops/ToLoops.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/MachineCode.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

using namespace pe;
using namespace pe::bench;

namespace {

/// Runs the passes from the source, pe or tile, to the LLVM dialect.
void lower(jit::Compilation &compilation, const Options &options, const std::string &lowering,
           const std::string &set) {
  mlir::pe::CompileOptions compileOptions;
  compileOptions.headDim = options.number("d", 64);
  compileOptions.valueDim = options.number("e", compileOptions.headDim);
  compileOptions.grad = options.number("grad", 0);
  compileOptions.earlyExit = options.number("exit", 0);
  std::string features = options.get("features", "x86-64-v3");
  bool isTile = !compilation.getModule().getOps<mlir::tile::PlanOp>().empty();
  Status done = compilation.run([&](mlir::OpPassManager &pm) {
    if (!isTile) {
      mlir::pe::buildPEPipeline(pm, compileOptions);
      mlir::pe::buildPEToTilePipeline(pm, compileOptions);
    }
    if (lowering == "cpu") {
      mlir::tile::PEScheduleCpuPassOptions schedule;
      schedule.machine = features;
      llvm::SmallVector<llvm::StringRef> parts;
      llvm::StringRef(set).split(parts, ',', -1, false);
      for (llvm::StringRef part : parts)
        schedule.set.push_back(part.str());
      if (features != options.get("machine", "x86-64-v3")) // LLVM cannot split scalef
        schedule.set.push_back("exp2=bits");
      pm.addPass(mlir::tile::createPEScheduleCpuPass(schedule));
      pm.addPass(mlir::tile::createPETileToCpuPass());
    } else {
      pm.addPass(mlir::tile::createPETileToLoopsPass());
    }
    pm.addPass(mlir::pe::createPEExportPlanPass());
    mlir::pe::buildFunctionsToLLVMPipeline(pm);
  });
  if (!done)
    die(done.error().render("pe-kernel-bench"));
}

Program compile(const Options &options, const std::string &file, const std::string &lowering,
                const std::string &set) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    die("cannot read " + file);
  double begin = now();
  jit::Compilation compilation(jit::getRegistry());
  jit::Source source{(*buffer)->getBuffer().str(), file, ""};
  if (Status parsed = compilation.parse(source); !parsed)
    die(parsed.error().render("pe-kernel-bench"));
  lower(compilation, options, lowering, set);
  double passes = now() - begin;
  Program program;
  auto text = compilation.getModule()->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  auto parsed = plan::parsePlan(text.strref());
  if (!parsed)
    die(parsed.error().render("pe-kernel-bench"));
  program.plan = *parsed;
  compilation.getModule()->removeAttr(mlir::pe::kPlanAttr);
  // LLVM splits vectors that are wider than this machine's, so the code also runs here.
  auto generator = jit::createTargetMachine(options.get("machine", "x86-64-v3"));
  llvm::LLVMContext context;
  auto module = jit::translate(compilation.getModule(), context, **generator);
  if (!module)
    die(module.error().render("pe-kernel-bench"));
  if (options.number("llvm", 0))
    (*module)->print(llvm::outs(), nullptr);
  double translated = now() - begin;
  auto object = jit::emitObject(**module, **generator);
  if (options.number("compile", 0))
    std::printf("MLIR passes %.0f ms, LLVM passes %.0f ms, code generation %.0f ms, %zu bytes\n",
                passes * 1e3, (translated - passes) * 1e3, (now() - begin - translated) * 1e3,
                object->size());
  if (std::string out = options.get("object", ""); !out.empty() && lowering == "cpu") {
    std::FILE *f = std::fopen(out.c_str(), "wb");
    std::fwrite(object->data(), 1, object->size(), f);
    std::fclose(f);
  }
  auto loaded = cpu::loadObject(*object);
  if (!loaded)
    die(loaded.error().render("pe-kernel-bench"));
  program.object = std::move(*loaded);
  for (plan::Stage &stage : program.plan.stages)
    program.stages.push_back(reinterpret_cast<Stage>(program.object->lookup(stage.symbol)));
  program.compileSeconds = now() - begin;
  return program;
}

plan::CallSizes sizesOf(const Options &options) {
  plan::CallSizes sizes;
  sizes.batch = options.number("b", 1);
  sizes.queryHeads = options.number("hq", 2);
  sizes.keyHeads = options.number("hkv", sizes.queryHeads);
  sizes.queries = options.number("r", 200);
  sizes.keys = options.number("c", sizes.queries);
  sizes.keyStart = options.number("k_start", 0);
  sizes.queryStart = options.number("q_start", sizes.keyStart + sizes.keys - sizes.queries);
  sizes.headsTotal = sizes.queryHeads;
  return sizes;
}

double valueAt(const Run &run, int buffer, int64_t i) {
  return elementOf(run.memory[buffer].get(), run.program.plan.buffers[buffer].dtype, i);
}

bool isInput(const plan::Buffer &buffer) {
  return buffer.role == plan::Role::Argument || buffer.role == plan::Role::Cotangent;
}

bool isOutput(const plan::Buffer &buffer) {
  return buffer.role == plan::Role::Result || buffer.role == plan::Role::Residual ||
         buffer.role == plan::Role::Gradient;
}

/// Gives `run` the inputs of `other`, whose types are the same or narrower.
void copyInputs(const Run &run, const Run &other) {
  for (auto [i, buffer] : llvm::enumerate(run.program.plan.buffers)) {
    const int from = other.program.plan.findBuffer(buffer.name);
    if (!isInput(buffer) || from < 0)
      continue;
    for (int64_t j = 0, n = run.bytes[i] / sizeOf(buffer.dtype); j < n; ++j)
      setElement(run.memory[i].get(), buffer.dtype, j, valueAt(other, from, j));
  }
}

/// Prints the buffers whose bits differ. Returns true if there is none, and at least one buffer is
/// compared.
bool compareBits(const Run &run, const Run &other) {
  int compared = 0, different = 0;
  for (auto [i, buffer] : llvm::enumerate(run.program.plan.buffers)) {
    const int j = other.program.plan.findBuffer(buffer.name);
    if (!isOutput(buffer) || j < 0)
      continue;
    ++compared;
    if (run.bytes[i] == other.bytes[j] &&
        std::memcmp(run.memory[i].get(), other.memory[j].get(), run.bytes[i]) == 0)
      continue;
    ++different;
    std::printf("  %s: the bits differ\n", buffer.name.c_str());
  }
  return compared && !different;
}

/// Prints the relative error of every buffer that both plans have. Returns false if one exceeds the
/// tolerance.
bool compare(const Run &run, const Run &reference, const Options &options) {
  double tolerance = std::atof(options.get("tolerance", "2e-5").c_str());
  bool quiet = options.number("quiet", 0), good = true;
  llvm::SmallVector<llvm::StringRef> ignored;
  std::string names = options.get("ignore", "");
  llvm::StringRef(names).split(ignored, ',');
  for (size_t i = 0; i < run.program.plan.buffers.size(); ++i) {
    const plan::Buffer &buffer = run.program.plan.buffers[i];
    int other = reference.program.plan.findBuffer(buffer.name);
    if (!isOutput(buffer) || other < 0 || run.bytes[i] != reference.bytes[other] ||
        llvm::StringRef(buffer.name).ends_with("mass") || llvm::is_contained(ignored, buffer.name))
      continue;
    double difference = 0, norm = 0;
    int64_t count = run.bytes[i] / sizeOf(buffer.dtype);
    for (int64_t j = 0; j < count; ++j) {
      double a = valueAt(run, i, j), b = valueAt(reference, other, j);
      if (a == b || (std::isnan(a) && std::isnan(b)))
        continue; // equal infinities, or entries that neither has written
      difference += (a - b) * (a - b);
      norm += b * b;
    }
    double error = std::sqrt(difference / std::max(norm, 1e-30));
    bool bad = !(error <= tolerance);
    good &= !bad;
    if (!quiet || bad)
      std::printf("  %-24s %.2e%s\n", buffer.name.c_str(), error, bad ? "  <-- too large" : "");
  }
  return good;
}

double usefulPairs(const Run &run) {
  const plan::CallSizes &s = run.sizes;
  double pairs = 0;
  auto window = run.program.plan.window;
  for (int64_t r = 0; r < s.queries; ++r) {
    int64_t i = s.queryStart + r, low = s.keyStart, high = s.keyStart + s.keys - 1;
    if (i < 0)
      continue;
    if (window && window->low)
      high = std::min(high, i - *window->low);
    if (window && window->high)
      low = std::max(low, i - *window->high);
    pairs += std::max<int64_t>(0, high - low + 1);
  }
  return pairs * s.batch * s.queryHeads;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * (values.size() - 1))];
}

void time(const Run &run, const Options &options, bool backward) {
  constexpr double kAlone = 0.88; // between the two values of coreShare
  int64_t d = run.program.plan.headDim, e = run.program.plan.valueDim;
  double flops = usefulPairs(run) * (backward ? 2 * (3 * d + 2 * e) : 2 * (d + e));
  std::vector<double> shares, alone, shared;
  std::map<std::string, std::vector<double>> stages;
  int64_t repeats = options.number("repeats", 15);
  double fastest = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    double peak = peakFlops(), before = coreShare(peak);
    double speed = flops / run.phase(backward, &stages);
    double after = coreShare(peak);
    peak = std::max(peak, peakFlops());
    fastest = std::max(fastest, speed);
    double share = 100 * speed / peak;
    shares.push_back(share);
    if (options.number("raw", 0))
      std::printf("%.0f %.0f %.1f\n", 100 * before, 100 * after, share);
    if (std::min(before, after) > kAlone)
      alone.push_back(share);
    else if (std::max(before, after) < kAlone)
      shared.push_back(share);
  }
  std::printf(
      "%s: %.2f GFLOP/s, share of peak best %.1f %% median %.1f %% lowest %.1f %%; core alone "
      "%.1f %% (%zu runs), core shared %.1f %% (%zu runs)\n",
      backward ? "backward" : "forward", fastest * 1e-9, quantile(shares, 1), quantile(shares, 0.5),
      quantile(shares, 0), quantile(alone, 0.5), alone.size(), quantile(shared, 0.5),
      shared.size());
  if (options.number("stages", 0))
    for (auto &[name, seconds] : stages)
      std::printf("  %-40s median %9.2f us, shortest %9.2f us\n", name.c_str(),
                  quantile(seconds, 0.5) * 1e6, quantile(seconds, 0) * 1e6);
}

/// Runs all plans in turn and prints the speed of each relative to the first, round by round.
void contest(const std::vector<Run> &runs, const std::vector<std::string> &names,
             const Options &options, bool backward) {
  std::vector<std::vector<double>> ratios(runs.size()), seconds(runs.size());
  for (int64_t round = 0; round < options.number("repeats", 15); ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      seconds[i].push_back(runs[i].phase(backward));
      ratios[i].push_back(seconds[0].back() / seconds[i].back());
    }
  }
  for (size_t i = 0; i < runs.size(); ++i)
    std::printf("%s %-60s speed against first: %.3f (quartiles %.3f %.3f), shortest %.3f ms\n",
                backward ? "backward" : "forward ", names[i].c_str(), quantile(ratios[i], 0.5),
                quantile(ratios[i], 0.25), quantile(ratios[i], 0.75),
                quantile(seconds[i], 0) * 1e3);
}

/// Compiles and runs another file on the inputs of `run`. Returns true if all results have the same
/// bits.
bool isEqual(const Run &run, const std::string &file, const Options &options) {
  const bool grad = options.number("grad", 0);
  Program program = compile(options, file, "cpu", options.get("set", ""));
  std::vector<Run> runs;
  runs.emplace_back(program, sizesOf(options), options);
  copyInputs(runs[0], run);
  runs[0].phase(false);
  if (grad)
    runs[0].phase(true);
  if (!compareBits(run, runs[0]))
    return false;
  if (options.number("time", 0)) {
    runs.emplace_back(run.program, sizesOf(options), options);
    contest(runs, {file, "this file"}, options, false);
    if (grad)
      contest(runs, {file, "this file"}, options, true);
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  if (argc < 2)
    die("expected FILE.mlir [--name=value ...]");
  Options options;
  for (int i = 2; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    auto [name, value] = argument.ltrim('-').split('=');
    options.text[name.str()] = value.str();
  }
  bool quiet = options.number("quiet", 0), grad = options.number("grad", 0);
  Program fused = compile(options, argv[1], "cpu", options.get("set", ""));
  if (!quiet)
    std::printf("compiled in %.0f ms\n", fused.compileSeconds * 1e3);
  Run run(fused, sizesOf(options), options);
  run.phase(false);
  if (grad)
    run.phase(true);
  bool good = true;
  if (options.number("check", 1)) {
    Program loops = compile(options, argv[1], "loops", "");
    Run reference(loops, sizesOf(options), options);
    reference.phase(false);
    if (grad)
      reference.phase(true);
    good = compare(run, reference, options);
  }
  if (std::string file = options.get("equal", ""); !file.empty())
    good &= isEqual(run, file, options);
  if (options.number("repeats", 15) && options.number("time", 0)) {
    time(run, options, false);
    if (grad)
      time(run, options, true);
  }
  if (std::string others = options.get("against", ""); !others.empty()) {
    llvm::SmallVector<llvm::StringRef> sets;
    llvm::StringRef(others).split(sets, ';');
    std::vector<std::string> names = {options.get("set", "(default)")};
    std::vector<std::unique_ptr<Program>> programs;
    std::vector<Run> runs;
    runs.push_back(std::move(run));
    for (llvm::StringRef set : sets) {
      names.push_back(set.str());
      programs.push_back(std::make_unique<Program>(compile(options, argv[1], "cpu", set.str())));
      runs.emplace_back(*programs.back(), sizesOf(options), options);
      runs.back().phase(false);
    }
    contest(runs, names, options, false);
    if (grad)
      contest(runs, names, options, true);
  }
  return good ? 0 : 1;
}

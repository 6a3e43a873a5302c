//===- RunCommand.cpp - pe run ---===//
#include "runtime/api/Check.h"
#include "runtime/api/Lengths.h"
#include "runtime/core/Safetensors.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/KernelCounts.h"
#include "tools/pe/Materialize.h"
#include "tools/pe/Run.h"
#include "tools/pe/Timing.h"

#include <charconv>
#include <chrono>

namespace pe::cli {
namespace {

struct RunOptions : FileOptions {
  std::string in, out, shape;
  /// The lengths of batch entries, or empty.
  std::string lengths;
  /// The number of keys for which tables over distances are prepared; default: the keys of the
  /// call.
  std::optional<int64_t> capacity;
  std::optional<uint64_t> seed;
  std::optional<int64_t> queryStart, headsTotal;
  int64_t keyStart = 0, headStart = 0;
  int threads = 0;
  bool check = false, materialize = false;
  /// The values of flags with an optional value; empty if the flag is absent.
  std::string time, explain;
  std::string counts; // a file, or - for a table
};

class Run {
public:
  explicit Run(RunOptions options) : options(std::move(options)) {}
  Status execute();

private:
  Status checkOptions();
  Status readInputsAndSizes();
  Status readLengths();
  TensorMap withCapacity() const;
  Status roundForReference();
  Status compile();
  std::vector<int64_t> keyCounts() const;
  void noteRowsWithoutKeys() const;
  Status compute();
  Status call();
  Status materialize();
  Status compareWithReference();
  Status time();
  Status write();
  void noteResults() const;

  RunOptions options;
  std::shared_ptr<const api::ProgramState> program;
  std::shared_ptr<const jit::Description> description;
  std::shared_ptr<const api::CompiledFunction> function;
  std::unique_ptr<cpu::ThreadPool> pool;
  int repeats = 0;
  double seconds = 0; // of the call, without compiling
  Sizes sizes;        // by the names of --shape
  TensorMap inputs, arguments, cotangents, found;
  Positions positions;
};

/// Adds the lengths of --kv-len to the inputs, and checks options that a call with lengths lacks.
Status Run::readLengths() {
  const EntryInfo &entry = description->entry;
  if (!options.lengths.empty()) {
    if (!isLengths(entry, device::kLengths))
      return makeError("--kv-len: expected a function without an argument '", device::kLengths,
                       "', which @", entry.name, " has; give it with --in");
    if (inputs.contains(device::kLengths))
      return makeError("--kv-len: expected the lengths once, found them in ", options.in, " too");
    auto lengths = parseLengths(options.lengths);
    if (!lengths)
      return lengths.takeError();
    inputs[device::kLengths] = *std::move(lengths);
  }
  const bool areGiven = inputs.contains(device::kLengths) && isLengths(entry, device::kLengths);
  if (areGiven && options.materialize)
    return makeError("--materialize: expected a call without '", device::kLengths,
                     "', found one with it");
  return Status::success();
}

Status Run::readInputsAndSizes() {
  const EntryInfo &entry = description->entry;
  constexpr int64_t kMost = int64_t(1) << 30;
  if (options.capacity && (*options.capacity < 0 || *options.capacity > kMost))
    return makeError("--capacity: expected a number of keys from 0 to 2^30, found ",
                     *options.capacity);
  if (options.in.empty() == !options.seed.has_value())
    return makeError("expected either --in=FILE.safetensors or --random=SEED, found ",
                     options.in.empty() ? "neither; --random=1 draws inputs" : "both");
  if (!options.in.empty()) {
    auto read = readInputs(options.in, entry);
    if (!read)
      return read.error();
    inputs = std::move(*read);
  } else {
    auto sizes = parseShape(options.shape, entry);
    if (!sizes)
      return sizes.error();
    auto random = randomInputs(entry, *sizes, *options.seed, positions);
    if (!random)
      return random.error();
    inputs = std::move(*random);
  }
  if (Status read = readLengths(); !read)
    return read;
  auto known = sizesOf(inputs, entry);
  if (!known)
    return known.error();
  sizes = *std::move(known);
  if (sizes.count("hkv") && (sizes["hkv"] == 0 || sizes["h"] % sizes["hkv"] != 0))
    return makeError(
               "expected the number of query heads to be a multiple of that of key heads, found ",
               sizes["h"], " and ", sizes["hkv"], layoutHint(sizes, "; "))
        .at(entry.location);
  if (!options.in.empty())
    if (std::string hint = layoutHint(sizes); !hint.empty())
      std::fprintf(stderr, "pe run: note: %s\n", hint.c_str());
  options.headDim = sizes.count("d") ? sizes["d"] : 64;
  options.valueDim = sizes.count("dv") ? sizes["dv"] : 64;
  // A package has a single type, to which the tensors are converted.
  if (options.dtype.empty() && program->packaged)
    if (auto plan = program->packaged->find({.target = options.target, .chip = options.chip}))
      options.dtype = nameOf((*plan)->dtype);
  const DType found = activationsOf(inputs, entry);
  if (options.dtype.empty())
    options.dtype = nameOf(found);
  auto converted = argumentsOf(inputs, entry);
  if (!converted)
    return converted.error();
  arguments = std::move(*converted);
  if (!options.grad)
    return Status::success();
  auto upstream = cotangentsOf(inputs, entry);
  if (!upstream)
    return upstream.error();
  cotangents = std::move(*upstream);
  if (cotangents.empty())
    return makeError("--grad: expected at least one cotangent (d_", entry.results.front().name,
                     ") in ", options.in, ", found none");
  return Status::success();
}

/// Rounds the inputs to `dtype` and back to f32, so that the float64 reference has the same inputs.
Status Run::roundForReference() {
  auto dtype = parseDType(options.dtype);
  if (!dtype)
    return dtype.takeError();
  for (TensorMap *tensors : {&arguments, &cotangents})
    for (auto &[name, tensor] : *tensors) {
      if (!isActivation(description->entry, name)) // parameters, log-sum-exp
        continue;
      auto rounded = convert(tensor, storageOf(*dtype));
      auto widened = rounded ? convert(*rounded, DType::F32) : std::move(rounded);
      if (!widened)
        return widened.takeError();
      tensor = *std::move(widened);
    }
  return Status::success();
}

Status Run::compile() {
  CompileOptions chosen = compileOptionsOf(options);
  if (options.isFor(plan::Target::Reference))
    chosen.dtype = DType::F32;
  chosen.lineTables = !options.counts.empty() && !program->packaged;
  auto compiled = api::compileProgram(*program, chosen);
  if (!compiled)
    return compiled.error();
  function = *compiled;
  for (const std::string &line : function->runner->getPlan().diagnostics)
    if (line.find(": warning: ") != std::string::npos)
      std::fprintf(stderr, "%s\n", line.c_str());
  // Round once to the types of the computation, so that the reference has the same inputs.
  for (TensorMap *tensors : {&arguments, &cotangents}) {
    auto planned = api::asPlanned(*tensors, function->runner->getPlan());
    if (!planned)
      return planned.error();
    *tensors = *std::move(planned);
  }
  return Status::success();
}

/// Returns the number of keys of each batch entry of a call with lengths; otherwise that of all.
std::vector<int64_t> Run::keyCounts() const {
  const auto lengths = arguments.find(device::kLengths);
  if (lengths == arguments.end() || !isLengths(description->entry, device::kLengths))
    return {sizes.at("sk")};
  const Tensor packed = lengths->second.contiguous();
  return {packed.values<int32_t>().begin(), packed.values<int32_t>().end()};
}

/// Prints a note if the default of q_start places queries at negative positions.
void Run::noteRowsWithoutKeys() const {
  const auto queries = sizes.find("sq"), keys = sizes.find("sk");
  if (options.queryStart || queries == sizes.end() || keys == sizes.end())
    return;
  int64_t before = 0, all = 0;
  for (const plan::FrameWord &word : function->runner->getPlan().frame) {
    auto start = plan::SizeExpression::parse(word.fallback);
    if (word.name != "q_start" || !start ||
        !start->resolve(std::vector<std::string>{"k_start", "c", "r"}))
      continue;
    for (const int64_t count : keyCounts()) {
      const int64_t values[] = {options.keyStart, count, queries->second};
      const auto first = start->evaluateSigned(values);
      before += first ? std::clamp<int64_t>(-*first, 0, queries->second) : 0;
      all += queries->second;
    }
  }
  if (before == 0)
    return;
  const bool haveLengths =
      arguments.contains(device::kLengths) && isLengths(description->entry, device::kLengths);
  std::fprintf(stderr,
               "pe run: note: %lld of %lld queries are at negative positions, where they attend to "
               "nothing, because there are fewer keys than queries%s\n",
               static_cast<long long>(before), static_cast<long long>(all),
               haveLengths ? "" : "; --q-start=0 puts the first query at position 0");
}

Status Run::compute() {
  if (!options.counts.empty())
    if (Status started = startCounting(); !started)
      return started;
  const auto start = std::chrono::steady_clock::now();
  Status status = call();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

/// Returns the arguments and the capacity that --capacity gives.
TensorMap Run::withCapacity() const {
  TensorMap all = arguments;
  if (options.capacity)
    all[device::kCapacity] = Tensor::zeros(DType::U8, {*options.capacity});
  return all;
}

Status Run::call() {
  if (Status accepted = api::checkLengths(*program, *function->runner, arguments); !accepted)
    return accepted;
  auto forward = function->runner->forward(withCapacity(), positions, *pool);
  if (!forward)
    return forward.error();
  found = (*forward)->results();
  if (!options.grad)
    return Status::success();
  auto gradients = function->runner->backward(**forward, cotangents, *pool);
  if (!gradients)
    return gradients.error();
  for (auto &[name, tensor] : *gradients)
    found[name] = tensor;
  return Status::success();
}

/// Computes the dense bias with compiled code and with the reference (--materialize).
Status Run::materialize() {
  auto call = materializeCall(*program, compileOptionsOf(options), arguments, positions, *pool);
  if (!call)
    return call.error();
  if (call->isCompiled)
    std::fputs(call->report.table().c_str(), stderr);
  else
    std::fprintf(stderr, "pe run: note: 'bias' is the reference's: %s\n",
                 program->packaged && !options.isFor(plan::Target::Reference)
                     ? "the package was made without --materialize"
                     : "--target=reference compiles none");
  auto single = convert(call->expected.bias, DType::F32);
  if (!single)
    return single.error();
  found["bias"] = call->bias;
  found["bias_reference"] = *std::move(single);
  return checkMaterialized(*call);
}

/// Compares the results with the reference (--check).
Status Run::compareWithReference() {
  if (!options.check || options.isFor(plan::Target::Reference))
    return Status::success();
  TensorMap all = arguments;
  all.insert(cotangents.begin(), cotangents.end());
  auto judged = api::judge(*description, *function, all, found, positions, options.grad,
                           static_cast<unsigned>(options.threads));
  if (!judged)
    return judged.error();
  std::fputs(judged->report.table().c_str(), stderr);
  return judged->status();
}

Status Run::time() {
  auto pairs = countMaskedPairs(*description, arguments, positions, options.threads);
  if (!pairs)
    return pairs.error();
  auto timing = timeCalls(*function, withCapacity(), cotangents, positions, *pool, repeats, *pairs);
  if (!timing)
    return timing.error();
  std::printf("%s\n", timing->json(function->runner->getPlan().structure).c_str());
  return Status::success();
}

Status Run::write() {
  if (options.out.empty())
    return Status::success();
  Safetensors file;
  for (auto &[name, tensor] : found) {
    auto single = convert(tensor, DType::F32);
    if (!single)
      return single.error();
    file.tensors.push_back({name, *single});
  }
  return writeSafetensors(options.out, file);
}

/// Checks the options that CLI11 does not check.
Status Run::checkOptions() {
  if (Status target = checkTarget(options); !target)
    return target;
  if (Status output = checkOutput("--out", options.out); !output)
    return output;
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                     " (0: one per core), found ", options.threads);
  if (!options.explain.empty() && options.explain != "text" && options.explain != "json")
    return makeError("--explain: expected text or json, found '", options.explain, "'");
  if (!options.counts.empty() && !options.isFor(plan::Target::GpuEmulator))
    return makeError("--count: expected --target=gpu-emulator, found --target=", options.target);
  if (options.time.empty())
    return Status::success();
  const char *end = options.time.data() + options.time.size();
  auto [rest, code] = std::from_chars(options.time.data(), end, repeats);
  if (code != std::errc() || rest != end || repeats < 1)
    return makeError("--time: expected a number of calls of 1 to 2147483647, found '", options.time,
                     "'");
  return Status::success();
}

Status Run::execute() {
  if (Status good = checkOptions(); !good)
    return good;
  auto loaded = loadFile(options.file, options.entry);
  if (!loaded)
    return loaded.error();
  program = *loaded;
  description = program->description;
  positions.queryStart = options.queryStart;
  positions.keyStart = options.keyStart;
  positions.headStart = options.headStart;
  positions.headsTotal = options.headsTotal;
  if (Status read = readInputsAndSizes(); !read)
    return read;
  if (options.isFor(plan::Target::Reference))
    if (Status rounded = roundForReference(); !rounded)
      return rounded;
  cpu::ThreadPool::Options threads;
  threads.threads = options.threads;
  pool = std::make_unique<cpu::ThreadPool>(threads);
  if (Status compiled = compile(); !compiled)
    return compiled;
  if (Status computed = compute(); !computed)
    return computed;
  noteRowsWithoutKeys(); // after errors, which must come first in the output
  if (Status compared = compareWithReference(); !compared)
    return compared;
  if (options.materialize)
    if (Status materialized = materialize(); !materialized)
      return materialized;
  if (!options.explain.empty() && function)
    std::printf(
        "%s\n",
        (options.explain == "json" ? function->explainJson : function->explainText).c_str());
  if (!options.counts.empty() && options.counts != "-") {
    if (Status written = writeCounts(options.counts); !written)
      return written;
  } else if (!options.counts.empty()) {
    auto table = takeCounts();
    if (!table)
      return table.error();
    std::fputs(table->c_str(), stdout);
  }
  if (repeats && function)
    if (Status timed = time(); !timed)
      return timed;
  noteResults();
  return write();
}

/// Prints a summary of the call if no output was requested.
void Run::noteResults() const {
  const bool isAsked = options.check || options.materialize || repeats || !options.out.empty() ||
                       !options.explain.empty() || !options.counts.empty();
  if (isAsked)
    return;
  std::string shapes;
  for (const auto &[name, tensor] : found)
    shapes += (shapes.empty() ? "" : ", ") + name + " " + toString(tensor.shape());
  std::printf(
      "ran in %.2g s: %s; no output was requested; add --check, --out=FILE, --time or --explain\n",
      seconds, shapes.c_str());
}

} // namespace

Action addRun(CLI::App &app) {
  auto options = std::make_shared<RunOptions>();
  addFileOptions(app, *options);
  addEarlyExit(app, *options);
  app.add_option("--in", options->in,
                 "Read inputs by name from this file (safetensors; F32, BF16 or F16)");
  app.add_option("--out", options->out,
                 "Write results, and gradients with --grad, to this file (safetensors, F32)");
  app.add_option("--random", options->seed, "Draw random inputs with this seed instead of --in");
  app.add_option("--shape", options->shape,
                 "Sizes for --random: b=1,h=8,hkv=8,sq=1024,sk=1024,d=64,dv=64 (for an embedding: "
                 "b=1,sq=1024,dm=512)");
  addSwitch(app, "--grad", options->grad,
            "Also compute the gradients of all floating-point arguments");
  app.add_option("--kv-len", options->lengths,
                 "The number of keys of each batch entry, such as 5,9,12; default: all keys");
  app.add_option("--capacity", options->capacity,
                 "Prepare tables over distances for this number of keys; default: Sk");
  app.add_option("--q-start", options->queryStart,
                 "Position of query row 0; default: k-start + Sk - Sq");
  app.add_option("--k-start", options->keyStart, "Position of key column 0")->capture_default_str();
  app.add_option("--head-start", options->headStart, "Global index of head 0")
      ->capture_default_str();
  app.add_option("--heads-total", options->headsTotal,
                 "Heads of the entire model; default: the heads of this call");
  app.add_option("--threads", options->threads, "Threads; default: one per core");
  addSwitch(app, "--check", options->check,
            "Compare with the float64 reference and print the errors");
  addSwitch(
      app, "--materialize", options->materialize,
      "Also compute the dense bias from the compiled tables, compare it with the reference's, "
      "and write both with --out (`bias`, `bias_reference`)");
  // These are flags, so their value must follow '='; the next word is not their value.
  app.add_flag("--time{15}", options->time,
               "Print one JSON line with medians over this many calls (default: 15)");
  app.add_flag("--count{-}", options->counts,
               "Print what the kernels of --target=gpu-emulator execute and what their accesses "
               "of memory cost, or write it to this file by line of PTX");
  app.add_flag("--explain{text}", options->explain,
               "Print structure, kernel and cost, as text (default) or json");
  app.footer("Example: pe run examples/encodings/fire.mlir --random=1 --shape=b=1,h=8,sq=1024,d=64 "
             "--grad --check --time");
  return [options] {
    Status status = Run(*options).execute();
    return status ? 0 : reportError("run", status.error());
  };
}

} // namespace pe::cli

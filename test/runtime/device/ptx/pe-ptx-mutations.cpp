//===- pe-ptx-mutations.cpp - Mutants of PTX are noticed ------------------===//
//
//   pe-ptx-mutations FILE KIND[,KIND...] [QUERIES KEYS DEPTH DTYPE [SCHEDULE]]
//
// Compiles FILE forward and backward for the gpu-emulator target, with fields of its schedules, and
// runs it under several orders of threads, with these sizes, with queries and keys exchanged, and
// without queries: the results must be bitwise equal. Then changes one line of the PTX at a time.
// Under at least one schedule, the machine must report an error or a result must differ. Prints a
// line per mutant that is not noticed and a count per kind; exits with 1 if there is such a mutant.
//
// Kinds, with what a mutant does:
//   barrier   omits a barrier of a CTA
//   warp      omits a synchronization of a warp
//   wait      omits a wait for asynchronous copies, or lets one more group be in flight
//   acquire   relaxes an acquire load
//   release   relaxes a release store
//   turn      omits a release store, so that a turn is not passed on
//   fence     omits a fence
//   counter   omits an atomic addition
//   swizzle   changes the constant of an exclusive or of addresses
//   fragment  exchanges rows of a fragment, or does not transpose it
//   count     lets a barrier wait for 32 threads
//   vote      omits a barrier that is a vote of a CTA, or its exchange: a thread takes its own vote
//   words     takes a random counter of other keys
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Compiler.h"
#include "runtime/api/Inputs.h"
#include "runtime/core/File.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/EmulatedRunner.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <regex>
#include <sstream>

using namespace pe;

namespace {

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "pe-ptx-mutations: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> T take(Expected<T> value) {
  if (!value)
    die(value.error().getMessage());
  return *std::move(value);
}

//===- Kinds of mutants ---------------------------------------------------===//

struct Rule {
  std::string kind;
  std::regex line;
  /// The format of the new line (std::regex_replace); empty: the line is omitted.
  std::string replacement;
};

const std::vector<Rule> &rules() {
  static const std::vector<Rule> all = {
      {"barrier", std::regex(R"(^\s*(bar|barrier)(\.cta)?\.sync\b.*)"), ""},
      {"warp", std::regex(R"(^\s*bar\.warp\.sync\b.*)"), ""},
      {"wait", std::regex(R"(^\s*cp\.async\.wait_(group|all)\b.*)"), ""},
      {"wait", std::regex(R"((cp\.async\.wait_group\s+)0;)"), "$011;"},
      {"wait", std::regex(R"((cp\.async\.wait_group\s+)1;)"), "$012;"},
      {"acquire", std::regex(R"(\bld\.acquire\.gpu)"), "ld.relaxed.gpu"},
      {"release", std::regex(R"(\bst\.release\.gpu)"), "st.relaxed.gpu"},
      {"turn", std::regex(R"(^.*\bst\.release\.gpu.*)"), ""},
      {"fence", std::regex(R"(^\s*(fence|membar)\..*)"), ""},
      {"counter", std::regex(R"(^.*\batom\.(\w+\.)*add\.(\w+)\s+(%\w+),.*)"), "\tmov.$2 $3, 0;"},
      {"swizzle", std::regex(R"((\bxor\.b32\s+%\w+, %\w+, )(16|32|48|64|80|96|112);)"), "$010;"},
      {"fragment", std::regex(R"((\bldmatrix\.\S+\s+)\{(%\w+), (%\w+), (%\w+), (%\w+)\})"),
       "$1{$3, $2, $5, $4}"},
      {"fragment", std::regex(R"((\bldmatrix\.[\w.]*)\.trans)"), "$1"},
      {"count", std::regex(R"(^(\s*bar\.sync\s+\w+);)"), "$1, 32;"},
      {"vote", std::regex(R"(^\s*bar\.red\.or\.pred\s+(%\w+), \w+, (%\w+);)"),
       "\tmov.pred $1, $2;"},
      {"vote", std::regex(R"(^\s*bar\.red\.or\.pred\s+(%\w+), (\w+), (%\w+);)"),
       "\tbar.sync $2;\n\tmov.pred $1, $3;"},
      {"words", std::regex(R"((\bshr\.[su]32\s+%\w+, %\w+, )2;)"), "$013;"},
  };
  return all;
}

struct Mutant {
  size_t line;
  std::string replacement;
};

std::vector<Mutant> mutantsOf(const std::vector<std::string> &lines, const std::string &kind) {
  std::vector<Mutant> mutants;
  for (const Rule &rule : rules())
    if (rule.kind == kind)
      for (size_t i = 0; i < lines.size(); ++i)
        if (std::regex_search(lines[i], rule.line))
          mutants.push_back({i, std::regex_replace(lines[i], rule.line, rule.replacement)});
  return mutants;
}

//===- Runs ---------------------------------------------------------------===//

/// The results and gradients of a call as bytes, or the error.
struct Outcome {
  std::string error, bytes;
  bool operator==(const Outcome &) const = default;
};

struct Inputs {
  TensorMap arguments, cotangents;
};

struct Program {
  plan::Plan plan;
  std::string ptx;
  std::vector<Inputs> calls;
};

Program compile(const std::string &file, const plan::CallSizes &sizes, int64_t depth, DType dtype,
                const std::string &schedule) {
  jit::CompileRequest request;
  request.schedule = schedule;
  request.source = {take(readFile(file)), file, ""};
  request.headDim = request.valueDim = depth;
  request.dtype = dtype;
  request.grad = true;
  request.target = plan::Target::GpuEmulator;
  auto &compiler = api::Compiler::instance();
  const EntryInfo entry = take(compiler.describe(request.source))->entry;
  const api::Bundle bundle = take(compiler.compileToBundle(request));
  Program program{take(plan::parsePlan(bundle.at("plan"))), bundle.at("object"), {}};
  plan::CallSizes exchanged = sizes, empty = sizes;
  std::swap(exchanged.queries, exchanged.keys);
  empty.queries = 0;
  for (const plan::CallSizes &each : {sizes, exchanged, empty}) {
    const plan::SizeValues values = each.values(depth, depth);
    const auto draw = [&](auto random) {
      return take(api::asPlanned(take(random(entry, 3, values)), program.plan));
    };
    program.calls.push_back({draw(api::randomArguments), draw(api::randomCotangents)});
  }
  return program;
}

Outcome run(const Program &program, const std::string &ptx, int seed, uint64_t limit) {
  setenv("PE_PTX", ("seed=" + std::to_string(seed) + ",limit=" + std::to_string(limit)).c_str(), 1);
  take(cuda::Driver::openEmulator())->contextReset(80);
  cpu::ThreadPool pool({.threads = 1});
  auto runner = cuda::EmulatedRunner::create(program.plan, ptx, {.poison = true});
  if (!runner)
    return {runner.error().getMessage(), ""};
  Outcome outcome;
  for (const Inputs &inputs : program.calls) {
    auto call = (*runner)->forward(inputs.arguments, {}, pool);
    if (!call)
      return {call.error().getMessage(), ""};
    auto gradients = (*runner)->backward(**call, inputs.cotangents, pool);
    if (!gradients)
      return {gradients.error().getMessage(), ""};
    for (const TensorMap *tensors :
         {&(*call)->results(), static_cast<const TensorMap *>(&*gradients)})
      for (const auto &[name, tensor] : *tensors)
        outcome.bytes.append(static_cast<const char *>(tensor.rawData()), tensor.byteSize());
  }
  return outcome;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    die("expected FILE KIND[,KIND...] [QUERIES KEYS DEPTH DTYPE [SCHEDULE]]");
  const auto number = [&](int index, int64_t otherwise) {
    return index < argc ? std::atoll(argv[index]) : otherwise;
  };
  plan::CallSizes sizes;
  sizes.batch = sizes.queryHeads = sizes.keyHeads = sizes.headsTotal = 1;
  sizes.queries = number(3, 70), sizes.keys = number(4, 130);
  const DType dtype = argc > 6 ? take(parseDType(argv[6])) : DType::F32;
  const Program program = compile(argv[1], sizes, number(5, 16), dtype, argc > 7 ? argv[7] : "");
  constexpr int kSeeds[] = {1, 2, 3, 4};
  constexpr uint64_t kLimit = 500'000'000; // warp instructions of a kernel
  const Outcome expected = run(program, program.ptx, kSeeds[0], kLimit);
  for (int seed : kSeeds) {
    const Outcome outcome = run(program, program.ptx, seed, kLimit);
    if (!outcome.error.empty())
      die("without mutations: " + outcome.error);
    if (outcome != expected)
      die("without mutations, the results depend on the schedule");
  }
  const std::vector<std::string> lines = split(program.ptx, '\n');
  bool isComplete = true;
  for (const std::string &kind : split(argv[2], ',')) {
    const std::vector<Mutant> mutants = mutantsOf(lines, kind);
    size_t noticed = 0, reached = 0;
    for (const Mutant &mutant : mutants) {
      const auto isNoticed = [&](const std::string &replacement) {
        std::string text;
        for (size_t i = 0; i < lines.size(); ++i)
          text += (i == mutant.line ? replacement : lines[i]) + "\n";
        return std::ranges::any_of(
            kSeeds, [&](int seed) { return run(program, text, seed, kLimit) != expected; });
      };
      if (isNoticed(mutant.replacement)) {
        ++noticed, ++reached;
      } else if (isNoticed("\ttrap;")) {
        ++reached;
        std::printf("not noticed: %s, line %zu: %s ->%s\n", kind.c_str(), mutant.line + 1,
                    lines[mutant.line].c_str(), mutant.replacement.c_str());
      }
    }
    std::printf("%s: %zu of %zu mutants noticed; %zu in lines that do not run\n", kind.c_str(),
                noticed, reached, mutants.size() - reached);
    isComplete = isComplete && noticed == reached && reached > 0;
  }
  return isComplete ? 0 : 1;
}

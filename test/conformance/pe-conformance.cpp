//===- pe-conformance.cpp - Runs the case table on one target -------------===//
//
//   pe-conformance --target=cpu|loops|gpu-emulator|cuda|reference [--features=x86-64-v3]
//                  [--chip=sm_90a] [--dtype=f32|bf16|f16|tf32] [--schedule=FIELDS]
//                  [--encoding=a,b] [--call=a,b]
//                  [--loops=turn|all|NAMES] [--permissions]
//                  [--threads=1,1,3] [--seed=N] [--root=DIR] [--poison] [--quick [--with=a,b]]
//                  [--turn=K/N] [--few-rows=N] [--forward] [--verbose] [--failures] [--times]
//                  [--list]
//
// --loops selects the blocks and owners (Cases.cpp) of target loops: two per encoding in rotation,
// all, or a list such as 16x16-rows. --permissions skips the blocks that an algorithm may skip.
// --few-rows runs N random calls of 1 to 8 rows per encoding after those of the table
// (RandomCalls.h). --forward compiles no gradients.
// --quick omits long calls, except for those of --with.
// --turn=K/N runs large calls, head dims other than 16, and numbers of threads other than the
// first, only in every N-th case, so that N runs with K from 0 to N-1 cover the table. Other calls
// always run. --poison fills fresh buffers with NaN. The user's disk cache is not used. Prints a
// line per case, all tensors of a failing case, and a last line with counts. --failures omits the
// lines of cases that pass or are not run. --times prints a line per case with the seconds of
// compilation, of the reference and of the runs. Exits with 1 if any case failed or none was run,
// and with 77 if this machine does not have the target.
//
//===----------------------------------------------------------------------===//

#include "conformance/Exemptions.h"
#include "conformance/RandomCalls.h"
#include "runtime/device/cuda/Device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

using namespace pe;
using namespace pe::conformance;

struct Arguments {
  SubjectOptions subject;
  std::string root = PE_TEST_SOURCE_DIR;
  std::vector<std::string> encodings;
  std::vector<std::string> calls;
  std::vector<std::string> longCalls; // that run in spite of --quick
  std::vector<std::string> loops;     // empty: in rotation
  std::vector<int> threads = {1, 1, 2, 3};
  uint64_t seed = 1;
  Turn turn;
  int fewRows = 0; // random calls per encoding
  bool quick = false;
  bool verbose = false;
  bool failuresOnly = false;
  bool times = false;
  bool list = false;
};

std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

Status parseOption(const std::string &option, Arguments &arguments) {
  size_t equals = option.find('=');
  std::string name = option.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (name == "--target")
    arguments.subject.target = value;
  else if (name == "--dtype") {
    auto dtype = parseDType(value);
    if (!dtype)
      return dtype.takeError();
    arguments.subject.dtype = *dtype;
  } else if (name == "--features")
    arguments.subject.features = value;
  else if (name == "--chip")
    arguments.subject.chip = value;
  else if (name == "--schedule")
    arguments.subject.schedule = value;
  else if (name == "--root")
    arguments.root = value;
  else if (name == "--encoding")
    arguments.encodings = splitList(value);
  else if (name == "--call")
    arguments.calls = splitList(value);
  else if (name == "--with")
    arguments.longCalls = splitList(value);
  else if (name == "--seed")
    arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
  else if (name == "--few-rows")
    arguments.fewRows = std::atoi(value.c_str());
  else if (name == "--forward")
    arguments.subject.grad = false;
  else if (name == "--loops")
    arguments.loops = splitList(value);
  else if (name == "--permissions")
    arguments.subject.loops.useStop = arguments.subject.loops.useSkip = true;
  else if (name == "--turn") {
    if (std::sscanf(value.c_str(), "%zu/%zu", &arguments.turn.number, &arguments.turn.of) != 2 ||
        arguments.turn.number >= arguments.turn.of)
      return makeError("expected --turn=K/N with K < N, found '", value, "'");
  } else if (name == "--poison")
    arguments.subject.poison = true;
  else if (name == "--quick")
    arguments.quick = true;
  else if (name == "--verbose")
    arguments.verbose = true;
  else if (name == "--failures")
    arguments.failuresOnly = true;
  else if (name == "--times")
    arguments.times = true;
  else if (name == "--list")
    arguments.list = true;
  else if (name == "--threads") {
    arguments.threads.clear();
    for (const std::string &count : splitList(value))
      arguments.threads.push_back(std::max(1, std::atoi(count.c_str())));
  } else
    return makeError("unknown option '", option,
                     "'; the options are listed at the top of pe-conformance.cpp");
  return Status::success();
}

bool isChosen(const std::vector<std::string> &names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns true for the long calls that --quick omits.
bool isTooLong(const Arguments &arguments, const Call &call) {
  return arguments.quick && call.isLong &&
         std::ranges::find(arguments.longCalls, call.name) == arguments.longCalls.end();
}

/// Returns one subject, or for target loops one per choice of blocks and owner.
Expected<std::vector<std::unique_ptr<Subject>>> makeSubjects(const Arguments &arguments) {
  SubjectOptions options = arguments.subject;
  const bool isLoops = options.target == "loops";
  if (!isLoops && (!arguments.loops.empty() || options.loops != LoopOptions()))
    return makeError("--loops and --permissions require --target=loops");
  std::vector<std::unique_ptr<Subject>> subjects;
  for (size_t number = 0; number < (isLoops ? loopChoices().size() : 1); ++number) {
    if (isLoops) {
      options.loops = loopChoices()[number].options;
      options.loops.useStop = arguments.subject.loops.useStop;
      options.loops.useSkip = arguments.subject.loops.useSkip;
    }
    auto subject = makeSubject(options);
    if (!subject)
      return subject.takeError();
    subjects.push_back(std::move(*subject));
  }
  return subjects;
}

/// Returns true for a call that waits for another turn.
bool isLeftOut(const Arguments &arguments, size_t encoding, const Call &call) {
  const int64_t blockRows = arguments.subject.target == "gpu-emulator" ? 64 : 1;
  return waitsForTurn(encodingFiles()[encoding], call, blockRows) &&
         !isInTurn(arguments.turn, encoding, call);
}

/// Returns true if subject number `number` runs a call of encoding number `encoding`.
bool isAsked(const Arguments &arguments, size_t number, size_t encoding, const Call &call) {
  if (isLeftOut(arguments, encoding, call))
    return false;
  if (arguments.subject.target != "loops")
    return true;
  if (arguments.loops.empty() || arguments.loops[0] == "turn")
    return isInTurn(number, encoding, call);
  return arguments.loops[0] == "all" || isChosen(arguments.loops, loopChoices()[number].name);
}

/// A temporary directory that replaces the user's cache, so that all functions are compiled by the
/// current build of the compiler.
class FreshCache {
public:
  FreshCache() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pe-conformance-XXXXXX");
    if (mkdtemp(pattern.data())) {
      folder = pattern;
      setenv("PE_CACHE_DIR", folder.c_str(), 1);
    }
  }
  ~FreshCache() {
    std::error_code ignored;
    if (!folder.empty())
      std::filesystem::remove_all(folder, ignored);
  }

private:
  std::string folder;
};

constexpr int kSkipped = 77; // SKIP_RETURN_CODE in CMakeLists.txt

struct Counts {
  int cases = 0, failed = 0;
};

/// Runs a case on every selected subject. `device` is that of the subjects (deviceOf).
void runCase(const Arguments &arguments, const std::string &device, Suite &suite,
             std::span<const std::unique_ptr<Subject>> subjects, size_t encoding, const Call &call,
             Counts &counts) {
  const EncodingFile &file = encodingFiles()[encoding];
  const std::string caseName = std::string(file.name) + " " + std::string(call.name);
  const bool isExact = arguments.subject.dtype == DType::F32;
  const bool isExtreme = call.isFar || call.isLate;
  if ((!isExact && isExtreme) || (file.isEarlyOnly && call.isLate)) {
    if (!arguments.failuresOnly)
      std::printf("%s: not compared in %s\n", caseName.c_str(),
                  std::string(nameOf(arguments.subject.dtype)).c_str());
    return;
  }
  const Exemption *exemption = findExemption(caseName, device, arguments.subject.dtype);
  for (size_t number = 0; number < subjects.size(); ++number) {
    if (!isAsked(arguments, number, encoding, call))
      continue;
    ++counts.cases;
    std::string_view name = subjects.size() > 1 ? loopChoices()[number].name : "";
    if (arguments.list) {
      std::printf("%s %s\n", caseName.c_str(), std::string(name).c_str());
      continue;
    }
    const bool isAlone =
        !isInTurn(arguments.turn, encoding, call); // only on the first number of threads
    const SuiteTimes before = suite.times();
    CaseResult result = suite.run(file, call, *subjects[number], isAlone);
    if (arguments.times)
      std::printf("%s %s: compiling %.3f reference %.3f running %.3f\n", caseName.c_str(),
                  std::string(name).c_str(), suite.times().compiling - before.compiling,
                  suite.times().reference - before.reference,
                  suite.times().running - before.running);
    result.subject = name;
    if (exemption)
      judgeListed(*exemption, result);
    counts.failed += !result.passes();
    if (!arguments.failuresOnly || !result.passes())
      std::fputs(result.summary().c_str(), stdout);
    if (arguments.verbose || !result.passes())
      std::fputs(result.report.table().c_str(), stdout);
    std::fflush(stdout);
  }
}

/// Runs the calls of the table and the random ones of an encoding.
void runEncoding(const Arguments &arguments, const std::string &device, Suite &suite,
                 std::span<const std::unique_ptr<Subject>> subjects, size_t encoding,
                 Counts &counts) {
  const EncodingFile &file = encodingFiles()[encoding];
  if (!isChosen(arguments.encodings, file.name))
    return;
  for (const Call &call : callsOf(file))
    if (isChosen(arguments.calls, call.name) && !isTooLong(arguments, call))
      runCase(arguments, device, suite, subjects, encoding, call, counts);
  for (int number = 0; number < arguments.fewRows && !file.isEmbedding; ++number) {
    RandomCall random = drawFewRows(file, arguments.seed, number);
    if (isLeftOut(arguments, encoding, random.call()))
      random.useSmallDims();
    runCase(arguments, device, suite, subjects, encoding, random.call(), counts);
  }
}

/// Runs the selected cases; returns the exit status.
int runTable(const Arguments &arguments) {
  if (arguments.subject.target == "cuda")
    if (auto device = cuda::Device::open(); !device) {
      std::printf("skipped, all cases: %s\n", device.error().getMessage().c_str());
      return kSkipped;
    }
  auto subjects = makeSubjects(arguments);
  if (!subjects) {
    std::fprintf(stderr, "%s\n", subjects.error().render("pe-conformance").c_str());
    return 1;
  }
  Suite suite(*subjects->front(), arguments.root, arguments.threads, arguments.seed,
              arguments.subject);
  const std::string device = deviceOf(arguments.subject);
  Counts counts;
  for (size_t encoding = 0; encoding < encodingFiles().size(); ++encoding)
    runEncoding(arguments, device, suite, *subjects, encoding, counts);
  const SuiteTimes &times = suite.times();
  std::printf("%d cases, %d failed (%.0f s compiling, %.0f s in the reference, %.0f s running)\n",
              counts.cases, counts.failed, times.compiling, times.reference, times.running);
  if (counts.cases == 0)
    std::fprintf(stderr,
                 "pe-conformance: error: no case matches --encoding and --call; see --list\n");
  return counts.failed || counts.cases == 0 ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  for (int n = 1; n < argc; ++n)
    if (Status status = parseOption(argv[n], arguments); !status) {
      std::fprintf(stderr, "%s\n", status.error().render("pe-conformance").c_str());
      return 1;
    }
  FreshCache cache;
  return runTable(arguments);
}

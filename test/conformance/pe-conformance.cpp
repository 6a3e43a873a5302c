//===- pe-conformance.cpp - The case table on one target ------------------===//
//
//   pe-conformance --target=cpu|loops|gpu-emulator|cuda|reference [--features=x86-64-v3]
//                  [--dtype=f32|bf16|f16|tf32] [--encoding=a,b] [--call=a,b]
//                  [--threads=1,1,3] [--seed=N] [--root=DIR] [--poison] [--quick] [--verbose]
//                  [--list]
//
// --poison fills fresh buffers with NaN. Nothing is taken from a disk cache of earlier programs.
// Prints a line per case, all tensors of a failing one, and a last line that counts. Exit 1 if any
// case failed or none was run, 77 if the target is not on this machine.
//
//===----------------------------------------------------------------------===//

#include "conformance/Conformance.h"
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
  std::vector<int> threads = {1, 1, 2, 3};
  uint64_t seed = 1;
  bool quick = false;
  bool verbose = false;
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
  else if (name == "--root")
    arguments.root = value;
  else if (name == "--encoding")
    arguments.encodings = splitList(value);
  else if (name == "--call")
    arguments.calls = splitList(value);
  else if (name == "--seed")
    arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
  else if (name == "--poison")
    arguments.subject.poison = true;
  else if (name == "--quick")
    arguments.quick = true;
  else if (name == "--verbose")
    arguments.verbose = true;
  else if (name == "--list")
    arguments.list = true;
  else if (name == "--threads") {
    arguments.threads.clear();
    for (const std::string &count : splitList(value))
      arguments.threads.push_back(std::max(1, std::atoi(count.c_str())));
  } else
    return makeError("unknown option '", option, "'; the file's first lines list the options");
  return Status::success();
}

bool isChosen(const std::vector<std::string> &names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// A folder for this run alone, in place of the user's cache: a compiler that has just been built
/// is judged by what it compiles now.
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

constexpr int kSkipped = 77; // as CMake's SKIP_RETURN_CODE

/// Runs the chosen cases; returns the exit status.
int runTable(const Arguments &arguments) {
  if (arguments.subject.target == "cuda")
    if (auto device = cuda::Device::open(); !device) {
      std::printf("skipped, all cases: %s\n", device.error().getMessage().c_str());
      return kSkipped;
    }
  auto subject = makeSubject(arguments.subject);
  if (!subject) {
    std::fprintf(stderr, "%s\n", subject.error().render("pe-conformance").c_str());
    return 1;
  }
  Suite suite(**subject, arguments.root, arguments.threads, arguments.seed,
              arguments.subject.dtype);
  int count = 0, failed = 0;
  for (const EncodingFile &encoding : encodingFiles())
    for (const Call &call : calls()) {
      if (!isChosen(arguments.encodings, encoding.name) || !isChosen(arguments.calls, call.name) ||
          (arguments.quick && call.isLong))
        continue;
      ++count;
      if (arguments.list) {
        std::printf("%s %s\n", std::string(encoding.name).c_str(), std::string(call.name).c_str());
        continue;
      }
      CaseResult result = suite.run(encoding, call);
      failed += !result.passes();
      std::fputs(result.summary().c_str(), stdout);
      if (arguments.verbose || !result.passes())
        std::fputs(result.report.table().c_str(), stdout);
      std::fflush(stdout);
    }
  std::printf("%d cases, %d failed\n", count, failed);
  if (count == 0)
    std::fprintf(stderr, "pe-conformance: error: no case has the chosen names; see --list\n");
  return failed || count == 0 ? 1 : 0;
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

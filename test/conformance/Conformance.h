//===- Conformance.h - Running the case table -------------------*- C++ -*-===//
//
// One case: draw inputs, evaluate the float64 reference, run the subject forward and backward on
// one thread and on several, compare every result and gradient with its bound (Compare.h), and the
// runs with each other bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_CONFORMANCE_H
#define PE_TEST_CONFORMANCE_CONFORMANCE_H

#include "conformance/Cases.h"
#include "conformance/Subject.h"
#include "runtime/reference/Compare.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace pe::conformance {

struct CaseResult {
  std::string encoding;
  std::string call;
  /// Which of several subjects ran; empty if there is only one.
  std::string subject;
  reference::Report report;
  /// Why there is no report, or which tensor differed between runs; empty: neither.
  std::string failure;

  bool passes() const { return failure.empty() && report.passes(); }
  /// One line: the tensor nearest to its bound, its error, its bound and the verdict.
  std::string summary() const;
};

/// Where the time of a run went, in seconds.
struct SuiteTimes {
  double compiling = 0, reference = 0, running = 0;
};

class Suite {
public:
  /// `root` is the repository; `threadCounts` are run one after the other; `dtype` is the type of
  /// queries, keys, values, outputs and their cotangents.
  Suite(Subject &subject, std::string root, std::vector<int> threadCounts, uint64_t seed,
        DType dtype = DType::F32)
      : subject(subject), root(std::move(root)), threadCounts(std::move(threadCounts)), seed(seed),
        dtype(dtype) {}

  CaseResult run(const EncodingFile &encoding, const Call &call);
  /// Runs another subject; the reference is evaluated once for all subjects of a case.
  /// With `once` it runs on the first number of threads alone.
  CaseResult run(const EncodingFile &encoding, const Call &call, Subject &other, bool once = false);

  const SuiteTimes &times() const { return spent; }

private:
  /// An encoding's source, described and parsed once.
  struct Loaded {
    jit::Source source;
    jit::EntryInfo entry;
    reference::Program program;
  };
  Expected<const Loaded *> load(const EncodingFile &encoding);
  /// The inputs of a case's subjects, and the reference's results for them.
  struct Question {
    std::string encoding, call;
    TensorMap inputs;
    reference::Results expected, rounded;
  };
  Status ask(const EncodingFile &encoding, const Call &call, const Loaded &loaded);
  Expected<Function *> compile(const EncodingFile &encoding, const Loaded &loaded, const Call &call,
                               Subject &asked);
  Status runCase(const EncodingFile &encoding, const Call &call, Subject &asked, bool once,
                 CaseResult &result);

  Subject &subject;
  std::string root;
  std::vector<int> threadCounts;
  uint64_t seed;
  DType dtype;
  std::map<std::string, Loaded> loadedEncodings;
  std::map<std::pair<Subject *, std::string>, std::unique_ptr<Function>> functions;
  Question question; // the last one that was asked
  SuiteTimes spent;
};

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_CONFORMANCE_H

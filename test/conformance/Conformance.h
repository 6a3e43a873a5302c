//===- Conformance.h - Runs the case table ----------------------*- C++ -*-===//
//
// For each case the suite draws inputs, evaluates the float64 reference, and runs the subject
// forward and backward on one thread and on several. Every result and gradient must be within its
// bound (Compare.h), and all runs must agree bit for bit.
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
  /// The name of the subject; empty if there is only one.
  std::string subject;
  reference::Report report;
  /// The reason that there is no report, or the tensor that differed between runs; otherwise empty.
  std::string failure;
  /// The reason that the device does not support the case (Exemptions.h); otherwise empty.
  std::string exemption;

  bool passes() const { return failure.empty() && (!exemption.empty() || report.passes()); }
  /// Returns one line: the tensor closest to its bound, its error, its bound and the verdict.
  std::string summary() const;
};

/// Returns true if a call can have lengths per batch entry, which the function does not read
/// itself.
bool takesLengths(const reference::Program &program, const jit::EntryInfo &entry);

/// The time spent, in seconds.
struct SuiteTimes {
  double compiling = 0, reference = 0, running = 0;
};

class Suite {
public:
  /// `root` is the repository root, `threadCounts` are the numbers of threads of the runs, and
  /// `options` are those of the subjects.
  Suite(Subject &subject, std::string root, std::vector<int> threadCounts, uint64_t seed,
        const SubjectOptions &options = {})
      : subject(subject), root(std::move(root)), threadCounts(std::move(threadCounts)), seed(seed),
        dtype(options.dtype), computation(productsOf(options)), grad(options.grad) {}

  CaseResult run(const EncodingFile &encoding, const Call &call);
  /// Runs another subject. The reference is evaluated once for all subjects of a case. With `once`,
  /// runs only on the first number of threads.
  CaseResult run(const EncodingFile &encoding, const Call &call, Subject &other, bool once = false);

  const SuiteTimes &times() const { return spent; }

private:
  /// The source of an encoding, described and parsed once.
  struct Loaded {
    jit::Source source;
    jit::EntryInfo entry;
    reference::Program program;
  };
  Expected<const Loaded *> load(const EncodingFile &encoding);
  /// The inputs of a case and the reference's results for them.
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
  DType dtype, computation;
  bool grad;
  std::map<std::string, Loaded> loadedEncodings;
  std::map<std::pair<Subject *, std::string>, std::unique_ptr<Function>> functions;
  Question question; // of the last case
  SuiteTimes spent;
};

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_CONFORMANCE_H

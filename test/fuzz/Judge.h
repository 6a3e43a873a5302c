//===- Judge.h - Runs one program on every target ------------- -*- C++ -*-===//
//
// Compiles and runs a program with gradients. Compares the results with the float64 reference under
// the contract's bounds, two runs on different numbers of threads bit for bit, and the reference
// with the second evaluation. Call it in a separate process (Workers.h): the program under test may
// crash or hang.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_JUDGE_H
#define PE_TEST_FUZZ_JUDGE_H

#include "conformance/Subject.h"
#include "fuzz/GeneratedProgram.h"

#include <functional>
#include <map>

namespace pe::fuzz {

/// A failure of a program. Findings of one group presumably have one cause.
struct Finding {
  std::string group;
  std::string detail;
};

struct Verdict {
  std::vector<Finding> findings;
  /// The message with which every target refused the program.
  std::string refusal;
  /// "gpu-emulator: MESSAGE" for each target that refused the program by a documented limit.
  std::vector<std::string> limits;
  /// True if the results depend on single roundings; nothing was compared.
  bool isIllConditioned = false;
  bool wasCheckedTwice = false;
};

class Judge {
public:
  /// Receives the next step, such as "compile cpu", which the report of a crash contains.
  using Progress = std::function<void(const std::string &)>;

  /// The targets are "loops", "cpu" and "gpu-emulator", optionally with a type other than f32 and
  /// a field of the schedules, such as "gpu-emulator:bf16:ahead=1", and "reference" for the second
  /// evaluation.
  static Expected<Judge> create(const std::vector<std::string> &targets);

  Verdict judge(const Program &program, const Progress &progress) const;

private:
  struct Target {
    std::string name;
    DType dtype = DType::F32;
    std::shared_ptr<conformance::Subject> subject;
  };
  struct Case;
  static Expected<Target> makeTarget(const std::string &name);
  void runTarget(const Target &target, Case &run) const;

  std::vector<Target> targets;
  bool checksReference = false;
};

/// Returns the default targets of a seed: all in f32, and for some seeds the emulator in another
/// type.
std::vector<std::string> targetsOfSeed(uint64_t seed);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_JUDGE_H

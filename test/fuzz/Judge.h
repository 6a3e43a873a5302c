//===- Judge.h - Running one program on every target ------------*- C++ -*-===//
//
// Compiles and runs a program with gradients, compares it with the float64 reference under the
// contract's bounds, two runs on different numbers of threads with each other bit for bit, and the
// reference with the second evaluation. Call it in a separate process (Worker.h): the program under
// test may crash or hang.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_JUDGE_H
#define PE_TEST_FUZZ_JUDGE_H

#include "conformance/Subject.h"
#include "fuzz/GeneratedProgram.h"

#include <functional>
#include <map>

namespace pe::fuzz {

/// What is wrong with a program. Findings of one group presumably have one cause.
struct Finding {
  std::string group;
  std::string detail;
};

struct Verdict {
  std::vector<Finding> findings;
  /// Every target refused it with this message.
  std::string refusal;
  /// Its results depend on single roundings; nothing was compared.
  /// "gpu-emulator: MESSAGE" of targets that refused it by a limit that their pages state.
  std::vector<std::string> limits;
  bool isIllConditioned = false;
  bool wasCheckedTwice = false;
};

class Judge {
public:
  /// Reports the next step, for the report of a crash: "compile cpu".
  using Progress = std::function<void(const std::string &)>;

  /// Targets: "loops", "cpu", "gpu-emulator"; the last with `:bf16` and so on for another type than
  /// f32. "reference": the second evaluation.
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

/// The targets of a program when the user chose none: all in f32, and for some seeds the emulator
/// in another type.
std::vector<std::string> targetsOfSeed(uint64_t seed);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_JUDGE_H

//===- Task.h - Generated exercises -----------------------------*- C++ -*-===//
//
// A task generates sequences from a random stream and marks the tokens that the model is asked for;
// only these contribute to the loss. Every question has exactly one correct answer.
//
// task:flip-flop?p=0.8   pairs of an instruction and a bit (Liu et al. 2023, arXiv 2306.00946):
//                        write, ignore (with probability p), read. Asked: the bit after a read,
//                        which is the last bit written. The first pair is a write, the last a
//                        read.
// task:copy?symbols=16   symbols, a separator, and the same symbols again. Asked: the repetition.
// task:addition?digits=N a+b= and the digits of the sum, the lowest digit of each number first.
//                        Asked: the sum. Numbers have 1 to N digits in training (N defaults to
//                        the longest that fits), and as many as fit in evaluation.
// task:dyck?k=2&depth=8  brackets of k kinds, nested at most `depth` deep, as pairs of open or
//                        close and a kind. Asked: the kind of a closing bracket, which is the
//                        kind of the last open bracket.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_TASK_H
#define PE_RUNTIME_TRAIN_DATA_TASK_H

#include "pe/Error.h"
#include "runtime/core/Random.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pe::train {

/// A token sequence with a flag for each token that the model is asked for.
struct Exercise {
  std::vector<int32_t> tokens;
  std::vector<bool> asked;
};

/// A parsed data name "NAME?KEY=VALUE&KEY=VALUE".
struct DataName {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};
Expected<DataName> parseDataName(std::string_view text);

class Task {
public:
  /// Returns true if `data` names a task, that is, if it begins with "task:".
  static bool isName(std::string_view data);
  static Expected<Task> parse(std::string_view data);

  /// Returns the vocabulary size; all tokens are less than this.
  int64_t vocabulary() const;
  /// Return the length of the shortest input that contains a question, and of the shortest input
  /// that fits the largest exercise the options allow, which training requires.
  int64_t shortest() const;
  int64_t shortestToTrain() const;
  /// Returns the name with the value of every option.
  std::string spelling() const;
  /// Returns the same with all digits of the values; checkpoints store its hash.
  std::string identity() const;
  /// Generates an exercise of `length` inputs, that is, `length` + 1 tokens. With `training`, its
  /// size is random; otherwise it is the largest that fits.
  Exercise generate(Random &random, int64_t length, bool training) const;

private:
  std::string named(std::string (*textOf)(double)) const;
  enum class Kind : uint8_t { FlipFlop, Copy, Addition, Dyck };

  double number(const char *option) const { return options.at(option); }
  int64_t whole(const char *option) const { return static_cast<int64_t>(options.at(option)); }

  Kind kind = Kind::FlipFlop;
  std::map<std::string, double> options;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_TASK_H

//===- Task.h - Exercises that are generated --------------------*- C++ -*-===//
//
// A task writes sequences of its own from a random stream, and says of which tokens the model is
// asked: the loss is theirs alone. Each has one right answer to every question.
//
// task:flip-flop?p=0.8   pairs of an instruction and a bit (Liu et al. 2023, arXiv 2306.00946):
//                        write, ignore (with probability p), read; asked: the bit after a read,
//                        which is the last one that was written. The first pair writes, the last
//                        reads.
// task:copy?symbols=16   symbols, a separator, and the symbols again, which are asked.
// task:addition?digits=N a+b= and the sum's digits, which are asked, the lowest digit of each
//                        number first; 1 to N digits in training (by default as many as fit), and
//                        in evaluation as many as fit.
// task:dyck?k=2&depth=8  brackets of k kinds, nested at most `depth` deep, as pairs of open or
//                        close and a kind; asked: the kind that a close has, which is that of the
//                        last open bracket.
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

/// Tokens, and of which of them the model is asked.
struct Exercise {
  std::vector<int32_t> tokens;
  std::vector<bool> asked;
};

/// "NAME?KEY=VALUE&KEY=VALUE", as data is named.
struct DataName {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};
Expected<DataName> parseDataName(std::string_view text);

class Task {
public:
  /// Whether data of this name is a task: it begins with "task:".
  static bool isName(std::string_view data);
  static Expected<Task> parse(std::string_view data);

  /// Tokens are below this.
  int64_t vocabulary() const;
  /// The shortest sequence of inputs that asks something, and the shortest to train on, which holds
  /// all that the options promise.
  int64_t shortest() const;
  int64_t shortestToTrain() const;
  /// The name with the value of every option.
  std::string spelling() const;
  /// The same with every digit of the values, of which checkpoints keep a hash.
  std::string identity() const;
  /// An exercise of `length` inputs, so of one token more; `training`: of any size that fits, not
  /// the largest.
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

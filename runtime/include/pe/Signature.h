//===- Signature.h - What a function takes and returns ----------*- C++ -*-===//
//
// The arguments and results of an entry function as its source declares them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_SIGNATURE_H
#define PE_SIGNATURE_H

#include "pe/DType.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pe {

/// How a parameter is initialised and trained (the `pe.*` attributes of an argument).
struct ParameterInfo {
  /// A number, "linear", "xavier(gain)", "normal(deviation)", "uniform(a,b)" ... Empty: the
  /// argument is data, not a parameter.
  std::string init;
  std::optional<double> min;
  /// False: no weight decay. The compiler's default is false for scalars and vectors.
  bool decay = true;
  /// Named scalar expressions that training logs.
  std::vector<std::pair<std::string, std::string>> monitor;
  /// The argument that is read where a call leaves this one out (`pe.absent`); empty: it is needed.
  std::string absent;
};

/// One argument or result of an entry function.
struct ValueInfo {
  std::string name;
  DType dtype = DType::F32;
  /// -1: dynamic.
  std::vector<int64_t> dims;
  /// The size of each dimension, as an expression over the sizes of a call ("b", "hq", "r",
  /// "d" ...; runtime/plan/SizeExpression.h). Known for the operands of attention and their
  /// results; empty text where the compiler does not know.
  std::vector<std::string> sizes;
  /// What each dimension counts ("batch", "key" ...), from `pe.axes`; empty where unspecified.
  std::vector<std::string> axes;
  bool optional = false;
  ParameterInfo parameter;
  /// "FILE:LINE:COL".
  std::string location;
};

/// What a call must fulfil: `size` is at least `least`, both expressions over the sizes and
/// positions of a call. Otherwise it is refused by `what`, which names what is counted.
struct Requirement {
  std::string size;
  std::string least;
  std::string what;
};

/// What the numbers of an i32 argument must be: each of `first` to `last`, or ascending from the
/// one to the other; both expressions over the sizes and positions of a call. Checked before any
/// work where the numbers lie in memory of the host; code is safe, and its result has no meaning,
/// where they are others.
struct ValueRequirement {
  std::string tensor;
  bool isAscending = false;
  std::string first;
  std::string last;
};

struct EntryInfo {
  std::string name;
  std::string location;
  std::vector<ValueInfo> arguments;
  std::vector<ValueInfo> results;
  std::vector<Requirement> requirements;
  std::vector<ValueRequirement> valueRequirements;
};

} // namespace pe

#endif // PE_SIGNATURE_H

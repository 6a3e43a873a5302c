//===- Signature.h - Arguments and results of a function --------*- C++ -*-===//
//
// The arguments, results and attentions of an entry function as its source declares them.
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

/// The initialization and training of a parameter (the `pe.*` attributes of an argument).
struct ParameterInfo {
  /// A number, "linear", "xavier(gain)", "normal(deviation)", "uniform(a,b)" ... Empty if the
  /// argument is data rather than a parameter.
  std::string init;
  std::optional<double> min;
  /// False disables weight decay. The compiler's default is false for scalars and vectors.
  bool decay = true;
  /// Named scalar expressions that training logs.
  std::vector<std::pair<std::string, std::string>> monitor;
  /// The argument that is read if a call omits this one (`pe.absent`). Empty: it is required.
  std::string absent;
};

/// One argument or result of an entry function.
struct ValueInfo {
  std::string name;
  DType dtype = DType::F32;
  /// -1 for a dynamic dimension.
  std::vector<int64_t> dims;
  /// The size of each dimension as an expression over the sizes of a call ("b", "hq", "r",
  /// "d" ...; runtime/plan/SizeExpression.h). Set for the operands of attention and their results;
  /// empty if the compiler cannot derive it.
  std::vector<std::string> sizes;
  /// The meaning of each dimension ("batch", "key" ...), from `pe.axes`; empty if unspecified.
  std::vector<std::string> axes;
  bool optional = false;
  ParameterInfo parameter;
  /// "FILE:LINE:COL".
  std::string location;
};

/// A lower bound on a size of a call: `size` must be at least `least`, both expressions over the
/// sizes and positions of the call. `what` describes the counted items in the message of a
/// violation.
struct Requirement {
  std::string size;
  std::string least;
  std::string what;
};

/// A requirement on the elements of an i32 argument: all are in [`first`, `last`], or they ascend
/// from `first` to `last`. Both bounds are expressions over the sizes and positions of a call.
/// Checked before any work if the tensor is in host memory. Otherwise a violation is memory-safe
/// but the result is meaningless.
struct ValueRequirement {
  std::string tensor;
  bool isAscending = false;
  std::string first;
  std::string last;
};

/// The properties of an attention that determine how its heads, queries and keys can be split
/// between calls.
struct AttentionInfo {
  /// The keyword of the normalizer, such as "softmax".
  std::string normalizer;
  /// The normalizer has a second result, by which results over parts of the keys are merged.
  bool isMergeable = true;
  /// Stick-breaking: "drop" or "value", and "before" or "both" (`pe.attention`).
  std::string remainder;
  std::string direction;
  /// The argument with the logits of the sinks. Empty without sinks, and if they are a function of
  /// the query.
  std::string sink;
  bool hasSinkFunction = false;
  /// The arguments with the boundaries of documents.
  std::vector<std::string> documents;
  /// The argument with the table of pages. Empty: keys and values are tensors [B, Hkv, Sk, D].
  std::string pages;
  /// Bounds of i - j over all pairs that can contribute to a result, where i and j are the rows of
  /// the query and the key, counted from `q_start` and `k_start`. Absent: unbounded.
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

struct EntryInfo {
  std::string name;
  std::string location;
  std::vector<ValueInfo> arguments;
  std::vector<ValueInfo> results;
  /// In the order of the source.
  std::vector<AttentionInfo> attentions;
  std::vector<Requirement> requirements;
  std::vector<ValueRequirement> valueRequirements;
};

} // namespace pe

#endif // PE_SIGNATURE_H

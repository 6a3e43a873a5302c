//===- Selection.h - Selection of the tensors to project --------*- C++ -*-===//
//
// A checkpoint has names and shapes but no modules, so tensors are selected by name. By default,
// every matrix is chosen unless its name contains embed, wte, wpe, head, bias, norm or lambda. A
// target restricts this to names with attn or attention, or with mlp or ffn. An include pattern
// replaces the list of excluded names. The report gives a reason for every tensor that is not
// chosen.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_SELECTION_H
#define PE_RUNTIME_TRAIN_REINIT_SELECTION_H

#include "runtime/core/Safetensors.h"
#include "runtime/train/reinit/Reinit.h"

namespace pe::reinit {

struct SelectionOptions {
  Target target = Target::All;
  /// POSIX extended regular expressions, searched for in a name; empty for none.
  std::string include, exclude;
  /// Patterns for fused query, key and value weights, and for stacks [count, rows, cols].
  std::string splitQkv, batched;
  /// The numbers of query, key and value outputs; if empty, three equal parts.
  std::vector<int64_t> qkvSizes;
  Layout layout = Layout::OutIn;
};

struct Choice {
  bool chosen = false;
  /// The reason why a tensor is not chosen.
  std::string why;
  /// Sizes of the parts along d_out; one part unless the tensor is fused.
  std::vector<int64_t> parts;
};

/// Returns the part of a name that suggests that several matrices are fused in the tensor
/// ("c_attn", "qkv"), or an empty string.
std::string_view fusedPartOf(const std::string &name);

/// Returns one choice per tensor. It is an error if a pattern is malformed, if it matches no tensor
/// that it applies to, or if no tensor is chosen.
Expected<std::vector<Choice>> choose(const std::vector<const SafetensorsFile::Entry *> &tensors,
                                     const SelectionOptions &options);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_SELECTION_H

//===- Selection.h - Which tensors of a checkpoint are projected *- C++ -*-===//
//
// A checkpoint has names and shapes, no modules; the choice is by name. By default every matrix is
// chosen whose name has none of embed, wte, wpe, head, bias, norm, lambda in it; a target keeps the
// names with attn or attention, or with mlp or ffn. A pattern to include replaces that list of
// names. Every tensor that is not chosen has a reason, which the report tells.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_SELECTION_H
#define PE_RUNTIME_TRAIN_REINIT_SELECTION_H

#include "runtime/core/Safetensors.h"
#include "runtime/train/reinit/Reinit.h"

namespace pe::reinit {

struct SelectionOptions {
  Target target = Target::All;
  /// Extended regular expressions (POSIX), found anywhere in a name; empty: none.
  std::string include, exclude;
  /// Fused query, key and value weights, and stacks [count, rows, cols].
  std::string splitQkv, batched;
  /// Outputs of query, key and value; empty: three equal parts.
  std::vector<int64_t> qkvSizes;
  Layout layout = Layout::OutIn;
};

struct Choice {
  bool chosen = false;
  /// Of a tensor that is not chosen.
  std::string why;
  /// Sizes of the parts along d_out; one part unless the tensor is fused.
  std::vector<int64_t> parts;
};

/// The part of a name that says that several matrices are fused in the tensor ("c_attn", "qkv"), or
/// empty.
std::string_view fusedPartOf(const std::string &name);

/// One choice per tensor. A pattern that is malformed or matches nothing it could apply to is an
/// error, and so is a choice of no tensor at all.
Expected<std::vector<Choice>> choose(const std::vector<const SafetensorsFile::Entry *> &tensors,
                                     const SelectionOptions &options);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_SELECTION_H

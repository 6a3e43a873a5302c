//===- View.h - Tensors in the caller's memory ------------------*- C++ -*-===//
//
// The tensors that a call reads and writes: a name, an address, a type, a shape, and strides in
// elements (pe-c.h). A view does not own its memory.
//
//===----------------------------------------------------------------------===//

#ifndef PE_VIEW_H
#define PE_VIEW_H

#include "pe/Tensor.h"
#include "pe/pe-c.h"

namespace pe {

using View = ::pe_view;
using Scalar = ::pe_scalar;

/// Returns a view of a tensor of rank at most 8; `name` and the tensor must outlive the view.
inline View viewOf(const char *name, const Tensor &tensor) {
  assert(tensor.rank() <= PE_MAX_RANK && "views have at most eight axes");
  View view = {};
  view.name = name;
  view.data = const_cast<void *>(tensor.rawData());
  view.dtype = static_cast<pe_dtype>(tensor.dtype());
  view.rank = static_cast<int32_t>(tensor.rank());
  std::copy(tensor.shape().begin(), tensor.shape().end(), view.shape);
  std::copy(tensor.strides().begin(), tensor.strides().end(), view.strides);
  return view;
}

} // namespace pe

#endif // PE_VIEW_H

//===- View.h - Tensors in the caller's memory ------------------*- C++ -*-===//
//
// What a call works on: a name, an address, a type, a shape, and strides in elements (pe-c.h). A
// view owns nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PE_VIEW_H
#define PE_VIEW_H

#include "pe/Tensor.h"
#include "pe/pe-c.h"

namespace pe {

using View = ::pe_view;
using Scalar = ::pe_scalar;

/// The tensor where it lies; of rank 8 at most. `name` and the tensor outlive the view.
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

//===- CArguments.cpp - Arguments of the C API ----------------------------===//
#include "runtime/api/CArguments.h"

namespace pe::api {

Status readScalars(const pe_scalar *given, int32_t count, plan::Scalars &scalars) {
  if (Status s = checkList(given, count, "scalars"); !s)
    return s;
  for (int32_t i = 0; i < count; ++i) {
    if (!given[i].name)
      return makeError("scalar ", i, ": expected a name, found none");
    if (scalars.find(given[i].name))
      return makeError("scalar '", given[i].name, "': expected it once, found it twice");
    scalars.set(given[i].name, given[i].value);
  }
  return Status::success();
}

Expected<TensorMap> tensorsOf(const pe_view *list, int32_t count) {
  TensorMap tensors;
  if (Status s = checkList(list, count, "tensors"); !s)
    return s.takeError();
  for (const pe_view &view : listOf(list, count)) {
    if (!view.name)
      return makeError("tensor ", &view - list, ": expected a name, found none");
    if (view.rank < 0 || view.rank > PE_MAX_RANK)
      return makeError("tensor '", view.name, "': expected a rank of 0 to ", int(PE_MAX_RANK),
                       ", found ", view.rank);
    if (static_cast<unsigned>(view.dtype) >= std::size(detail::kDTypes))
      return makeError("tensor '", view.name, "': expected a pe_dtype, found ",
                       static_cast<int>(view.dtype));
    Shape shape(view.shape, view.shape + view.rank);
    Expected<int64_t> elements = elementCount(shape);
    if (!elements)
      return elements.takeError().within(std::string("tensor '") + view.name + "'");
    if (!view.data && *elements)
      return makeError("tensor '", view.name, "': expected an address, found none");
    static char nothing[64];
    Tensor tensor = Tensor::borrow(view.data ? view.data : nothing, static_cast<DType>(view.dtype),
                                   std::move(shape), Shape(view.strides, view.strides + view.rank));
    if (!tensors.emplace(view.name, std::move(tensor)).second)
      return makeError("tensor '", view.name, "': expected it once, found it twice");
  }
  return tensors;
}

} // namespace pe::api

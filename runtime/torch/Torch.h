//===- Torch.h - The functions of libtorch that pe::repeat uses -*- C++ -*-===//
//
// PyTorch keeps the C functions of torch/csrc/inductor/aoti_torch/c/shim.h and
// torch/csrc/stable/c/shim.h compatible between versions. They are looked up by name in the
// libtorch of the process. An operator receives its arguments as 64-bit values: integers, and
// handles that it owns.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TORCH_TORCH_H
#define PE_RUNTIME_TORCH_TORCH_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace pe::torch {

struct AtenTensor;
struct TensorList;
struct OperatorLibrary;
using Value = uint64_t;
using Operator = void (*)(Value *stack, uint64_t arguments, uint64_t results);

/// Pointers to functions of libtorch, which return 0 on success.
struct Functions {
  // Tensors. Sizes, strides and data are borrowed; an empty tensor is owned by the caller.
  int32_t (*getDataPtr)(AtenTensor *, void **);
  int32_t (*getDim)(AtenTensor *, int64_t *);
  int32_t (*getSizes)(AtenTensor *, int64_t **);
  int32_t (*getStrides)(AtenTensor *, int64_t **);
  int32_t (*getDType)(AtenTensor *, int32_t *);
  int32_t (*emptyStrided)(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                          int32_t deviceType, int32_t device, AtenTensor **);
  int32_t (*deleteTensor)(AtenTensor *);
  // Lists. An element that is read, and one that is appended, belongs to its receiver.
  int32_t (*newList)(size_t reserved, TensorList **);
  int32_t (*listSize)(TensorList *, size_t *);
  int32_t (*listItem)(TensorList *, size_t, Value *);
  int32_t (*listPush)(TensorList *, Value);
  int32_t (*deleteList)(TensorList *);
  // Types and devices.
  int32_t (*float32)();
  int32_t (*bfloat16)();
  int32_t (*float16)();
  int32_t (*int32)();
  int32_t (*cpu)();
  // Operators.
  int32_t (*newFragment)(const char *space, const char *file, uint32_t line, OperatorLibrary **);
  int32_t (*newImplementations)(const char *space, const char *key, const char *file, uint32_t line,
                                OperatorLibrary **);
  int32_t (*define)(OperatorLibrary *, const char *schema);
  int32_t (*implement)(OperatorLibrary *, const char *name, Operator, uint64_t version);
};

/// Looks up all functions in the library at `path`, which the process has loaded. Returns an error
/// message, or an empty string.
std::string lookUp(const char *path, Functions &functions);

} // namespace pe::torch

#endif // PE_RUNTIME_TORCH_TORCH_H

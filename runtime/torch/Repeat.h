/*===- Repeat.h - Repeats forward calls from PyTorch --------------*- C -*-===*\
|*
|* The interface of libpe-torch.so, which Python calls by ctypes. The operator
|*
|*   pe::repeat(int family, Tensor[] tensors, int keys) -> Tensor[]
|*
|* runs a forward call whose tensors have the layouts of an earlier one, which
|* Python checked and added to a family, and returns its results. A call that may
|* have any number of keys reads the first `keys` of them, or all if it is -1.
|*
|* It returns an empty list for tensors of other layouts, tensors that are not
|* aligned to 16 bytes, tables that do not hold for the bytes of their arguments,
|* an unknown family, and for a call that fails; Python then runs the call and
|* reports its errors.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PE_RUNTIME_TORCH_REPEAT_H
#define PE_RUNTIME_TORCH_REPEAT_H

#include "pe/pe-c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An argument that prepared tables depend on, and the memory of the bytes that it had then. Tables
   that the call reads hold if the bytes are equal. */
typedef struct pe_torch_source {
  int64_t argument; /* contiguous */
  const void *data; /* must stay valid; the bytes may change between calls */
  int64_t bytes;
} pe_torch_source;

/* A call to repeat. Everything but the function and the pool is copied. */
typedef struct pe_torch_call {
  const pe_function *function;
  int32_t half;
  int32_t count; /* of views: the arguments, the results, and views without data such as capacity */
  const pe_view *views;
  const pe_scalar *scalars; /* their names must stay valid */
  int32_t scalar_count;
  int32_t arguments, results; /* the number of tensors of the operator, and of its results */
  int32_t grows;   /* 1 if the number of keys may differ: shape[2] and the first two strides of the
                      tensors 1 and 2, keys and values */
  int32_t lengths; /* the index of kv_len among the arguments, or -1 */
  const pe_view *layouts; /* the arguments and results as PyTorch's tensors; names are not read */
  const pe_pool *pool;    /* or NULL */
  int64_t key_block;      /* workspaces are queried for multiples of this number of keys */
  int64_t most_workspace; /* calls that need more bytes are left to Python */
  const pe_torch_source *sources; /* calls with other bytes are left to Python */
  int32_t source_count;
} pe_torch_call;

/* Registers the operator with the libtorch_cpu.so at `path`, which the process has loaded, and with
   two functions of libpe. Returns NULL, or the reason why this version of PyTorch cannot have it.
 */
const char *pe_torch_load(const char *path,
                          int (*run)(const pe_function *, int32_t, const pe_view *, int32_t,
                                     const pe_scalar *, int32_t, const pe_context *),
                          int (*workspace)(const pe_function *, int32_t, const pe_view *, int32_t,
                                           int64_t *));
/* Adds a call to a family, from which the oldest of more than 64 calls is removed, or to a new one
   if `family` is 0. Returns the number of the family, which is not 0, or 0 if a tensor has a type
   that the operator does not support. */
int64_t pe_torch_add(int64_t family, const pe_torch_call *call);
/* Removes a family. Operators that run one of its calls finish. */
void pe_torch_remove(int64_t family);

#ifdef __cplusplus
}
#endif

#endif /* PE_RUNTIME_TORCH_REPEAT_H */

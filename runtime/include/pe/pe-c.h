/*===- pe-c.h - Positional encodings, compiled: the C API --------*- C -*-===*\
|*
|* For programs in other languages, and for deployment: packages (`pe compile --emit=package`) run
|* with libpe.so alone, without the compiler.
|*
|*   pe_function *attention;
|*   if (pe_open("my_encoding.pepkg", NULL, &attention)) return puts(pe_last_error());
|*   pe_tensor arguments[] = {{"q", q, PE_F32, 4, {b, h, s, d}}, ...};
|*   pe_call *call;
|*   pe_forward(attention, arguments, n, NULL, &call);
|*   pe_tensor o;
|*   pe_result(call, "o", &o);                  // a view; o.data is valid until pe_call_free
|*   pe_tensor cotangent = o;  cotangent.name = "d_o";
|*   pe_backward(attention, call, &cotangent, 1);
|*   pe_result(call, "d_q", &dq);
|*   pe_call_free(call);  pe_close(attention);
|*
|* Functions return 0, or 1 after an error, whose text pe_last_error() gives (of this thread, until
|* its next error). Objects are looked up before they are used: one that was closed, is of another
kind
|* or was never opened is an error. Shapes are row-major, layouts those of pe/pe.h. Functions may be
|* used from any thread; a call or a session by one at a time. Example: examples/embed-c.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PE_PE_C_H
#define PE_PE_C_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled function; a forward call; memory for calls of one size on a GPU. */
typedef struct pe_function pe_function;
typedef struct pe_call pe_call;
typedef struct pe_session pe_session;

typedef enum pe_dtype {
  PE_F32 = 0,
  PE_F64 = 1,
  PE_BF16 = 2,
  PE_F16 = 3,
  PE_I64 = 4,
  PE_I32 = 5,
  PE_TF32 = 16 /* of computations only: tensors are PE_F32 */
} pe_dtype;

enum { PE_MAX_RANK = 8 };

/* Contiguous elements in host memory. */
typedef struct pe_tensor {
  const char *name;
  void *data;
  pe_dtype dtype;
  int32_t rank;
  int64_t shape[PE_MAX_RANK];
} pe_tensor;

/* What to compile, or take from a package. Zeros and NULL are defaults: the only public function,
   "cpu", for cuda this machine's GPU; depths and type of a package are what it holds, of a source
   64, 64 and PE_F32. With `grad` a source is compiled with gradients, and a package without them
   is refused; a package that has them gives them either way. */
typedef struct pe_options {
  const char *entry;
  const char *target; /* "cpu", "cuda" or "gpu-emulator" */
  const char *chip;
  int64_t head_dim, value_dim;
  pe_dtype dtype; /* PE_F32, PE_BF16, PE_F16 or PE_TF32 */
  int32_t grad;
} pe_options;

/* PE_DEFAULT for the usual value: the last query meets the last key; all heads are here (a
   head_start above 0 needs heads_total). Positions lie in [-2^30, 2^30), lengths counted. */
#define PE_DEFAULT INT64_MIN
typedef struct pe_positions {
  int64_t query_start, key_start, head_start, heads_total;
} pe_positions;

const char *pe_version(void);
/* The text of this thread's last error; never NULL. */
const char *pe_last_error(void);

/* From a source (compiled by libpe-jit.so) or a package. `options` may be NULL. */
int pe_open(const char *file, const pe_options *options, pe_function **function);
void pe_close(pe_function *function);

/* `positions` may be NULL. The arguments are read during the call only. */
int pe_forward(const pe_function *function, const pe_tensor *arguments, int32_t count,
               const pe_positions *positions, pe_call **call);
/* `call` is a forward call of the same function. Cotangents are named "d_RESULT"; at least one is
   needed, others are zero. */
int pe_backward(const pe_function *function, pe_call *call, const pe_tensor *cotangents,
                int32_t count);
/* A result, or behind pe_backward a gradient "d_NAME". */
int pe_result(const pe_call *call, const char *name, pe_tensor *tensor);
void pe_call_free(pe_call *call);

/* On GPUs, with tensors that are there already: the session allocates once, binding and launching
   neither allocate nor wait, so that a CUDA graph can capture them. Addresses are multiples of 16.
   Results and gradients have memory of the session's unless they are bound, cotangents that are
   not bound are zero; what a call writes may not overlap what it reads. */
int pe_session_create(const pe_function *function, int64_t batch, int64_t query_heads,
                      int64_t key_heads, int64_t queries, int64_t keys, int32_t grad,
                      pe_session **session);
int pe_session_bind(pe_session *session, const char *name, void *device_pointer);
int pe_session_find(const pe_session *session, const char *name, void **device_pointer);
/* `stream` is a CUstream (cudaStream_t). Positions and addresses are checked before anything is
   started. A backward call follows a forward call of the session. */
int pe_session_forward(pe_session *session, const pe_positions *positions, void *stream);
int pe_session_backward(pe_session *session, void *stream);
void pe_session_free(pe_session *session);

#ifdef __cplusplus
}
#endif

#endif /* PE_PE_C_H */

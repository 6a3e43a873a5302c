/*===- pe-c.h - Positional encodings, compiled: the C API --------*- C -*-===*\
|*
|* The interface for other languages, for frameworks and for deployment: packages (`pe compile
|* --emit=package`) run with libpe.so, without the compiler.
|*
|* Data flow. A call works on the caller's memory: tensors are named views (address, shape,
|* strides), on the host or on a GPU. pe allocates nothing and keeps no pointer after a call:
|*
|*   pe_open, pe_open_text  ->  pe_function    compiled once, shared by all threads
|*   pe_describe                               lists the tensors and scalars of a call (JSON)
|*   pe_shape, pe_workspace                    compute sizes for given views
|*   pe_run                                    runs one or several halves of a call
|*
|*        arguments   q, k, v, parameters         read by every half that needs them
|*        prepared    tables, rotated q and k     written by PE_PREPARE, read by both other halves
|*        results     o, lse                      written by PE_FORWARD, o read by PE_BACKWARD
|*        saved       log-sum-exp and others      written by PE_FORWARD, read by PE_BACKWARD
|*        cotangents  d_o                         read by PE_BACKWARD, zero if not passed
|*        gradients   d_q, d_slopes               written by PE_BACKWARD if passed
|*        workspace   everything else             meaningless after the call
|*
|* Prepared tensors may be omitted: a half that needs one which was not passed computes it again in
|* the workspace, bit for bit the same. A caller may keep them and pass them to later calls; layers
|* with the same parameters, lengths and starts can share those that depend on parameters only.
|* Results, saved tensors and gradients may also be omitted; values that no passed tensor depends
|* on are not computed.
|*
|*   pe_function *attention;
|*   if (pe_open("my_encoding.pepkg", NULL, &attention)) return puts(pe_last_error());
|*   pe_view views[] = {{"q", q, PE_F32, 4, {b, h, s, d}, {h * s * d, s * d, d, 1}}, ...,
|*                      {"o", o, ...}, {"attention_lse", lse, ...}};
|*   int64_t bytes;
|*   pe_workspace(attention, PE_FORWARD, views, n, &bytes);
|*   pe_context context = {sizeof(pe_context), malloc(bytes), bytes};
|*   pe_run(attention, PE_FORWARD, views, n, NULL, 0, &context);
|*
|* The softmax's log-sum-exp is a natural logarithm: a backward call may be given an output and a
|* log-sum-exp that were merged from several calls.
|*
|* Functions return 0 on success and 1 after an error, which pe_last_error() and
|* pe_last_error_info() describe until the next error of the same thread. A call whose arguments
|* are wrong starts no work. Handles are validated: one that was closed, never opened or has the
|* wrong kind is an error. All functions may be called from any thread at any time. Calls share the
|* threads of their pool and otherwise do not wait for each other, except that emulated kernels run
|* one after the other. No exception leaves these functions. Example: examples/embed-c.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PE_PE_C_H
#define PE_PE_C_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled function, and a forward call created by pe_forward. */
typedef struct pe_function pe_function;
typedef struct pe_call pe_call;

typedef enum pe_dtype {
  PE_F32 = 0,
  PE_F64 = 1,
  PE_BF16 = 2,
  PE_F16 = 3,
  PE_I64 = 4,
  PE_I32 = 5,
  PE_U8 = 11,  /* prepared tensors only */
  PE_TF32 = 16 /* a compute type; its tensors are PE_F32 */
} pe_dtype;

enum { PE_MAX_RANK = 8 };

/*===-- Errors ------------------------------------------------------------===*/

typedef enum pe_error_kind {
  PE_ERROR_NONE = 0,
  PE_ERROR_INPUT = 1,   /* an argument of the call; the message says what to change */
  PE_ERROR_COMPILE = 2, /* the source (`file` names it), the package or the compiler */
  PE_ERROR_DEVICE = 3,  /* the driver, the device or the machine */
  PE_ERROR_MEMORY = 4,
  PE_ERROR_INTERNAL = 5 /* a bug in pe */
} pe_error_kind;

/* The strings are valid until this thread's next error. `file` is "" and `line` and `column` are 0
   if no source location is known. */
typedef struct pe_error_info {
  pe_error_kind kind;
  const char *message; /* without the location and the notes */
  const char *file;
  int32_t line, column;
} pe_error_info;

/* Returns the version, such as "0.1.0". */
const char *pe_version(void);
/* Returns this thread's last error with its location and notes, or "" if there was none. */
const char *pe_last_error(void);
/* Sets `info` to this thread's last error. */
void pe_last_error_info(pe_error_info *info);

/*===-- Functions ---------------------------------------------------------===*/

/* Selects what to compile or to take from a package. Zero and NULL mean the default: the only
   public function; "cpu"; for cuda, the chip of the GPU with the number `device`; the depths and
   the type of a package, or 64, 64 and PE_F32 for a source. With `grad` a source is compiled with
   gradients, and a package without them is an error; a package with gradients provides them in
   either case. */
typedef struct pe_options {
  uint64_t size; /* sizeof(pe_options); identifies the version of the struct */
  const char *entry;
  const char *target; /* "cpu", "cuda", "gpu-emulator" or "reference" (float64, sources only) */
  const char *chip;
  int64_t head_dim, value_dim;
  pe_dtype dtype; /* PE_F32, PE_BF16, PE_F16 or PE_TF32; for "reference" PE_F32 or PE_F64 */
  int32_t grad;
  int32_t device; /* for cuda without a chip: the number of the GPU */
  /* For sources and GPUs: the most memory of a backward call for the adjoints of the scores, in
     MiB. With more pairs, thread blocks add the gradients of queries in turns, which takes longer.
     0: 1024 MiB; -1: always in turns. */
  int64_t pairs_memory;
} pe_options;

/* Opens a file: a source (compiled by libpe-jit.so) or a package. `options` may be NULL. */
int pe_open(const char *file, const pe_options *options, pe_function **function);
/* Opens source text. Messages use `name` as its file name; it may be NULL. */
int pe_open_text(const char *text, const char *name, const pe_options *options,
                 pe_function **function);
/* Closes a function. Running calls keep it alive; later calls with the handle are errors. NULL is
   allowed. */
void pe_close(pe_function *function);

/* Describes a function as JSON, valid as long as the function: "entry", "target", "dtype",
   "head_dim", "value_dim", "grad", "scalars" (name, default), "structure", "explain", and the lists
   of tensors "arguments", "results", "saved", "prepared", "cotangents" and "gradients". Each tensor
   has "name", "dtype", "shape" (expressions over b, hq, hkv, r, c: batch, query heads, key heads,
   queries, keys) and "axes". Arguments also have "optional", "init", "min", "decay", "monitor" and
   "location". Arguments, results and saved tensors have "read_by", the halves that read them.
   Prepared tensors have "of", the arguments they depend on, and "holds_for_all_keys". docs/c-api.md
   has an example. */
int pe_describe(const pe_function *function, const char **json);

/*===-- Calls -------------------------------------------------------------===*/

/* A tensor of the caller. Strides are in elements; the stride of an axis of size 1 is ignored.
   Kernels use a view in place if it begins at a multiple of 16 bytes and is contiguous (row-major);
   for operands of attention, o and their gradients, contiguous rows at multiples of 16 bytes
   suffice. Any other view is copied once, into or out of the workspace. A view that a call writes
   must not overlap itself or any other view of the call. `data` may be NULL if there are no
   elements, and for arguments of which the half needs only the shape. */
typedef struct pe_view {
  const char *name;
  void *data;
  pe_dtype dtype;
  int32_t rank;
  int64_t shape[PE_MAX_RANK];
  int64_t strides[PE_MAX_RANK];
} pe_view;

/* A call of attention may also pass the view "kv_len", PE_I32 [b] in host memory: batch entry n has
   kv_len[n] keys, 0 to c. Data of keys beyond a length is not read, and its gradients are 0. The
   last query of an entry is at the position of its last key, so the scalar q_start is an error. An
   entry has the bits of a call with this entry and its keys alone. In such a call, prepared tensors
   (except tables over distances, which all entries share) and saved tensors without a batch axis
   have a leading axis of b. A function that has an argument
   kv_len reads the view as this argument (docs/c-api.md). */

/* A call may also pass the view "capacity", without data and of the shape [capacity], at least the
   number of keys: tables over distances are then prepared for this number of keys. A prepared
   tensor with "holds_for_all_keys" in pe_describe is valid for every call of the same capacity and
   number of queries whose last query is at the last key (the default of q_start), with any number
   of keys up to the capacity, and all batch entries of a call with kv_len share it. */

/* An integer parameter of the call, named in "scalars" of pe_describe: q_start (by default the last
   query aligns with the last key), k_start (0), head_start (0) and heads_total (by default the
   heads of this call; required if head_start is not 0). Positions, including those of the last
   query and key, are in [-2^30, 2^30). */
typedef struct pe_scalar {
  const char *name;
  int64_t value;
} pe_scalar;

/* The halves of a call, combined with |. With PE_PREPARE the prepared tensors that are passed are
   written; without it they are read. */
enum { PE_PREPARE = 1, PE_FORWARD = 2, PE_BACKWARD = 4 };

/* Threads of the host program, so that only one pool competes for the cores. The signatures are
   those of PyTorch's stable torch_parallel_for and torch_get_num_threads, whose addresses can be
   used directly. parallel_for returns 0 on success and calls body(begin, end, context) for parts of
   [begin, end), on any threads, before it returns. pe assigns its work items one by one to the
   next free thread. */
typedef void (*pe_range_body)(int64_t begin, int64_t end, void *context);
typedef struct pe_pool {
  int32_t (*parallel_for)(int64_t begin, int64_t end, int64_t grain, pe_range_body body,
                          void *context);
  int32_t (*threads)(uint32_t *count);
} pe_pool;

/* The resources of a call. */
typedef struct pe_context {
  uint64_t size; /* sizeof(pe_context); identifies the version of the struct */
  /* Device memory at any address, at least as many bytes as pe_workspace reports; NULL if that is
     0. Calls that overlap in time need separate workspaces. */
  void *workspace;
  int64_t workspace_bytes;
  void *stream;        /* GPU: a CUstream (cudaStream_t) on which the call starts its work */
  const pe_pool *pool; /* host: the threads to use; NULL for pe's own */
  int32_t device;      /* GPU: the device number */
} pe_context;

/* Computes the bytes of workspace that pe_run needs for these views; of their data, only kv_len is
   read. If the address of kv_len is NULL, the bytes suffice for all lengths. */
int pe_workspace(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
                 int64_t *bytes);
/* Sets dtype, rank, shape and contiguous strides of `tensor`, any tensor of the function, for a
   call with these arguments. It suffices to pass the arguments that determine its sizes. */
int pe_shape(const pe_function *function, const pe_view *arguments, int32_t count, pe_view *tensor);
/* Runs the halves. Neither allocates (except with kv_len) nor waits: on a GPU the work has been
   started on the stream when the function returns (the first call on a device loads the kernels,
   which a graph capture does not allow, so call once before capturing), on the host it is complete.
   Loaded kernels stay until the process ends, so that pe_close is safe while they run or a graph
   contains them. */
int pe_run(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
           const pe_scalar *scalars, int32_t scalar_count, const pe_context *context);

/*===-- Calls that allocate, on host memory -------------------------------===*/

/* Runs PE_PREPARE | PE_FORWARD and keeps what pe_backward needs. `scalars` may be NULL. The
   arguments are used in place and must stay unchanged until the last pe_backward. */
int pe_forward(const pe_function *function, const pe_view *arguments, int32_t count,
               const pe_scalar *scalars, int32_t scalar_count, pe_call **call);
/* Computes the gradients of `call`, a forward call of the same function. Cotangents are named
   "d_RESULT"; at least one is required, the others are zero. */
int pe_backward(const pe_function *function, pe_call *call, const pe_view *cotangents,
                int32_t count);
/* Returns a result or, after pe_backward, a gradient "d_NAME", as a view that is valid until the
   next pe_backward of the call or pe_call_free. */
int pe_result(const pe_call *call, const char *name, pe_view *tensor);
/* Frees a call and the views that pe_result returned. NULL is allowed. */
void pe_call_free(pe_call *call);

/*===-- Checking results --------------------------------------------------===*/

/* Compares results and gradients of a call with the float64 reference, with the bounds of
   `pe run --check`, and returns JSON: "passes", "message" (empty, or what failed), "max_logit" and
   a list "tensors", each with "name", "line" (as pe run prints it), "passes", "error", "norm",
   "bound", "scale", "not_finite" (number of elements) and "problem". The JSON is valid until this
   thread's next pe_check. `inputs` are all arguments of the call, plus its cotangents if gradients
   are checked; `found` are its results and in that case the gradients of all floating arguments,
   each named "d_NAME". Tensors are contiguous host memory. Packages cannot be checked: the function
   must have been compiled from a source. */
int pe_check(const pe_function *function, const pe_view *inputs, int32_t count,
             const pe_view *found, int32_t found_count, const pe_scalar *scalars,
             int32_t scalar_count, const char **json);

/*===-- Reinit: projecting weights onto scaled isometries -----------------===*/

/* Zero and NULL mean the default: "qdwh", "muon", "out-in", pe's own threads; for "cubic" 10 steps
   and the norm "fro". pe/reinit.h explains the values. */
typedef struct pe_reinit_options {
  uint64_t size;      /* sizeof(pe_reinit_options); identifies the version of the struct */
  const char *engine; /* "qdwh", "quintic" or "cubic" */
  const char *norm;   /* cubic only: "fro" or "spectral" */
  const char *scale;  /* "muon", "none", "mean-sigma" or "fro" */
  const char *layout; /* "out-in" or "in-out" */
  uint64_t seed;
  const pe_pool *pool;
  int32_t iterations; /* cubic only */
} pe_reinit_options;

/* The outcome for one matrix. */
typedef struct pe_reinit_report {
  int64_t rows, cols;
  int64_t rank; /* numerical rank of the original weights */
  /* |X^T X - I|_F^2 per dimension of the smaller side, of the original weights and of the polar
     factor before scaling */
  double dfi_before, dfi_after;
  double sfe;  /* |W - W_new|_F^2 */
  double norm; /* |W|_F of the original weights */
  double scale;
  int32_t iterations;
  int32_t chosen; /* 0 for a zero matrix, which is left unchanged */
} pe_reinit_report;

/* Replaces the matrix [rows, cols], or each matrix of a stack [count, rows, cols], by its scaled
   polar factor, in place: contiguous, PE_F32, PE_F64, PE_BF16 or PE_F16. `options` and `reports`
   may be NULL; otherwise `reports` has `count` entries, one per matrix. After an error the weights
   are unchanged. Requires OpenBLAS (package libopenblas0-pthread). */
int pe_reinit(const pe_view *weights, const pe_reinit_options *options, pe_reinit_report *reports,
              int32_t count);

#ifdef __cplusplus
}
#endif

#endif /* PE_PE_C_H */

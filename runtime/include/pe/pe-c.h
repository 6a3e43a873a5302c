/*===- pe-c.h - Positional encodings, compiled: the C API --------*- C -*-===*\
|*
|* For programs in other languages, for frameworks, and for deployment: packages (`pe compile
|* --emit=package`) run with libpe.so alone, without the compiler.
|*
|* The way of the data. A call works on the caller's memory: tensors are views (address, shape,
|* strides) by name, on the host or on a GPU. pe allocates nothing and keeps nothing:
|*
|*   pe_open, pe_open_text  ->  pe_function    compiled once, shared by all threads
|*   pe_describe                               what it takes, gives, saves and prepares (JSON)
|*   pe_shape, pe_workspace                    how large each of these is, for given views
|*   pe_run                                    one call, or one half of it, in that memory
|*
|*        arguments   q, k, v, parameters         read by every half that needs them
|*        prepared    tables, turned q and k      written by PE_PREPARE, read by both other halves
|*        results     o, lse                      written by PE_FORWARD, o read by PE_BACKWARD
|*        saved       log-sum-exp and the like    written by PE_FORWARD, read by PE_BACKWARD
|*        cotangents  d_o                         read by PE_BACKWARD, zero where there is none
|*        gradients   d_q, d_slopes               written by PE_BACKWARD: those that are passed
|*        workspace   everything else             dead when the call has ended
|*
|* Prepared tensors may be left out: whichever half needs one that is not there computes it again in
|* the workspace, to the same bits. A caller that keeps them passes them on; layers with the same
|* parameters, lengths and starts share those that are made of parameters only. Results, saved
|* tensors and gradients may be left out too; what nothing that was passed depends on is not
|* computed.
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
|* Functions return 0, or 1 after an error, which pe_last_error() and pe_last_error_info() tell (of
|* this thread, until its next error). Nothing is started after an error in a call's arguments.
|* Objects are looked up before they are used: one that was closed, is of another kind or was never
|* opened is an error. All functions may be called from any thread at any time; calls do not wait
|* for each other but for the threads of the pool they share. (Emulated kernels run one after the
|* other.) No exception leaves these functions. Example: examples/embed-c.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PE_PE_C_H
#define PE_PE_C_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled function; a forward call of pe_forward. */
typedef struct pe_function pe_function;
typedef struct pe_call pe_call;

typedef enum pe_dtype {
  PE_F32 = 0,
  PE_F64 = 1,
  PE_BF16 = 2,
  PE_F16 = 3,
  PE_I64 = 4,
  PE_I32 = 5,
  PE_U8 = 11,  /* of prepared tensors */
  PE_TF32 = 16 /* of computations only: tensors are PE_F32 */
} pe_dtype;

enum { PE_MAX_RANK = 8 };

/*===-- Errors ------------------------------------------------------------===*/

typedef enum pe_error_kind {
  PE_ERROR_NONE = 0,
  PE_ERROR_INPUT = 1,   /* an argument of the function called: what to change is said */
  PE_ERROR_COMPILE = 2, /* a source, a package, or the compiler; `file` is where */
  PE_ERROR_DEVICE = 3,  /* a driver, a device, or the machine */
  PE_ERROR_MEMORY = 4,
  PE_ERROR_INTERNAL = 5 /* a defect of pe */
} pe_error_kind;

/* Texts live until this thread's next error; `file` is "" and line and column are 0 where no place
   in a source is known. */
typedef struct pe_error_info {
  pe_error_kind kind;
  const char *message; /* without place and notes */
  const char *file;
  int32_t line, column;
} pe_error_info;

const char *pe_version(void);
/* The text of this thread's last error with its place and notes; never NULL. */
const char *pe_last_error(void);
void pe_last_error_info(pe_error_info *info);

/*===-- Functions ---------------------------------------------------------===*/

/* What to compile, or take from a package. Zeros and NULL are defaults: the only public function,
   "cpu", for cuda this machine's GPU; depths and type of a package are what it holds, of a source
   64, 64 and PE_F32. With `grad` a source is compiled with gradients, and a package without them
   is refused; a package that has them gives them either way. */
typedef struct pe_options {
  uint64_t size; /* sizeof(pe_options): which members there are */
  const char *entry;
  const char *target; /* "cpu", "cuda", "gpu-emulator", or "reference": float64, of sources only */
  const char *chip;
  int64_t head_dim, value_dim;
  pe_dtype dtype; /* PE_F32, PE_BF16, PE_F16 or PE_TF32; for "reference" PE_F32 or PE_F64 */
  int32_t grad;
} pe_options;

/* From a file: a source (compiled by libpe-jit.so) or a package. `options` may be NULL. */
int pe_open(const char *file, const pe_options *options, pe_function **function);
/* From a source's text; `name` stands in messages as the file's name and may be NULL. */
int pe_open_text(const char *text, const char *name, const pe_options *options,
                 pe_function **function);
/* Calls that are running keep it alive; those that come later are errors. */
void pe_close(pe_function *function);

/* JSON, which lives as long as the function: "entry", "target", "dtype", "head_dim", "value_dim",
   "grad", "scalars" (name, default), "structure", "explain", and lists of tensors "arguments",
   "results", "saved", "prepared", "cotangents", "gradients". Each tensor has "name", "dtype",
   "shape" (expressions over b, hq, hkv, r, c: batch, query heads, key heads, queries, keys) and
   "axes"; arguments also "optional", "init", "min", "decay", "monitor", "location", and "read_by"
   which halves; results and saved tensors "read_by" too; prepared tensors "of": the arguments they
   are made of. docs/c-api.md has an example. */
int pe_describe(const pe_function *function, const char **json);

/*===-- Calls -------------------------------------------------------------===*/

/* A tensor of the caller. Strides are in elements; those of an axis of size 1 are not looked at.
   What kernels take as it lies begins at a multiple of 16 bytes and is contiguous (row-major) or,
   for operands of attention, o and their gradients, has contiguous rows at multiples of 16 bytes;
   any other view is copied once, into or out of the workspace. What a call writes may not overlap
   anything else that the call uses, nor itself. `data` may be NULL where there are no elements,
   and for arguments that the half only needs the shape of. */
typedef struct pe_view {
  const char *name;
  void *data;
  pe_dtype dtype;
  int32_t rank;
  int64_t shape[PE_MAX_RANK];
  int64_t strides[PE_MAX_RANK];
} pe_view;

/* A parameter of the call, as "scalars" of pe_describe names them: q_start (default: the last query
   meets the last key), k_start (0), head_start (0), heads_total (all heads are here; a head_start
   above 0 needs it). Positions lie in [-2^30, 2^30), lengths counted. */
typedef struct pe_scalar {
  const char *name;
  int64_t value;
} pe_scalar;

/* Halves of a call, to be combined by |. With PE_PREPARE the prepared tensors that are passed are
   written, else they are read. */
enum { PE_PREPARE = 1, PE_FORWARD = 2, PE_BACKWARD = 4 };

/* A host's own threads, so that one pool competes for the cores. The signatures are those of
   PyTorch's stable torch_parallel_for and torch_get_num_threads, whose addresses may stand here:
   0 is success, and body(begin, end, context) is called for parts of [begin, end), on any threads,
   before parallel_for returns. pe hands out its work items one by one to whoever is free. */
typedef void (*pe_range_body)(int64_t begin, int64_t end, void *context);
typedef struct pe_pool {
  int32_t (*parallel_for)(int64_t begin, int64_t end, int64_t grain, pe_range_body body,
                          void *context);
  int32_t (*threads)(uint32_t *count);
} pe_pool;

typedef struct pe_context {
  uint64_t size; /* sizeof(pe_context): which members there are */
  /* Memory of the device, pe_workspace's bytes of it at least, at any address. Calls that overlap
     in time need workspaces of their own. NULL where 0 bytes are needed. */
  void *workspace;
  int64_t workspace_bytes;
  void *stream;        /* of a GPU: a CUstream (cudaStream_t); a call only starts work on it */
  const pe_pool *pool; /* on the host: whose threads work; NULL for pe's own */
  int32_t device;      /* of GPUs: its number */
} pe_context;

/* The bytes of workspace that pe_run needs for these views, whose data is not looked at. */
int pe_workspace(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
                 int64_t *bytes);
/* Sets dtype, rank, shape and contiguous strides of any tensor of the function (`tensor->name`) in
   a call with these arguments, of which those are enough that give the sizes it depends on. */
int pe_shape(const pe_function *function, const pe_view *arguments, int32_t count, pe_view *tensor);
/* Neither allocates nor waits: on a GPU the work has been started on the stream when it returns
   (the first call on a device loads the kernels there), on the host it is done. */
int pe_run(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
           const pe_scalar *scalars, int32_t scalar_count, const pe_context *context);

/*===-- Calls that allocate, on host memory -------------------------------===*/

/* Runs PE_PREPARE | PE_FORWARD and keeps what pe_backward needs. `scalars` may be NULL. The
   arguments are used where they are, by pe_backward again. */
int pe_forward(const pe_function *function, const pe_view *arguments, int32_t count,
               const pe_scalar *scalars, int32_t scalar_count, pe_call **call);
/* `call` is a forward call of the same function. Cotangents are named "d_RESULT"; at least one is
   needed, others are zero. */
int pe_backward(const pe_function *function, pe_call *call, const pe_view *cotangents,
                int32_t count);
/* A result, or behind pe_backward a gradient "d_NAME": a view that is valid until the next
   pe_backward of the call or pe_call_free. */
int pe_result(const pe_call *call, const char *name, pe_view *tensor);
void pe_call_free(pe_call *call);

/*===-- Checking results --------------------------------------------------===*/

/* Compares results and gradients of a call with the float64 reference, by the bounds of
   `pe run --check`, and gives JSON: "passes", "message" (empty, or what failed), "max_logit" and a
   list "tensors", each with "name", "line" (as pe run prints it), "passes", "error", "norm",
   "bound", "scale", "not_finite" (elements) and "problem". The text lives until this thread's next
   pe_check. `inputs` are all arguments of the call, and its cotangents if gradients are checked;
   `found` are its results, and then the gradients of all floating arguments, each "d_NAME".
   Tensors are contiguous memory of the host. Of functions compiled from a source. */
int pe_check(const pe_function *function, const pe_view *inputs, int32_t count,
             const pe_view *found, int32_t found_count, const pe_scalar *scalars,
             int32_t scalar_count, const char **json);

/*===-- Reinit: weights onto scaled isometries ----------------------------===*/

/* Zeros and NULL are defaults: "qdwh", 10 steps of "cubic" from its "fro" norm, "muon", "out-in",
   pe's own threads. pe/reinit.h says what they mean. */
typedef struct pe_reinit_options {
  uint64_t size;      /* sizeof(pe_reinit_options): which members there are */
  const char *engine; /* "qdwh", "quintic" or "cubic" */
  const char *norm;   /* of cubic: "fro" or "spectral" */
  const char *scale;  /* "muon", "none", "mean-sigma" or "fro" */
  const char *layout; /* "out-in" or "in-out" */
  uint64_t seed;
  const pe_pool *pool;
  int32_t iterations; /* of cubic */
} pe_reinit_options;

typedef struct pe_reinit_report {
  int64_t rows, cols, rank;
  /* |X^T X - I|_F^2 per dimension before, and after without the scale; |W - W_new|_F^2; |W|_F. */
  double dfi_before, dfi_after, sfe, norm, scale;
  int32_t iterations;
  int32_t chosen; /* 0: a matrix of zeros, which stays */
} pe_reinit_report;

/* Replaces the matrix [rows, cols], or each matrix of a stack [count, rows, cols], by its scaled
   polar factor, in the caller's memory: contiguous, PE_F32, PE_F64, PE_BF16 or PE_F16. `options`
   and `reports` may be NULL; else there are `count` reports, one per matrix. After an error nothing
   has been changed. Needs OpenBLAS (package libopenblas0-pthread). */
int pe_reinit(const pe_view *weights, const pe_reinit_options *options, pe_reinit_report *reports,
              int32_t count);

#ifdef __cplusplus
}
#endif

#endif /* PE_PE_C_H */

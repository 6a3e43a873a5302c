//===- pe.h - Positional encodings, compiled: the C++ API -------*- C++ -*-===//
//
// Load a source, compile it, run it forward and backward:
//
//   auto program   = pe::Program::load("my_encoding.mlir");
//   auto attention = program->compile({.headDim = 64, .valueDim = 64, .grad = true});
//   auto inputs    = attention->randomInputs(/*seed=*/1, {.batch = 1, .heads = 8, .queries = 512});
//   auto call      = attention->forward(*inputs);
//   auto gradients = attention->backward(*call, {{"d_o", call->results().at("o")}});
//
// Every function that can fail returns an Expected (pe/Error.h); nothing throws. Tensors are
// identified by name: arguments and results by the `pe.name` of the source, the cotangent of result
// o by "d_o", the gradient of argument q by "d_q". q is [B, Hq, Sq, D], k [B, Hkv, Sk, D],
// v [B, Hkv, Sk, Dv] and o [B, Hq, Sq, Dv]; Hq is a multiple of Hkv.
//
// Objects are cheap to copy (copies share one immutable state) and may be used from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PE_H
#define PE_PE_H

#include "pe/Error.h"
#include "pe/LoopOptions.h"
#include "pe/Parallel.h"
#include "pe/Positions.h"
#include "pe/Signature.h"
#include "pe/Tensor.h"
#include "pe/View.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pe {

namespace api {
struct CompiledFunction;
struct ProgramState;
} // namespace api
namespace device {
class Call;
class Prepared;
} // namespace device

/// Returns the version, such as "0.1.0".
std::string version();

/// The properties a function is specialised for. Batch, heads, lengths and positions are chosen per
/// call.
struct CompileOptions {
  /// "cpu"; "cuda": NVIDIA GPUs; "gpu-emulator": GPU kernels executed on the CPU, for tests;
  /// "reference": the float64 reference, for sources only (f32 tensors, or f64 with dtype F64).
  std::string target = "cpu";
  /// For cuda: "sm_80", "sm_86", "sm_89", "sm_90a" ..., optionally with a PTX version as in
  /// "sm_80+ptx83". Empty: the chip of `device`. For gpu-emulator: empty is sm_80.
  std::string chip;
  /// The number of the GPU to compile for, if `chip` is empty.
  int device = 0;
  /// The CPU to compile for: "x86-64-v3" (AVX2), "x86-64-v4" (AVX-512) or
  /// "x86-64-v4+avx512bf16" (products of bf16). Empty: this machine.
  std::string features;
  /// Columns of q and k, and columns of v: multiples of 8 from 8 to 256.
  int64_t headDim = 64;
  int64_t valueDim = 64;
  /// The type of queries, keys, values, outputs and their gradients: F32, or on GPUs and with
  /// lowering "loops" also BF16, F16 or TF32 (F32 tensors; the operands of contractions are rounded
  /// to a 10-bit mantissa). Parameters and the log-sum-exp are f32.
  DType dtype = DType::F32;
  /// Also compiles the gradients of all floating arguments.
  bool grad = false;
  /// Lets stick-breaking attention stop at keys that cannot change the result.
  bool earlyExit = true;
  /// GPUs: the most memory of a backward call, in MiB, for the adjoints of the scores. With more
  /// pairs, thread blocks add the gradients of queries in turns, which takes longer
  /// (docs/numerics.md). 0: always in turns.
  int64_t pairsMemory = 1024;
  /// "cpu": tuned kernels. "loops": the unoptimized definition, for comparison.
  std::string lowering = "cpu";
  /// Options of the lowering "loops".
  LoopOptions loops = {};
  /// GPUs: names the tile op of every instruction in the PTX, by .loc directives. Their lines are
  /// those of the tile program, which follows the kernels in comments. The instructions are the
  /// same with and without it.
  bool lineTables = false;
  /// Fields of the schedules that replace the chosen values, for measurements: NAME=VALUE,
  /// forward.NAME=VALUE or backward.NAME=VALUE, separated by commas. Stage::Step lists the fields.
  /// Lowering "loops" has no schedule. Example: "forward.ahead=1,forward.late_slots=1".
  std::string schedule = "";
};

/// The sizes of random inputs.
struct InputSizes {
  int64_t batch = 1;
  int64_t heads = 8;
  /// Key heads; defaults to `heads`.
  std::optional<int64_t> keyHeads;
  int64_t queries = 1024;
  /// Defaults to `queries`.
  std::optional<int64_t> keys;
};

class Prepared;

struct CallOptions {
  Positions positions;
  /// The threads to use; null: pe's own pool, with one thread per usable core.
  ParallelFor *parallel = nullptr;
  /// Forward calls only: tables made by Function::prepare, which the call reads instead of
  /// computing its own.
  const Prepared *prepared = nullptr;
};

/// Returns a pool of `threads` threads (0: one per usable core) for CallOptions::parallel.
std::unique_ptr<ParallelFor> makeThreadPool(int threads);

/// The context of a call on the caller's memory, except its views (details in pe-c.h).
struct RunContext {
  /// Device memory, of at least Function::workspace bytes.
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  Positions positions;
  /// GPU only: a CUstream and the device number.
  void *stream = nullptr;
  int device = 0;
  /// Host only: the threads to use; null: pe's own pool.
  ParallelFor *parallel = nullptr;
};

/// Tables that depend on parameters, sizes and positions only (Function::prepare), such as those
/// of a bias.
class Prepared {
private:
  friend class Function;
  std::shared_ptr<const device::Prepared> state;
};

/// A forward call: its results and the state that backward calls read. The arguments are used in
/// place; the call keeps them alive, and they must not change before the last backward call.
class Call {
public:
  /// Returns the results by name.
  const TensorMap &results() const;

private:
  friend class Function;
  std::shared_ptr<const device::Call> state;
};

/// A compiled function.
class Function {
public:
  /// Returns the arguments and results as the source declares them.
  const EntryInfo &signature() const;

  /// Returns a tensor for each required argument: data is drawn from a standard normal in the
  /// activation type of the function, parameters are initialised by their `pe.init`. Deterministic
  /// in `seed`.
  Expected<TensorMap> randomInputs(uint64_t seed, const InputSizes &sizes) const;

  /// Checks the arguments and runs the function. A missing or extra tensor, or one with a wrong
  /// shape or type, is an error that names the tensor, what was expected and what was found. The
  /// arguments may also contain `kv_len`, the number of keys of each batch entry (pe-c.h).
  Expected<Call> forward(const TensorMap &arguments, const CallOptions &options = {}) const;

  /// Returns the gradients of all floating arguments. Absent cotangents are zero; at least one is
  /// required. A call may be followed by any number of backward calls.
  Expected<TensorMap> backward(const Call &call, const TensorMap &cotangents,
                               const CallOptions &options = {}) const;

  /// Computes the tables of a call with these arguments and positions, for any number of forward
  /// calls: layers that share the parameters of an encoding share its tables.
  ///
  ///   auto tables = attention->prepare(layers[0]);
  ///   for (const pe::TensorMap &layer : layers) // other q, k and v, the same parameters
  ///     calls.push_back(*attention->forward(layer, {.prepared = &*tables}));
  ///
  /// A call that uses the tables must have the same sizes and positions, and the same parameter
  /// tensors (not copies), which must not change in between; its backward calls also read the
  /// tables. Values that depend on q or k, such as rotated queries, are still computed by each
  /// call. examples/layers is a complete program.
  Expected<Prepared> prepare(const TensorMap &arguments, const CallOptions &options = {}) const;

  /// Runs one call on the caller's memory, or one half of it: `halves` is a combination (with |) of
  /// PE_PREPARE, PE_FORWARD and PE_BACKWARD. pe-c.h documents the views. Does not allocate, except
  /// with lengths per batch entry, and, on a GPU, does not wait.
  Status run(int halves, std::span<const View> views, const RunContext &context) const;
  /// Returns the bytes of workspace that `run` needs for these views; of their data, only lengths
  /// per batch entry are read.
  Expected<int64_t> workspace(int halves, std::span<const View> views) const;
  /// Sets dtype, rank, shape and contiguous strides of `tensor`, any tensor of the function, for a
  /// call with these arguments (pe_shape).
  Status shapeOf(std::span<const View> arguments, View &tensor) const;
  /// Returns arguments, results, saved and prepared tensors and gradients as JSON (pe_describe).
  std::string describe() const;

  /// Returns a report for readers: the structure the compiler found, the kernels that run and their
  /// cost.
  const std::string &explain() const;
  /// Returns the same report as JSON.
  const std::string &explainJson() const;

private:
  friend class Program;
  std::shared_ptr<const api::ProgramState> program;
  std::shared_ptr<const api::CompiledFunction> state;
};

/// The stages of compilation that Program::emit can show.
enum class Stage { PE, Tile, LLVM, Object, Ptx, Step };

/// A source in the pe dialect (parsed and checked), or a compiled package.
class Program {
public:
  /// Loads a file; `entry` names the public function to use if there are several.
  static Expected<Program> load(const std::string &path, const std::string &entry = "");
  /// Parses source text; messages use `name` as its file name.
  static Expected<Program> parse(const std::string &text, const std::string &name,
                                 const std::string &entry = "");

  /// Returns the arguments and results of the function as the source declares them.
  const EntryInfo &signature() const;
  /// Returns the function before any rewriting as JSON, for other tools.
  const std::string &json() const;

  /// Compiles the function, or returns the result of an earlier compilation from this process or
  /// the disk cache. A package returns the function it contains; other options are an error.
  Expected<Function> compile(const CompileOptions &options) const;

  /// Returns the program at one stage of compilation: text, or the bytes of an object file.
  Expected<std::string> emit(const CompileOptions &options, Stage stage) const;
  /// Returns the bytes of a package file, which can be loaded without the compiler.
  Expected<std::string> package(const CompileOptions &options) const {
    return package(std::vector{options});
  }
  /// Returns one package for several targets and chips; all other options must be equal.
  Expected<std::string> package(const std::vector<CompileOptions> &targets) const;

private:
  std::shared_ptr<const api::ProgramState> state;
};

} // namespace pe

#endif // PE_PE_H

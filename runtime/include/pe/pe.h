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
// Every function that can fail returns an Expected (pe/Error.h); nothing throws. Tensors go by
// name: arguments and results as the source's `pe.name` says, the cotangent of result o is "d_o",
// the gradient of argument q "d_q". q is [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], o
// [B, Hq, Sq, Dv], Hq a multiple of Hkv.
//
// Objects are cheap to copy (they share what they stand for) and may be used from any thread.
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

/// "0.1.0"
std::string version();

/// What a function is specialised on. Batch, heads, lengths and positions are left to each call.
struct CompileOptions {
  /// "cpu"; "cuda": NVIDIA GPUs; "gpu-emulator": GPU kernels executed on the CPU, for tests;
  /// "reference": the float64 reference, of sources only (f32 tensors, or f64 with dtype F64).
  std::string target = "cpu";
  /// For cuda: "sm_80", "sm_86", "sm_89", "sm_90a" ..., or with a PTX version "sm_80+ptx83". Empty:
  /// this machine's GPU.
  std::string chip;
  /// Machine to compile for; empty: this one. "x86-64-v3" (AVX2) or "x86-64-v4" (AVX-512).
  std::string features;
  /// Columns of q and k, and of v: 8 to 256 in steps of 8.
  int64_t headDim = 64;
  int64_t valueDim = 64;
  /// Type of queries, keys, values, outputs and their gradients: F32, and on GPUs and as loops
  /// BF16, F16 or TF32 (tensors of F32; what contractions multiply is rounded to ten bits of
  /// fraction). Parameters, and log-sum-exp, are f32.
  DType dtype = DType::F32;
  /// Also compile the gradients of every floating argument.
  bool grad = false;
  /// Stick-breaking may stop at keys that cannot change the result.
  bool earlyExit = true;
  /// "cpu": tuned kernels. "loops": the naive definition, for comparison.
  std::string lowering = "cpu";
  /// How "loops" runs.
  LoopOptions loops = {};
};

/// Sizes for random inputs.
struct InputSizes {
  int64_t batch = 1;
  int64_t heads = 8;
  /// Key heads; by default as many as heads.
  std::optional<int64_t> keyHeads;
  int64_t queries = 1024;
  /// By default as many as queries.
  std::optional<int64_t> keys;
};

class Prepared;

struct CallOptions {
  Positions positions;
  /// Whose threads to use; null: pe's own pool, one thread per usable core.
  ParallelFor *parallel = nullptr;
  /// Of a forward call: tables that Function::prepare made, to be read instead of being made again.
  const Prepared *prepared = nullptr;
};

/// A pool of `threads` threads (0: one per usable core) for CallOptions::parallel.
std::unique_ptr<ParallelFor> makeThreadPool(int threads);

/// What a call on the caller's memory is given besides its views (pe-c.h says more).
struct RunContext {
  /// Memory of the device: Function::workspace bytes of it.
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  Positions positions;
  /// Of GPUs: a CUstream, and the device's number.
  void *stream = nullptr;
  int device = 0;
  /// On the host: whose threads to use; null: pe's own pool.
  ParallelFor *parallel = nullptr;
};

/// Tables made of parameters, sizes and positions (Function::prepare), such as those of a bias.
class Prepared {
private:
  friend class Function;
  std::shared_ptr<const device::Prepared> state;
};

/// A forward call: its results, and what its backward calls need. The arguments are used where they
/// are: they stay alive, and are not to be changed before the last backward call.
class Call {
public:
  const TensorMap &results() const;

private:
  friend class Function;
  std::shared_ptr<const device::Call> state;
};

/// Compiled code.
class Function {
public:
  /// Arguments and results by name.
  const EntryInfo &signature() const;

  /// Data from a standard normal, in the type of activations that the function was compiled for;
  /// parameters by their `pe.init`. The same for the same seed.
  Expected<TensorMap> randomInputs(uint64_t seed, const InputSizes &sizes) const;

  /// Checks the arguments and runs the function. Missing, extra, mis-shaped or mis-typed tensors
  /// are errors that name the tensor, what was expected and what was found.
  Expected<Call> forward(const TensorMap &arguments, const CallOptions &options = {}) const;

  /// The gradients of every floating argument. Absent cotangents are zero; at least one is needed.
  /// A call may be followed by any number of backward calls.
  Expected<TensorMap> backward(const Call &call, const TensorMap &cotangents,
                               const CallOptions &options = {}) const;

  /// The tables of a call with these arguments and positions, for any number of forward calls:
  /// layers that share the parameters of an encoding share its tables.
  ///
  ///   auto tables = attention->prepare(layers[0]);
  ///   for (const pe::TensorMap &layer : layers) // other q, k and v, the same parameters
  ///     calls.push_back(*attention->forward(layer, {.prepared = &*tables}));
  ///
  /// A call that takes them has the same sizes and positions, and the very tensors (not copies) of
  /// the parameters, which are not changed in between; its backward calls read them too. What is
  /// made of q or k, such as turned queries, each call still makes for itself. examples/layers is
  /// a whole program.
  Expected<Prepared> prepare(const TensorMap &arguments, const CallOptions &options = {}) const;

  /// One call on the caller's memory, or one half of it: `halves` are PE_PREPARE, PE_FORWARD and
  /// PE_BACKWARD of pe-c.h, joined by |, where everything is said about views. It neither allocates
  /// nor, on a GPU, waits.
  Status run(int halves, std::span<const View> views, const RunContext &context) const;
  /// The bytes of workspace that `run` needs for these views; their data is not looked at.
  Expected<int64_t> workspace(int halves, std::span<const View> views) const;
  /// Arguments, results, saved and prepared tensors, gradients, as JSON (pe_describe).
  std::string describe() const;

  /// Which structure the compiler found, which kernels run, what they cost: for people.
  const std::string &explain() const;
  /// The same as JSON.
  const std::string &explainJson() const;

private:
  friend class Program;
  std::shared_ptr<const api::ProgramState> program;
  std::shared_ptr<const api::CompiledFunction> state;
};

/// The stages of compilation that Program::emit can show.
enum class Stage { PE, Tile, LLVM, Object, Ptx };

/// A source in the pe dialect (parsed and checked), or a compiled package.
class Program {
public:
  /// From a file; `entry` names the public function to use if there are several.
  static Expected<Program> load(const std::string &path, const std::string &entry = "");
  /// From text; `name` stands in messages as the file's name.
  static Expected<Program> parse(const std::string &text, const std::string &name,
                                 const std::string &entry = "");

  const EntryInfo &signature() const;
  /// The function before any rewriting, as JSON (for other tools).
  const std::string &json() const;

  /// Compiles, or finds what was compiled before in this process or in the disk cache. A package
  /// gives what it holds; asking it for something else is an error.
  Expected<Function> compile(const CompileOptions &options) const;

  /// The program at one stage of compilation: text, for Object the bytes.
  Expected<std::string> emit(const CompileOptions &options, Stage stage) const;
  /// A package, to be loaded on machines without the compiler: the bytes of a file.
  Expected<std::string> package(const CompileOptions &options) const {
    return package(std::vector{options});
  }
  /// One package for several targets and chips; they differ in these only.
  Expected<std::string> package(const std::vector<CompileOptions> &targets) const;

private:
  std::shared_ptr<const api::ProgramState> state;
};

} // namespace pe

#endif // PE_PE_H

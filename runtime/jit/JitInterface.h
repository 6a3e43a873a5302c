//===- JitInterface.h - Where the runtime meets the compiler ----*- C++ -*-===//
//
// libpe-jit.so holds the compiler and LLVM; libpe.so loads it with dlopen when a source must be
// compiled, calls peCreateJit and from then on uses the abstract class below. Nothing of MLIR or
// LLVM is visible here. Both libraries are built together: kJitAbiVersion is raised with every
// change of this header and checked when the library is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_JIT_JITINTERFACE_H
#define PE_RUNTIME_JIT_JITINTERFACE_H

#include "pe/DType.h"
#include "pe/Error.h"
#include "pe/LoopOptions.h"
#include "pe/Signature.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace pe::jit {

inline constexpr int kJitAbiVersion = 9;

/// Results of a function compiled with `materialize`.
inline constexpr const char *kBias = "pe.bias", *kCosine = "pe.cosine", *kSine = "pe.sine";

/// Values of attributes by name, as they are written in a source.
using AttributeValues = std::vector<std::pair<std::string, std::string>>;

/// Among attributes: the share of attention's probabilities that are dropped out where the text
/// drops out none, by an argument "seed" that is added.
inline constexpr const char *kAddedDropout = "attention dropout";

struct Source {
  /// Text of a module in the pe dialect.
  std::string text;
  /// The file's name as the user gave it, for locations in messages.
  std::string name;
  /// Public function to use; empty: the only public function.
  std::string entry;
  /// In place of the text's own (Attributes.h).
  AttributeValues attributes = {};
};

struct CompileRequest {
  Source source;
  /// "cpu", "cuda" or "gpu-emulator"
  std::string target = "cpu";
  /// For cuda: "sm_80", "sm_90a" ..., or with a PTX version "sm_80+ptx83".
  std::string chip;
  /// Machine to compile for; empty: this one. "x86-64-v3" or "x86-64-v4" force a baseline.
  std::string features;
  int64_t headDim = 64;
  int64_t valueDim = 64;
  DType dtype = DType::F32;
  /// Also compile the gradients of every floating argument.
  bool grad = false;
  /// Stick-breaking may stop at keys that cannot change the result.
  bool earlyExit = true;
  /// "cpu": tuned kernels. "loops": the definition of the tile ops, naive scalar loops.
  std::string lowering = "cpu";
  /// In place of attention, what its kernel reads: results kBias [b, hq, r, c], and of a rotation
  /// kCosine and kSine [r, pairs].
  bool materialize = false;
  /// How "loops" runs.
  LoopOptions loops = {};
};

using pe::EntryInfo;
using pe::ValueInfo;

struct Description {
  EntryInfo entry;
  /// The user's function before any rewriting, for the reference: JSON as in
  /// runtime/reference/README.md.
  std::string program;
};

struct CompiledCode {
  plan::Plan plan;
  /// Defines every stage's symbol: a relocatable ELF object, or for cuda the text of a PTX module.
  std::string object;
  std::string explainText;
  std::string explainJson;
};

/// Parameters by name, as plain numbers.
struct NamedNumbers {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};

/// A program whose biases are to be written as progressive interpolation.
struct RepresentRequest {
  Source source;
  /// Biases stay the same up to this position.
  int64_t length = 0;
  /// How many heads slopes that follow a rule are for; 0: unknown.
  int64_t heads = 0;
  /// Of the program as it is. Without `derives`, parameters are neither needed nor returned.
  std::vector<NamedNumbers> parameters;
  bool derives = false;
};

struct RepresentedProgram {
  std::string text;
  std::vector<NamedNumbers> parameters;
};

/// What `emit` can print.
enum class EmitStage { PE, Tile, LLVM, Object, Ptx };

class Jit {
public:
  virtual ~Jit() = default;
  /// "22.1.8"
  virtual std::string llvmVersion() const = 0;
  /// Parses and checks, but compiles nothing.
  virtual Expected<Description> describe(const Source &source) = 0;
  virtual Expected<CompiledCode> compile(const CompileRequest &request) = 0;
  /// Compiles a module of plain functions in upstream dialects (func, scf, vector, math, memref
  /// with bare pointers) to an object whose symbols are those functions as C functions. One of
  /// numbers, f32 to f32, becomes two over arrays with its derivative: F_forward1(x, y, count) and
  /// F_backward1(x, dy, dx, count), where it has one argument.
  virtual Expected<std::string> compileKernels(const Source &source) = 0;
  /// The program at one stage of compilation (text; for Object the bytes).
  virtual Expected<std::string> emit(const CompileRequest &request, EmitStage stage) = 0;
  /// The program with other biases, and its parameters.
  virtual Expected<RepresentedProgram> represent(const RepresentRequest &request) = 0;
};

} // namespace pe::jit

/// Null if `abiVersion` is not the library's own kJitAbiVersion. The caller owns the result.
extern "C" pe::jit::Jit *peCreateJit(int abiVersion);

#endif // PE_RUNTIME_JIT_JITINTERFACE_H

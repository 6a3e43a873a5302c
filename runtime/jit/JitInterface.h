//===- JitInterface.h - Interface of runtime and compiler -------*- C++ -*-===//
//
// libpe-jit.so contains the compiler and LLVM. libpe.so loads it with dlopen when a source must be
// compiled, calls peCreateJit, and then uses the abstract class below. This header does not depend
// on MLIR or LLVM. Both libraries must be built from the same sources: kJitAbiVersion is
// incremented with every change of this header and checked when the library is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_JIT_JITINTERFACE_H
#define PE_RUNTIME_JIT_JITINTERFACE_H

#include "pe/Error.h"
#include "pe/Signature.h"
#include "runtime/plan/CodeOptions.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace pe::jit {

inline constexpr int kJitAbiVersion = 17;

/// Names of the results of a function compiled with `materialize`.
inline constexpr const char *kBias = "pe.bias", *kCosine = "pe.cosine", *kSine = "pe.sine";

/// Values of attributes by name, in the syntax of a source.
using AttributeValues = std::vector<std::pair<std::string, std::string>>;

/// A pseudo-attribute of AttributeValues: the dropout probability of attentions that have no
/// dropout in the source. Adds an argument "seed".
inline constexpr const char *kAddedDropout = "attention dropout";
/// A pseudo-attribute of AttributeValues: the factor of every scaling of a rotation.
inline constexpr const char *kRotationFactor = "rotation factor";

struct Source {
  /// A module in the pe dialect.
  std::string text;
  /// The file name that the user gave, for locations in messages.
  std::string name;
  /// The public function to use, or empty for the only public function.
  std::string entry;
  /// Attribute values that replace those in `text` (Attributes.h).
  AttributeValues attributes = {};

  bool operator==(const Source &) const = default;
};

/// A source, the code to generate for it, and the target.
struct CompileRequest : plan::CodeOptions {
  Source source = {};
  /// Cpu, Cuda or GpuEmulator. A request for a GPU leaves `lowering` at Cpu.
  plan::Target target = plan::Target::Cpu;
  /// For cuda: "sm_80", "sm_90a" ..., optionally with a PTX version: "sm_80+ptx83".
  std::string chip = {};
  /// The CPU baseline, "x86-64-v3", "x86-64-v4" or "x86-64-v4+avx512bf16", or empty for
  /// this machine.
  std::string features = {};
};

using pe::EntryInfo;
using pe::ValueInfo;

struct Description {
  EntryInfo entry;
  /// The user's function before any rewrite, for the reference, as JSON in the format of
  /// runtime/reference/README.md.
  std::string program;
  /// The text of its encoding and of its mask, to be joined with others, as JSON (Pieces.h).
  std::string pieces;
};

/// A source that was parsed, checked and inlined. The compiler reads it any number of times and
/// does not change it. Not thread-safe: calls on one program must not overlap.
class PreparedProgram {
public:
  virtual ~PreparedProgram() = default;
  virtual const Description &description() const = 0;
};

struct CompiledCode {
  plan::Plan plan;
  /// A relocatable ELF object, or for cuda a PTX module, that defines the symbol of every stage.
  std::string object;
  std::string explainText;
  std::string explainJson;
};

/// The name, shape and elements of a parameter.
struct NamedNumbers {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};

/// A request to rewrite the biases of a program as progressive interpolation.
struct RepresentRequest {
  Source source;
  /// The position up to which biases do not change.
  int64_t length = 0;
  /// The number of heads, for slopes that are defined by a rule, or 0 if it is unknown.
  int64_t heads = 0;
  /// The parameters of the original program. Without `derives`, parameters are neither required nor
  /// returned.
  std::vector<NamedNumbers> parameters;
  bool derives = false;
};

struct RepresentedProgram {
  std::string text;
  std::vector<NamedNumbers> parameters;
};

/// The stages of compilation that `emit` returns.
enum class EmitStage { PE, Tile, LLVM, Object, Ptx, Step };

class Jit {
public:
  virtual ~Jit() = default;
  /// Returns the version of LLVM, for example "22.1.8".
  virtual std::string llvmVersion() const = 0;
  /// Parses, checks and inlines a source.
  virtual Expected<std::unique_ptr<PreparedProgram>> prepare(const Source &source) = 0;
  /// Compiles a program of this object that was prepared from the source of the request.
  virtual Expected<CompiledCode> compile(const PreparedProgram &program,
                                         const CompileRequest &request) = 0;
  /// Compiles a module of functions in upstream dialects (func, scf, vector, math, memref with bare
  /// pointers) to an object that defines them as C functions. A scalar function of f32 becomes two
  /// functions over arrays, for its values and its derivative. A function F of one argument becomes
  /// F_forward1(x, y, count) and F_backward1(x, dy, dx, count).
  virtual Expected<std::string> compileKernels(const Source &source) = 0;
  /// Returns the program at one stage of compilation as text, or the bytes of an object.
  virtual Expected<std::string> emit(const PreparedProgram &program, const CompileRequest &request,
                                     EmitStage stage) = 0;
  /// Returns the program with rewritten biases, and its parameters.
  virtual Expected<RepresentedProgram> represent(const PreparedProgram &program,
                                                 const RepresentRequest &request) = 0;
};

} // namespace pe::jit

/// Creates the compiler, which the caller owns. Returns null if `abiVersion` differs from the
/// library's kJitAbiVersion.
extern "C" pe::jit::Jit *peCreateJit(int abiVersion);

#endif // PE_RUNTIME_JIT_JITINTERFACE_H

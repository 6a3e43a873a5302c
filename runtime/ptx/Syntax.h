//===- Syntax.h - PTX text as parsed ----------------------------*- C++ -*-===//
//
// A parsed module: variables, functions and their statements, with names resolved to indices. The
// parser checks the grammar of PTX ISA 7.0 to 9.0 (declarations, scopes, operands) and nothing
// about individual instructions, which StepDecoder.h checks.
//
//   Expected<Module> module = parse(text, "kernel.ptx");
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_SYNTAX_H
#define PE_RUNTIME_PTX_SYNTAX_H

#include "pe/Error.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pe::ptx {

/// Fundamental types. None: the type is absent.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64
};

/// Returns the number of bytes of a value of `type`; 0 for None and Pred.
unsigned bytesOf(Type type);
/// Returns the type named by a specifier without its dot ("b32"), or nullopt.
std::optional<Type> typeNamed(std::string_view name);
/// Returns the specifier without its dot.
std::string_view nameOf(Type type);

/// State spaces of memory. Generic addresses contain windows of the others.
enum class Space : uint8_t { Generic, Param, Shared, Global, Const, Local };
std::string_view nameOf(Space space);

/// An operand of an instruction.
struct Operand {
  enum class Kind : uint8_t {
    Register, // `index` into Function::registers; `second` for the q of p|q, else -1
    Special,  // a read-only register such as %tid.x, by `name`
    Integer,  // `bits`: a 64-bit two's complement value
    Single,   // `bits`: the IEEE bits of 0fXXXXXXXX, or of a decimal literal in single precision
    Double,   // `bits`: the IEEE bits of 0dX..., or of a decimal literal
    Symbol,   // a variable, parameter, function or label, by `name`; plus `offset`
    Address,  // [element 0 + offset]; element 0 is a Register, Symbol or Integer
    Vector,   // {a, b, ...}, or (a, b, ...) in a call
    Ignored   // `_`
  };
  Kind kind = Kind::Ignored;
  bool isNegated = false; // !%p
  bool isMinus = false;   // -%r
  int index = -1, second = -1;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
};

/// One instruction.
struct Statement {
  int line = 0;
  std::string opcode;                 // "mma"
  std::vector<std::string> modifiers; // "sync", "aligned", "m16n8k16", ...; "::" is part of a name
  int guard = -1;                     // the register of @%p, or -1
  bool isGuardNegated = false;
  std::vector<Operand> operands;

  bool has(std::string_view modifier) const;
  /// Returns "mma.sync.aligned...".
  std::string mnemonic() const;
};

struct Register {
  std::string name; // with its %
  Type type = Type::None;
};

/// A variable of any space, or a parameter (offset: its place in the parameter space).
struct Variable {
  std::string name;
  Space space = Space::Generic;
  Type type = Type::None;
  uint64_t align = 1, bytes = 0, offset = 0;
  bool isExtern = false;        // such as dynamic shared memory, whose size the launch states
  std::vector<uint8_t> initial; // empty, or `bytes` bytes
  struct Reference {            // initial value: the address of a symbol
    uint64_t at = 0;
    std::string symbol;
    int64_t addend = 0;
    bool isGeneric = false; // generic(symbol)
  };
  std::vector<Reference> references;
  int line = 0;
};

/// A .loc directive: the source line of the statements that follow it.
struct SourceLine {
  int line = 0; // of the directive
  int file = 0; // a number of Module::files
  int sourceLine = 0;
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool isDefined = false; // false: a declaration
  int line = 0;
  std::vector<Variable> results, parameters;
  /// The registers that statements use, in the order of their first use. A range `%r<21>` that is
  /// only declared adds none; parameters in .reg have the space Generic and a register here.
  std::vector<Register> registers;
  /// Variables declared in the body, of spaces Param, Local and Shared. Names are unique: the
  /// parser renames a variable of an inner scope whose name occurs again.
  std::vector<Variable> variables;
  std::vector<Statement> statements;
  std::vector<SourceLine> sourceLines;         // ascending by line
  std::unordered_map<std::string, int> labels; // to the index of the statement that follows
  std::unordered_map<std::string, std::vector<std::string>> branchTargets;
  std::array<int, 3> requiredThreads{}; // .reqntid; zeros if absent
  std::array<int, 3> greatestThreads{}; // .maxntid; zeros if absent
};

struct Module {
  std::string file;         // named in messages
  int major = 0, minor = 0; // .version
  std::string chip;         // .target: "sm_90a"
  std::vector<Variable> variables;
  std::vector<Function> functions;  // a definition replaces its declarations
  std::map<int, std::string> files; // of .loc directives, by number
  const Function *function(std::string_view name) const;
  /// Returns the function whose text contains a line, or null if there is none.
  const Function *functionAt(int line) const;
  /// Returns "FILE:LINE" of the source of a line of PTX, or "" if no .loc directive states it.
  std::string sourceOf(int line) const;
};

/// Parses PTX text. Errors have the location "FILE:LINE" and state what was expected and found.
Expected<Module> parse(std::string_view text, const std::string &file);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_SYNTAX_H

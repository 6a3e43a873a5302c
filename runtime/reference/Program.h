//===- Program.h - The neutral form of a user's function --------*- C++ -*-===//
//
// The compiler exports the user's function, before any rewriting, as JSON in a form independent of
// the operations (README.md shows it). This is that JSON as plain data, with values numbered
// densely from zero, and the few attribute accessors that the reference needs. Attributes keep the
// compiler's spelling, so the accessors are lenient: 0.5, "0.5 : f32" and "5.0e-01" are the same
// number, and "softmax", "#pe.normalizer<softmax>" and "#pe<normalizer softmax>" the same keyword.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_PROGRAM_H
#define PE_RUNTIME_REFERENCE_PROGRAM_H

#include "runtime/core/Error.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pe::reference {

using ValueId = int;

/// An attribute's value: nothing, a boolean, a number, a string or a list.
struct Attribute {
  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Attribute>> value;

  std::optional<double> asNumber() const;
  /// An integer with all its bits; a boolean is 1 or 0.
  std::optional<int64_t> asInteger() const;
  std::optional<bool> asBool() const;
  /// A keyword without its dialect's wrapping, or the text of a plain string.
  std::optional<std::string> asKeyword() const;
  /// A list of integers; "array<i32: 1, 0, 2>" is one too.
  std::optional<std::vector<int64_t>> asIntegers() const;
};

using Attributes = std::map<std::string, Attribute>;

struct Region;

struct Operation {
  std::string name;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  std::vector<Region> regions;
  /// "FILE:LINE:COL".
  std::string location;

  const Attribute *find(std::string_view attribute) const;
  /// The attribute as the named kind; `fallback` when it is absent; an error, at the operation's
  /// location, when it is present and of another kind.
  Expected<double> number(std::string_view attribute, double fallback) const;
  Expected<int64_t> integer(std::string_view attribute, int64_t fallback) const;
  Expected<bool> boolean(std::string_view attribute, bool fallback) const;
  Expected<std::string> keyword(std::string_view attribute, std::string fallback) const;

  /// The operands of each variadic group: by "operandSegmentSizes" if given, else one operand per
  /// group in order. Groups that are absent are empty; there are at least `count` of them.
  Expected<std::vector<std::vector<ValueId>>> operandGroups(size_t count,
                                                            size_t required = 0) const;

  /// Refuses an attribute that is not in `known`: the reference must not ignore one that it does
  /// not read. Names with a dot are the user's own and are allowed.
  Status expectOnly(std::initializer_list<std::string_view> known) const;

  /// An error about this operation: "'pe.table': MESSAGE" at its location.
  template <typename... Parts> Error fail(const Parts &...parts) const {
    return makeError("'", name, "' ", parts...).at(location);
  }
};

struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};

struct Argument {
  ValueId id = 0;
  std::string name;
  /// What each dimension counts, by `pe.axes`; empty without it.
  std::vector<std::string> axes;
  /// The argument that is read where this one is left out, by `pe.absent`; empty: it is needed.
  std::string absent;
};

struct Return {
  ValueId id = 0;
  std::string name;
};

struct Program {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
  std::vector<Return> returns;
  /// The MLIR spelling of every value's type, by ValueId.
  std::vector<std::string> types;

  const std::string &typeOf(ValueId id) const { return types[id]; }
};

/// Reads the exported JSON; anything malformed is an error that names the part.
Expected<Program> parseProgram(std::string_view json);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_PROGRAM_H

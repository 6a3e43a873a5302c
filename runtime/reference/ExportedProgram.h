//===- ExportedProgram.h - The neutral form of a user's function -*- C++ -*-===//
//
// The compiler exports the user's function, before any rewriting, as JSON in a form independent of
// the operations (README.md shows it). This is the JSON as data, with values numbered densely from
// zero, and the attribute accessors that the reference needs. Attributes keep the compiler's
// spelling, so the accessors are lenient: 0.5, "0.5 : f32" and "5.0e-01" are the same number, and
// "softmax", "#pe.normalizer<softmax>" and "#pe<normalizer softmax>" the same keyword.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_EXPORTEDPROGRAM_H
#define PE_RUNTIME_REFERENCE_EXPORTEDPROGRAM_H

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
  /// Returns an integer with all its bits; a boolean is 1 or 0.
  std::optional<int64_t> asInteger() const;
  std::optional<bool> asBool() const;
  /// Returns a keyword without the wrapping of its dialect, or a plain string.
  std::optional<std::string> asKeyword() const;
  /// Returns a list of integers, including the form "array<i32: 1, 0, 2>".
  std::optional<std::vector<int64_t>> asIntegers() const;
};

using Attributes = std::map<std::string, Attribute>;

struct Region;

/// An operation of a function or a region.
struct Operation {
  std::string name;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  std::vector<Region> regions;
  /// "FILE:LINE:COL".
  std::string location;

  const Attribute *find(std::string_view attribute) const;
  /// Returns the attribute as a value of this kind, or `fallback` if it is absent. An attribute of
  /// another kind is an error at the operation's location.
  Expected<double> number(std::string_view attribute, double fallback) const;
  Expected<int64_t> integer(std::string_view attribute, int64_t fallback) const;
  Expected<bool> boolean(std::string_view attribute, bool fallback) const;
  Expected<std::string> keyword(std::string_view attribute, std::string fallback) const;

  /// Returns the operands of each variadic group: by "operandSegmentSizes" if present, otherwise
  /// one operand per group in order. Absent groups are empty; there are at least `count` groups.
  Expected<std::vector<std::vector<ValueId>>> operandGroups(size_t count,
                                                            size_t required = 0) const;

  /// Rejects an attribute that is not in `known`, because the reference must not ignore one.
  /// Attributes with a dot in their names belong to the user and are allowed.
  Status expectOnly(std::initializer_list<std::string_view> known) const;

  /// Returns an error about this operation: "'pe.table': MESSAGE" at its location.
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
  /// The meaning of each dimension, from `pe.axes`; empty if unspecified.
  std::vector<std::string> axes;
  /// The argument that is read if this one is omitted, from `pe.absent`. Empty: it is required.
  std::string absent;
};

struct Return {
  ValueId id = 0;
  std::string name;
};

/// A user's function.
struct Program {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
  std::vector<Return> returns;
  /// The MLIR spelling of every value's type, by ValueId.
  std::vector<std::string> types;

  const std::string &typeOf(ValueId id) const { return types[id]; }
};

/// Parses the exported JSON. Malformed input is an error that names the faulty part.
Expected<Program> parseProgram(std::string_view json);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_EXPORTEDPROGRAM_H

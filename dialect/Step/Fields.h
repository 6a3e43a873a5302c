//===- Fields.h - Named fields of schedules -------------------------------===//
//
// A schedule is a struct whose integer fields have a name and a range. One table per struct serves
// parsing, printing, verification and `set=` of the passes.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_STEP_FIELDS_H
#define PE_DIALECT_STEP_FIELDS_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::step {

/// An integer field, or one of a list of words whose number is stored.
template <typename Schedule> struct Field {
  StringLiteral name;
  int64_t Schedule::*member;
  int64_t least = 1, most = 1 << 20, unit = 1;
  ArrayRef<StringLiteral> words = {};
};

template <typename Schedule> llvm::hash_code hashOf(const Schedule &schedule) {
  llvm::hash_code hash = 0;
  for (const Field<Schedule> &field : Schedule::fields())
    hash = llvm::hash_combine(hash, schedule.*field.member);
  return hash;
}

/// Sets a field from text, a number or a word. Returns false if there is no such field or value.
template <typename Schedule> bool setField(Schedule &schedule, StringRef name, StringRef value) {
  for (const Field<Schedule> &field : Schedule::fields()) {
    if (field.name != name)
      continue;
    const auto *word = llvm::find(field.words, value);
    if (word != field.words.end())
      schedule.*field.member = word - field.words.begin();
    else if (!field.words.empty() || value.getAsInteger(10, schedule.*field.member))
      return false;
    return true;
  }
  return false;
}

/// Lists the names of the fields.
template <typename Schedule> std::string fieldNames() {
  return llvm::join(
      llvm::map_range(Schedule::fields(), [](const Field<Schedule> &field) { return field.name; }),
      ", ");
}

/// Prints `<owner = rows, lanes = 8>`.
template <typename Schedule> void printFields(AsmPrinter &printer, const Schedule &schedule) {
  printer << "<";
  llvm::interleaveComma(Schedule::fields(), printer, [&](const Field<Schedule> &field) {
    const int64_t value = schedule.*field.member;
    printer << field.name << " = ";
    if (field.words.empty())
      printer << value;
    else
      printer << field.words[value];
  });
  printer << ">";
}

/// Parses `<lanes = 8>`. Fields that are absent keep their defaults.
template <typename Schedule> ParseResult parseFields(AsmParser &parser, Schedule &schedule) {
  SmallVector<StringRef> seen;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
    const SMLoc place = parser.getCurrentLocation();
    StringRef name, word;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (llvm::is_contained(seen, name)) // step-C1
      return parser.emitError(place, "expected each field once, found ")
             << name << " again (step-C1)";
    seen.push_back(name);
    std::string value;
    int64_t number;
    OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (parsed.has_value() && failed(*parsed))
      return failure();
    if (parsed.has_value())
      value = std::to_string(number);
    else if (succeeded(parser.parseOptionalKeyword(&word)))
      value = word.str();
    if (setField(schedule, name, value))
      return success();
    return parser.emitError(place, "expected a field of ") // step-C1
           << fieldNames<Schedule>() << " with a value, found " << name << " = " << value
           << " (step-C1)";
  });
}

/// Verifies the range of every field.
template <typename Schedule>
LogicalResult verifyFields(llvm::function_ref<InFlightDiagnostic()> emitError,
                           const Schedule &schedule) {
  for (const Field<Schedule> &field : Schedule::fields()) {
    const int64_t value = schedule.*field.member;
    if (!field.words.empty() ||
        (value >= field.least && value <= field.most && value % field.unit == 0))
      continue;
    InFlightDiagnostic error = emitError() << "expected " << field.name << " from " << field.least
                                           << " to " << field.most; // step-C2
    if (field.unit != 1)
      error << ", a multiple of " << field.unit;
    return error << ", found " << value << " (step-C2)";
  }
  return success();
}

} // namespace mlir::step

#endif // PE_DIALECT_STEP_FIELDS_H

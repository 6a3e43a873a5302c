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

/// Returns the field with a name, or null.
template <typename Schedule> const Field<Schedule> *findField(StringRef name) {
  const Field<Schedule> *found = llvm::find_if(
      Schedule::fields(), [&](const Field<Schedule> &field) { return field.name == name; });
  return found == Schedule::fields().end() ? nullptr : found;
}

/// Sets a field from text, a number or a word. Returns false if the text is neither.
template <typename Schedule>
bool setField(Schedule &schedule, const Field<Schedule> &field, StringRef value) {
  if (field.words.empty())
    return !value.getAsInteger(10, schedule.*field.member);
  const auto *word = llvm::find(field.words, value);
  if (word == field.words.end())
    return false;
  schedule.*field.member = word - field.words.begin();
  return true;
}

/// Describes the values of a field: "rows or columns", "from 1 to 4".
template <typename Schedule> std::string valuesOf(const Field<Schedule> &field) {
  if (!field.words.empty())
    return llvm::join(field.words, " or ");
  std::string text = "from " + std::to_string(field.least) + " to " + std::to_string(field.most);
  return field.unit == 1 ? text : text + ", a multiple of " + std::to_string(field.unit);
}

/// Returns true if the field's number is in its range.
template <typename Schedule>
bool isInRange(const Schedule &schedule, const Field<Schedule> &field) {
  const int64_t value = schedule.*field.member;
  return !field.words.empty() ||
         (value >= field.least && value <= field.most && value % field.unit == 0);
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
    const Field<Schedule> *field = findField<Schedule>(name);
    if (field && setField(schedule, *field, value))
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
    if (!isInRange(schedule, field)) // step-C2
      return emitError() << "expected " << field.name << " " << valuesOf(field) << ", found "
                         << schedule.*field.member << " (step-C2)";
  }
  return success();
}

} // namespace mlir::step

#endif // PE_DIALECT_STEP_FIELDS_H

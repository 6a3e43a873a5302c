//===- PEClauses.cpp - The clauses of pe.attention ------------------------===//
//
// One table of the clauses, from which pe.attention is parsed and printed. A new clause is a group
// of operands in PEAttention.td and a row of the table.
//
//===----------------------------------------------------------------------===//
#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PESignature.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;
using namespace mlir::pe;

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

namespace {

enum class Form {
  List,           ///< name(%a, %b)
  Single,         ///< name(%a)
  SingleOrTensor, ///< name(%a) or name(%a : type)
  Dropout,        ///< name(probability, %seed : type)
  Tensor,         ///< name(%a : type)
  Tensors,        ///< name(%a, %b : type, type)
  Pair,           ///< name(%a, %b : type, type), in two groups of operands
};

struct Clause {
  StringLiteral name;
  Form form;
  unsigned group;              ///< of operands (PEAttention.td)
  Type (*type)(MLIRContext *); ///< of operands whose type is not written
  bool countsRows = false;     ///< Its formulas count rows (positions-C3).
};

template <typename T> Type typeOf(MLIRContext *context) { return T::get(context); }

/// In the order that sources must have.
constexpr Clause kClauses[] = {
    {"bias", Form::List, 3, typeOf<BiasType>},
    {"prologue", Form::List, 4, typeOf<PrologueType>, /*countsRows=*/true},
    {"rotate", Form::Single, 5, typeOf<RotationType>},
    {"rotate_values", Form::Single, 16, typeOf<RotationType>},
    {"content", Form::List, 6, typeOf<ContentType>, /*countsRows=*/true},
    {"query", Form::Tensors, 17, nullptr},
    {"value_content", Form::Single, 7, typeOf<ContentType>, /*countsRows=*/true},
    {"score", Form::Single, 8, typeOf<ScoreType>},
    {"sink", Form::SingleOrTensor, 9, typeOf<SinkType>},
    {"factor", Form::List, 10, typeOf<FactorType>},
    {"dropout", Form::Dropout, 11, nullptr},
    {"positions", Form::Pair, 12, nullptr},
    {"mask", Form::Single, 14, typeOf<MaskType>},
    {"pages", Form::Tensor, 15, nullptr}};

constexpr unsigned kGroups =
    std::tuple_size_v<decltype(AttentionOp::Properties::operandSegmentSizes)>;
static_assert(kGroups == 18, "the table numbers the groups of PEAttention.td");
constexpr StringLiteral kTypes = "(!qkv, !qkv, !qkv) -> !qkv";

/// The operands of one group and their types.
struct Group {
  SmallVector<UnresolvedOperand, 2> operands;
  SmallVector<Type, 2> types;
};

/// Returns "bias(...), prologue(...), ..." with the names of all clauses.
std::string listClauses(StringRef separator, StringRef last) {
  std::string list;
  for (const Clause &clause : kClauses) {
    if (!list.empty())
      list += &clause == std::end(kClauses) - 1 ? last : separator;
    list += clause.name.str() + "(...)";
  }
  return list;
}

/// Parses the clauses of one attention.
class ClauseParser {
public:
  ClauseParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), loc(parser.getCurrentLocation()) {}

  ParseResult parse();
  /// Appends the operands of the clauses to those of the operation, and sets the sizes of groups.
  ParseResult resolve();

private:
  const Clause *find(SMLoc place, StringRef word);
  ParseResult parse(const Clause &clause);
  ParseResult parseSingle(const Clause &clause, Group &group);
  ParseResult parseTyped(Group &group);

  OpAsmParser &parser;
  OperationState &result;
  SMLoc loc;
  const Clause *last = nullptr;
  std::array<Group, kGroups> groups;
};

} // namespace

/// Returns the clause `word`, which must come after `last` in the order. Reports an error and
/// returns null otherwise.
const Clause *ClauseParser::find(SMLoc place, StringRef word) {
  const Clause *clause =
      llvm::find_if(kClauses, [&](const Clause &known) { return known.name == word; });
  if (clause == std::end(kClauses)) // clause-C1
    parser.emitError(place) << "expected " << listClauses(", ", ", ")
                            << ", attributes or ':' with the types, found '" << word
                            << "' (clause-C1)";
  else if (clause == last) // clause-C3
    parser.emitError(place) << "expected one clause " << word << "(...), found two"
                            << (clause->form == Form::List ? ("; write " + word + "(%a, %b)").str()
                                : word == "mask"           ? "; combine masks by pe.mask_and"
                                                           : "")
                            << " (clause-C3)";
  else if (last && clause < last) // clause-C3
    parser.emitError(place) << "expected the clauses in the order " << listClauses(" ", " ")
                            << ", found " << word << " after " << last->name << " (clause-C3)";
  else
    return clause;
  return nullptr;
}

/// Parses %operand and the closing parenthesis.
ParseResult ClauseParser::parseSingle(const Clause &clause, Group &group) {
  if (parser.parseOperand(group.operands.emplace_back()))
    return failure();
  group.types.push_back(clause.type(parser.getContext()));
  if (clause.form == Form::SingleOrTensor && succeeded(parser.parseOptionalColon()) &&
      parser.parseType(group.types.front()))
    return failure();
  SMLoc place = parser.getCurrentLocation();
  if (clause.form == Form::Single && succeeded(parser.parseOptionalComma()))
    return parser.emitError(place)
           << "expected one value in " << clause.name << "(...), found several"
           << (clause.name == "mask" ? "; join masks with pe.mask_and" : "");
  return parser.parseRParen();
}

/// Parses %operand : type.
ParseResult ClauseParser::parseTyped(Group &group) {
  return failure(parser.parseOperand(group.operands.emplace_back()) ||
                 parser.parseColonType(group.types.emplace_back()));
}

ParseResult ClauseParser::parse(const Clause &clause) {
  Group &group = groups[clause.group];
  if (clause.form == Form::List) {
    if (parser.parseOperandList(group.operands, OpAsmParser::Delimiter::Paren))
      return failure();
    group.types.assign(group.operands.size(), clause.type(parser.getContext()));
    return success();
  }
  if (parser.parseLParen())
    return failure();
  if (clause.form == Form::Tensors) {
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseOperandList(group.operands) || parser.parseColonTypeList(group.types) ||
        parser.parseRParen())
      return failure();
    if (group.operands.size() != group.types.size())
      return parser.emitError(place)
             << "expected one type per tensor of " << clause.name << "(...), found "
             << group.types.size() << " for " << group.operands.size();
    return success();
  }
  if (clause.form == Form::Tensor)
    return failure(parseTyped(group) || parser.parseRParen());
  if (clause.form == Form::Dropout) {
    FloatAttr probability;
    if (parser.parseAttribute(probability, parser.getBuilder().getF64Type()) ||
        parser.parseComma() || parseTyped(group))
      return failure();
    result.getOrAddProperties<AttentionOp::Properties>().dropout = probability;
    return parser.parseRParen();
  }
  if (clause.form != Form::Pair)
    return parseSingle(clause, group);
  Group &second = groups[clause.group + 1];
  return failure(parser.parseOperand(group.operands.emplace_back()) || parser.parseComma() ||
                 parser.parseOperand(second.operands.emplace_back()) ||
                 parser.parseColonType(group.types.emplace_back()) || parser.parseComma() ||
                 parser.parseType(second.types.emplace_back()) || parser.parseRParen());
}

ParseResult ClauseParser::parse() {
  StringRef word;
  for (SMLoc place = parser.getCurrentLocation(); succeeded(parser.parseOptionalKeyword(&word));
       place = parser.getCurrentLocation()) {
    if (!beginsClause(place, word))
      return reportMissingTypes(parser, kTypes);
    last = find(place, word);
    if (!last || parse(*last))
      return failure();
    if (groups[last->group].operands.empty()) // clause-C4
      return parser.emitError(place) << "expected a " << word << " in " << word
                                     << "(...), found none; omit the clause (clause-C4)";
  }
  return success();
}

ParseResult ClauseParser::resolve() {
  auto &sizes = result.getOrAddProperties<AttentionOp::Properties>().operandSegmentSizes;
  for (auto [number, group] : llvm::enumerate(groups)) {
    sizes[number] = number < 3 ? 1 : static_cast<int32_t>(group.operands.size());
    if (parser.resolveOperands(group.operands, group.types, loc, result.operands))
      return failure();
  }
  return success();
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  UnresolvedOperand activations[3];
  for (unsigned n = 0; n < 3; ++n)
    if ((n > 0 && parser.parseComma()) || parser.parseOperand(activations[n]))
      return failure();
  ClauseParser clauses(parser, result);
  if (clauses.parse())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      failed(verifyInherentAttrs(result.name, result.attributes, [&] {
        return parser.emitError(loc) << "'" << result.name.getStringRef() << "' op ";
      })))
    return failure();

  static constexpr SignaturePart operands[] = {{"the query"}, {"the key"}, {"the value"}};
  static constexpr SignaturePart results[] = {
      {"the output"}, {"the log-sum-exp", SignaturePart::Kind::LogSumExp, /*isOptional=*/true}};
  SmallVector<StringRef> names;
  for (const Clause &clause : kClauses)
    names.push_back(clause.name);
  Type types[3], output, lse;
  if (parseSignature(parser, {"pe.attention", kTypes, operands, results, names},
                     {&types[0], &types[1], &types[2], &output, &lse}))
    return failure();
  result.addTypes(output);
  if (lse)
    result.addTypes(lse);
  for (unsigned n = 0; n < 3; ++n)
    if (parser.resolveOperand(activations[n], types[n], result.operands))
      return failure();
  return clauses.resolve();
}

static void printClause(OpAsmPrinter &printer, AttentionOp op, const Clause &clause) {
  OperandRange operands = op.getODSOperands(clause.group);
  if (operands.empty())
    return;
  printer << " " << clause.name << "(";
  if (clause.form == Form::Dropout && op.getDropoutAttr()) {
    printer.printAttributeWithoutType(op.getDropoutAttr());
    printer << ", ";
  }
  printer << operands;
  if (clause.form == Form::Pair) {
    OperandRange second = op.getODSOperands(clause.group + 1);
    printer << ", " << second << " : " << operands.getTypes() << ", " << second.getTypes();
  } else if (clause.form == Form::Dropout || clause.form == Form::Tensor ||
             clause.form == Form::Tensors ||
             (clause.form == Form::SingleOrTensor &&
              operands.front().getType() != clause.type(op.getContext()))) {
    printer << " : " << operands.getTypes();
  }
  printer << ")";
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printer << " " << getQuery() << ", " << getKey() << ", " << getValue();
  for (const Clause &clause : kClauses)
    printClause(printer, *this, clause);
  SmallVector<StringRef> elided = {"operandSegmentSizes"};
  auto elideIf = [&](bool isDefault, StringRef name) {
    if (isDefault)
      elided.push_back(name);
  };
  elideIf(getSeed() != nullptr, "dropout");
  elideIf(getNormalizer() == Normalizer::Softmax, "normalizer");
  elideIf(getRemainder() == Remainder::Drop, "remainder");
  elideIf(getDirection() == Direction::Before, "direction");
  printer.printOptionalAttrDict((*this)->getAttrs(), elided);
  printer << " ";
  printSignature(printer, {getQuery().getType(), getKey().getType(), getValue().getType()},
                 {getOutput().getType(), getLse() ? getLse().getType() : Type()});
}

StringRef AttentionOp::findClauseOfRows() {
  for (const Clause &clause : kClauses)
    if (clause.countsRows && !getODSOperands(clause.group).empty())
      return clause.name;
  return {};
}

//===- ParseOperands.cpp - Operands of instructions -----------------------===//

#include "runtime/ptx/ConstantExpression.h"
#include "runtime/ptx/Parser.h"

#include <unordered_set>

namespace pe::ptx {

/// Special registers that have the components x, y, z and w.
static const std::unordered_set<std::string_view> specialVectors = {
    "%tid",       "%ntid",       "%ctaid",         "%nctaid",
    "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};

static const std::unordered_set<std::string_view> specialScalars = {"%laneid",
                                                                    "%warpid",
                                                                    "%nwarpid",
                                                                    "%smid",
                                                                    "%nsmid",
                                                                    "%gridid",
                                                                    "%lanemask_eq",
                                                                    "%lanemask_le",
                                                                    "%lanemask_lt",
                                                                    "%lanemask_ge",
                                                                    "%lanemask_gt",
                                                                    "%clock",
                                                                    "%clock_hi",
                                                                    "%clock64",
                                                                    "%globaltimer",
                                                                    "%globaltimer_lo",
                                                                    "%globaltimer_hi",
                                                                    "%total_smem_size",
                                                                    "%aggr_smem_size",
                                                                    "%dynamic_smem_size",
                                                                    "%cluster_ctarank",
                                                                    "%cluster_nctarank",
                                                                    "%current_graph_exec",
                                                                    "%is_explicit_cluster",
                                                                    "%reserved_smem_offset_begin",
                                                                    "%reserved_smem_offset_end",
                                                                    "%reserved_smem_offset_cap"};

/// Returns true for %envreg3, %pm0, %pm0_64 and %reserved_smem_offset_0.
static bool isNumberedSpecial(std::string_view name) {
  if (name.starts_with("%pm") && name.ends_with("_64"))
    name.remove_suffix(3);
  for (std::string_view prefix : {"%envreg", "%pm", "%reserved_smem_offset_"}) {
    if (!name.starts_with(prefix))
      continue;
    name.remove_prefix(prefix.size());
    return !name.empty() && name.size() <= 2 &&
           name.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

void Parser::parseOperands(Statement &statement) {
  operandBuffer.clear();
  if (!lexer.accept(";")) {
    do {
      operandBuffer.push_back(parseOperand());
    } while (lexer.accept(","));
    if (!lexer.accept(";"))
      lexer.failExpected("',' or ';' after an operand of '" + std::string(opcode) + "'");
  }
  statement.operands.assign(std::make_move_iterator(operandBuffer.begin()),
                            std::make_move_iterator(operandBuffer.end()));
  if (!hasReference)
    return;
  // The operands stay in place from here on, even if the statement moves.
  for (size_t n = 0; n < statement.operands.size(); ++n) {
    Reference::Need need = Reference::Need::Any;
    if (opcode == "bra")
      need = Reference::Need::Label;
    else if (opcode == "brx" && n == 1)
      need = Reference::Need::Targets;
    addReferences(statement.operands[n], need, statement.line);
  }
}

/// The mark of a symbol that the scopes have not resolved, in Operand::index until they see it.
static constexpr int unresolvedIndex = -2;

void Parser::addReferences(Operand &operand, Reference::Need need, int line) {
  for (Operand &element : operand.elements)
    addReferences(element, need, line);
  if (operand.kind != Operand::Kind::Symbol || operand.index != unresolvedIndex)
    return;
  operand.index = -1;
  // The scopes keep a view of a name, so it must be that of the text.
  scopes->refer({pendingNames[pendingCount++], &operand.name, line, need});
}

Operand Parser::parseOperand() {
  const Token token = lexer.peek();
  if (token.kind == Token::Kind::Mark) {
    if (token.text == "[")
      return parseAddress();
    if (token.text == "{")
      return parseVector("}");
    if (token.text == "(" && opcode == "call")
      return parseVector(")");
  }
  return parseScalar();
}

Operand Parser::parseScalar() {
  const Token token = lexer.peek();
  switch (token.kind) {
  case Token::Kind::Name:
    return token.text == "WARP_SZ" ? parseInteger() : parseNamed();
  case Token::Kind::Integer:
    return parseInteger();
  case Token::Kind::Single:
  case Token::Kind::Double: {
    Operand operand;
    operand.kind =
        token.kind == Token::Kind::Single ? Operand::Kind::Single : Operand::Kind::Double;
    operand.bits = lexer.take().bits;
    return operand;
  }
  case Token::Kind::Mark:
    if (token.text == "!")
      return parseNegated();
    if (token.text == "-" || token.text == "+")
      return parseNegative();
    if (token.text == "(" || token.text == "~")
      return parseInteger();
    break;
  default:
    break;
  }
  lexer.failExpected("an operand of '" + std::string(opcode) + "'");
}

Operand Parser::parseInteger() {
  Operand operand;
  operand.kind = Operand::Kind::Integer;
  operand.bits = takeConstant(lexer).bits;
  return operand;
}

/// Reads `!%p` or an integer expression that begins with `!`.
Operand Parser::parseNegated() {
  if (lexer.peekSecond().kind != Token::Kind::Name || lexer.peekSecond().text == "WARP_SZ")
    return parseInteger();
  lexer.take();
  Operand operand;
  operand.kind = Operand::Kind::Register;
  operand.index = parseRegisterNamed("a register after '!'");
  operand.isNegated = true;
  return operand;
}

/// Reads `-%r`, `-1.5` or an integer expression that begins with a sign.
Operand Parser::parseNegative() {
  const Token second = lexer.peekSecond();
  const bool isMinus = lexer.peek().text == "-";
  if (isMinus && second.kind == Token::Kind::Name && second.text != "WARP_SZ") {
    lexer.take();
    Operand operand;
    operand.kind = Operand::Kind::Register;
    operand.index = parseRegisterNamed("a register after '-'");
    operand.isMinus = true;
    return operand;
  }
  if (second.kind != Token::Kind::Single && second.kind != Token::Kind::Double)
    return parseInteger();
  lexer.take();
  Operand operand = parseScalar();
  if (isMinus)
    operand.bits ^= uint64_t{1} << (operand.kind == Operand::Kind::Single ? 31 : 63);
  return operand;
}

/// Fails for `%r1.b0` and `%v.x`: selectors of video instructions and of vector registers.
void Parser::refuseSelector(const Token &name) {
  const Token next = lexer.peek();
  if (next.kind == Token::Kind::Dotted && name.touches(next))
    lexer.failExpected("a whole register, because selectors are not supported");
}

int Parser::parseRegisterNamed(std::string_view what) {
  const Token name = lexer.expectName(what);
  const Binding *binding = scopes->find(name.text);
  if (!binding || binding->kind != Binding::Kind::Register)
    lexer.failExpected(std::string(what) + " that is declared", name);
  const int index = binding->index;
  refuseSelector(name);
  return index;
}

Operand Parser::parseSpecial(const Token &name) {
  Operand operand;
  operand.kind = Operand::Kind::Special;
  operand.name = name.text;
  const bool isVector = specialVectors.contains(name.text);
  if (!isVector && !specialScalars.contains(name.text) && !isNumberedSpecial(name.text))
    lexer.failExpected("a declared or special register", name);
  const Token next = lexer.peek();
  if (isVector && next.kind == Token::Kind::Dotted && name.touches(next)) {
    if (next.text.size() != 2 || std::string_view("xyzw").find(next.text[1]) == std::string::npos)
      lexer.failExpected("a component .x, .y, .z or .w");
    operand.name += lexer.take().text;
  }
  refuseSelector(lexer.peek().kind == Token::Kind::Dotted ? name : next);
  return operand;
}

/// Reads the `|q` of `p|q`, if it is there.
void Parser::parsePairEnd(Operand &operand) {
  if (!lexer.accept("|"))
    return;
  if (lexer.peek().kind == Token::Kind::Name && lexer.peek().text == "_")
    lexer.take();
  else
    operand.second = parseRegisterNamed("a register after '|'");
}

/// Reads a register, `p|q`, `_`, a special register or a symbol with an offset.
Operand Parser::parseNamed() {
  const Token name = lexer.take();
  Operand operand;
  if (name.text == "_") {
    parsePairEnd(operand);
    return operand;
  }
  const bool isTarget = opcode == "bra"; // a label, whatever variables have its name
  const Binding *binding = isTarget ? nullptr : scopes->find(name.text);
  if (binding && binding->kind == Binding::Kind::Register) {
    operand.kind = Operand::Kind::Register;
    operand.index = binding->index;
    refuseSelector(name);
    parsePairEnd(operand);
    return operand;
  }
  if (!binding && name.text[0] == '%')
    return parseSpecial(name);
  operand.kind = Operand::Kind::Symbol;
  operand.name = name.text;
  if (binding && binding->kind == Binding::Kind::Variable) {
    if (!binding->unique.empty())
      operand.name = binding->unique;
  } else {
    if (!hasReference) {
      pendingNames.clear();
      pendingCount = 0;
    }
    hasReference = true;
    operand.index = unresolvedIndex;
    pendingNames.push_back(name.text);
  }
  if (lexer.peek().isMark("+") || lexer.peek().isMark("-"))
    operand.offset = static_cast<int64_t>(takeConstant(lexer).bits);
  return operand;
}

Operand Parser::parseAddress() {
  lexer.take();
  Operand address;
  address.kind = Operand::Kind::Address;
  const Token first = lexer.peek();
  Operand base = parseScalar();
  const bool isBase =
      base.kind == Operand::Kind::Integer || base.kind == Operand::Kind::Symbol ||
      (base.kind == Operand::Kind::Register && !base.isNegated && !base.isMinus && base.second < 0);
  if (!isBase)
    lexer.failExpected("a register, a symbol or an integer as an address", first);
  address.offset = base.offset;
  base.offset = 0;
  if (lexer.peek().isMark("+") || lexer.peek().isMark("-"))
    address.offset =
        static_cast<int64_t>(static_cast<uint64_t>(address.offset) + takeConstant(lexer).bits);
  if (lexer.peek().isMark(","))
    lexer.failExpected("']' after an address, because coordinates of tensors and textures are not "
                       "supported");
  lexer.expect("]", "after an address");
  address.elements.push_back(std::move(base));
  return address;
}

/// Reads `{a, b}` or, in a call, `(a, b)`.
Operand Parser::parseVector(std::string_view end) {
  const Token begin = lexer.take();
  Operand vector;
  vector.kind = Operand::Kind::Vector;
  if (lexer.accept(end)) {
    if (end == "}")
      lexer.failExpected("an element in the braces", begin);
    return vector;
  }
  do {
    vector.elements.push_back(parseScalar());
  } while (lexer.accept(","));
  lexer.expect(end, "or ',' after an element of '" + std::string(opcode) + "'");
  return vector;
}

} // namespace pe::ptx

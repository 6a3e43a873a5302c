//===- ParseVariables.cpp - Declarations ----------------------------------===//

#include "runtime/ptx/ConstantExpression.h"
#include "runtime/ptx/Parser.h"

#include <bit>

namespace pe::ptx {

/// No machine has an array this large; the limit keeps products and sums far from overflow.
static constexpr uint64_t greatestBytes = uint64_t{1} << 40;

/// Takes the directive of a state space; returns false if there is none.
bool Parser::parseSpace(Space &space) {
  static constexpr std::pair<std::string_view, Space> spaces[] = {{".param", Space::Param},
                                                                  {".shared", Space::Shared},
                                                                  {".global", Space::Global},
                                                                  {".const", Space::Const},
                                                                  {".local", Space::Local}};
  for (const auto &[word, candidate] : spaces)
    if (lexer.acceptDotted(word)) {
      space = candidate;
      return true;
    }
  return false;
}

uint64_t Parser::parseAlignment() {
  const int line = lexer.take().line;
  const uint64_t align = takeCount(lexer, "an alignment", 1, 1 << 20);
  if (!std::has_single_bit(align))
    lexer.fail(line, "expected a power of two as an alignment, found " + std::to_string(align));
  return align;
}

/// Skips `.ptr .global .align 16`, a statement about the memory that a parameter points to.
void Parser::parsePointerAttribute() {
  lexer.take();
  Space ignored;
  parseSpace(ignored);
  if (lexer.peek().isDotted(".align"))
    parseAlignment();
}

/// Skips `.attribute(.managed)`.
void Parser::skipAttribute() {
  lexer.take();
  lexer.expect("(", "after '.attribute'");
  for (int depth = 1; depth > 0;) {
    const Token token = lexer.peek();
    if (token.kind == Token::Kind::End || token.isMark(";"))
      lexer.failExpected("')' after an attribute");
    depth += token.isMark("(") ? 1 : token.isMark(")") ? -1 : 0;
    lexer.take();
  }
}

VariableHead Parser::parseVariableHead(Space space) {
  VariableHead head;
  head.space = space;
  while (lexer.peek().kind == Token::Kind::Dotted) {
    const Token word = lexer.peek();
    if (word.text == ".align") {
      head.align = parseAlignment();
    } else if (word.text == ".ptr") {
      parsePointerAttribute();
    } else if (word.text == ".attribute") {
      skipAttribute();
    } else if (word.text == ".v2" || word.text == ".v4" || word.text == ".v8") {
      head.lanes = word.text[2] - '0';
      lexer.take();
    } else {
      const std::optional<Type> type = typeNamed(word.text.substr(1));
      if (!type || *type == Type::Pred || head.type != Type::None)
        lexer.failExpected(head.type == Type::None ? "the type of a variable, such as .b32"
                                                   : "the name of a variable");
      head.type = *type;
      lexer.take();
    }
  }
  if (head.type == Type::None)
    lexer.failExpected("the type of a variable, such as .b32");
  return head;
}

/// Reads `name[4][2] = {...}`. `name` receives the token of the name.
Variable Parser::parseDeclarator(const VariableHead &head, Token &name) {
  Variable variable;
  name = lexer.expectName("the name of a variable");
  variable.name = name.text;
  variable.space = head.space;
  variable.type = head.type;
  variable.isExtern = head.isExtern;
  variable.line = name.line;
  uint64_t count = head.lanes;
  variable.align = head.align ? head.align : head.lanes * bytesOf(head.type);
  std::vector<uint64_t> dimensions;
  while (lexer.accept("[")) {
    // An absent size is 0 until the initial value has been read.
    if (dimensions.empty() && lexer.peek().isMark("]"))
      dimensions.push_back(0);
    else
      dimensions.push_back(takeCount(lexer, "the size of an array", 0, greatestBytes));
    const uint64_t size = dimensions.back();
    if (size && count > greatestBytes / bytesOf(head.type) / size)
      lexer.fail(name.line, "expected a variable of at most 2^40 bytes, found '" + variable.name +
                                "', which is larger");
    count *= size;
    lexer.expect("]", "after the size of an array");
  }
  variable.bytes = count * bytesOf(head.type);
  if (head.lanes > 1)
    dimensions.push_back(head.lanes);
  const bool isInitialized = lexer.accept("=");
  if (isInitialized)
    parseInitializer(variable, dimensions);
  else if (variable.bytes == 0 && !head.isExtern && head.space != Space::Param)
    lexer.fail(name.line,
               "expected a size or an initial value for '" + variable.name + "', found neither");
  return variable;
}

void Parser::parseModuleVariables(Space space, bool isExtern) {
  VariableHead head = parseVariableHead(space);
  head.isExtern = isExtern;
  do {
    Token name;
    Variable variable = parseDeclarator(head, name);
    addModuleVariable(std::move(variable), name);
  } while (lexer.accept(","));
  lexer.expect(";", "after the declaration of a variable");
}

/// Reads the variables of a function's body, after their state space.
void Parser::parseLocalVariables(Space space, bool isExtern) {
  if (space == Space::Global || space == Space::Const)
    lexer.failExpected("a variable of .param, .local or .shared in a function, because '." +
                       std::string(nameOf(space)) + "' belongs outside; its type");
  VariableHead head = parseVariableHead(space);
  head.isExtern = isExtern;
  do {
    Token name;
    Variable variable = parseDeclarator(head, name);
    if (!variable.initial.empty())
      lexer.fail(name.line, "expected a variable without an initial value in ." +
                                std::string(nameOf(space)) + ", found one for '" + variable.name +
                                "'");
    variable.name = scopes->declare(name, Binding::Kind::Variable);
    function.variables.push_back(std::move(variable));
  } while (lexer.accept(","));
  lexer.expect(";", "after the declaration of a variable");
}

/// Assigns the offsets of the ABI: each parameter follows the one before at its alignment.
static void layOut(std::vector<Variable> &parameters) {
  uint64_t end = 0;
  for (Variable &parameter : parameters) {
    parameter.offset = (end + parameter.align - 1) / parameter.align * parameter.align;
    end = parameter.offset + parameter.bytes;
  }
}

/// Reads `(.param .u64 x, .reg .b32 %y)`. A register has no space: Generic.
std::vector<Variable> Parser::parseParameters() {
  std::vector<Variable> parameters;
  lexer.expect("(", "before parameters");
  while (!lexer.accept(")")) {
    if (!parameters.empty())
      lexer.expect(",", "or ')' after a parameter");
    const bool isRegister = !function.isEntry && lexer.acceptDotted(".reg");
    if (isRegister) {
      Variable &parameter = parameters.emplace_back();
      parameter.type = parseRegisterType();
      parameter.bytes = bytesOf(parameter.type);
      parameter.align = std::max<uint64_t>(parameter.bytes, 1);
      const Token name = lexer.expectName("the name of a register");
      parameter.name = name.text;
      parameter.line = name.line;
      scopes->declareRegister(name, parameter.type);
      continue;
    }
    if (!lexer.acceptDotted(".param"))
      lexer.failExpected("a parameter that begins with .param");
    const VariableHead head = parseVariableHead(Space::Param);
    Token name;
    parameters.push_back(parseDeclarator(head, name));
    if (!parameters.back().initial.empty())
      lexer.fail(name.line, "expected a parameter without an initial value, found one for '" +
                                parameters.back().name + "'");
    // Prototypes name unused parameters `_`.
    if (name.text != "_")
      scopes->declare(name, Binding::Kind::Variable);
  }
  layOut(parameters);
  return parameters;
}

Type Parser::parseRegisterType() {
  const Token word = lexer.peek();
  const bool isVector = word.isDotted(".v2") || word.isDotted(".v4");
  const std::optional<Type> type =
      word.kind == Token::Kind::Dotted ? typeNamed(word.text.substr(1)) : std::nullopt;
  if (!type)
    lexer.failExpected(isVector ? "the type of a register, because vector registers are not "
                                  "supported"
                                : "the type of a register, such as .b32");
  lexer.take();
  return *type;
}

/// Reads `.reg .b32 %r<21>, %x;`.
void Parser::parseRegisters() {
  lexer.take();
  const Type type = parseRegisterType();
  do {
    const Token name = lexer.expectName("the name of a register");
    if (!lexer.accept("<")) {
      scopes->declareRegister(name, type);
      continue;
    }
    const Token count = lexer.peek();
    if (count.kind != Token::Kind::Integer || count.bits > uint64_t{1} << 32)
      lexer.failExpected("a number of registers up to 2^32");
    lexer.take();
    lexer.expect(">", "after a number of registers");
    scopes->declareRange(name, type, count.bits);
  } while (lexer.accept(","));
  lexer.expect(";", "after the declaration of a register");
}

} // namespace pe::ptx

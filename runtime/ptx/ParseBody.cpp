//===- ParseBody.cpp - Statements -----------------------------------------===//

#include "runtime/ptx/Parser.h"

namespace pe::ptx {

/// Reads a body in braces, without recursion for the scopes inside.
void Parser::parseBody() {
  const size_t outside = scopes->depth();
  do {
    const Token token = lexer.peek();
    if (lexer.accept("{"))
      scopes->open(token.line);
    else if (lexer.accept("}"))
      scopes->close();
    else
      parseBodyItem();
  } while (scopes->depth() > outside);
}

void Parser::parseBodyItem() {
  const Token token = lexer.peek();
  switch (token.kind) {
  case Token::Kind::Name: {
    lexer.take();
    if (lexer.accept(":"))
      return parseLabel(token);
    return parseStatement(token, -1, false);
  }
  case Token::Kind::Dotted:
    return parseBodyDirective();
  case Token::Kind::Mark:
    if (lexer.accept(";") || skipDebugInformation())
      return;
    if (lexer.accept("@"))
      return parseGuarded();
    break;
  default:
    break;
  }
  lexer.failExpected(token.kind == Token::Kind::End
                         ? "'}' for the '{' of line " + std::to_string(scopes->lineOfInnermost())
                         : "an instruction, a label or a directive");
}

void Parser::parseBodyDirective() {
  if (lexer.peek().isDotted(".reg"))
    return parseRegisters();
  if (skipDebugInformation())
    return;
  const bool isExtern = lexer.acceptDotted(".extern");
  Space space;
  if (!parseSpace(space))
    lexer.failExpected("a directive of a body, such as .reg or .shared");
  parseLocalVariables(space, isExtern);
}

/// Reads `%p1 add...` or `!%p1 add...`.
void Parser::parseGuarded() {
  const bool isNegated = lexer.accept("!");
  const int guard = parseRegisterNamed("a register after '@'");
  parseStatement(lexer.expectName("an instruction after its guard"), guard, isNegated);
}

void Parser::parseLabel(const Token &name) {
  const Token next = lexer.peek();
  if (next.isDotted(".branchtargets"))
    return parseBranchTargets(name);
  if (next.isDotted(".callprototype") || next.isDotted(".calltargets")) {
    scopes->declare(name, Binding::Kind::Prototype);
    return skipStatement();
  }
  function.labels[scopes->declare(name, Binding::Kind::Label)] =
      static_cast<int>(function.statements.size());
}

/// Reads `.branchtargets $L1, $L2;` after the label that names the list.
void Parser::parseBranchTargets(const Token &label) {
  lexer.take();
  std::vector<Token> names;
  do {
    names.push_back(lexer.expectName("the name of a label in .branchtargets"));
  } while (lexer.accept(","));
  lexer.expect(";", "after .branchtargets");
  std::vector<std::string> &targets =
      function.branchTargets[scopes->declare(label, Binding::Kind::Targets)];
  for (const Token &name : names)
    targets.emplace_back(name.text);
  // The vector no longer grows, so that its elements stay in place.
  for (size_t n = 0; n < names.size(); ++n)
    scopes->refer({names[n].text, &targets[n], names[n].line, Reference::Need::Label});
}

void Parser::skipStatement() {
  while (!lexer.accept(";")) {
    const Token &token = lexer.peek();
    if (token.kind == Token::Kind::End || token.isMark("{") || token.isMark("}"))
      lexer.failExpected("';' after a prototype");
    lexer.take();
  }
}

void Parser::parseStatement(const Token &word, int guard, bool isGuardNegated) {
  if (word.text[0] == '%')
    lexer.failExpected("an instruction, a label or a directive", word);
  opcode = word.text;
  hasReference = false;
  Statement &statement = function.statements.emplace_back();
  statement.line = word.line;
  statement.opcode = opcode;
  statement.guard = guard;
  statement.isGuardNegated = isGuardNegated;
  modifierBuffer.clear();
  while (lexer.peek().kind == Token::Kind::Dotted)
    modifierBuffer.emplace_back(lexer.take().text.substr(1));
  statement.modifiers.assign(std::make_move_iterator(modifierBuffer.begin()),
                             std::make_move_iterator(modifierBuffer.end()));
  parseOperands(statement);
}

} // namespace pe::ptx

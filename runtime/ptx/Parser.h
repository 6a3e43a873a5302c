//===- Parser.h - A recursive-descent parser of PTX -------------*- C++ -*-===//
//
// Private to this room. Parser.cpp reads modules and the heads of functions, ParseVariables.cpp
// declarations and initial values, ParseBody.cpp statements, ParseOperands.cpp their operands.
// A method that reads a construct begins at its first token and ends after its last one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_PARSER_H
#define PE_RUNTIME_PTX_PARSER_H

#include "runtime/ptx/Lexer.h"
#include "runtime/ptx/Scopes.h"
#include "runtime/ptx/Syntax.h"

#include <memory>

namespace pe::ptx {

/// The part of a declaration before the names: `.shared .align 16 .v4 .b32`.
struct VariableHead {
  Space space = Space::Generic;
  Type type = Type::None;
  uint64_t align = 0; // 0: the size of an element
  unsigned lanes = 1;
  bool isExtern = false;
};

class Parser {
public:
  Parser(std::string_view text, const std::string &file) : lexer(text, file) { module.file = file; }

  /// Reads the whole text; throws a ParseFailure.
  Module run();

private:
  // Modules and heads of functions.
  void parseVersion();
  void parseTarget();
  void parseAddressSize();
  void parseModuleItem();
  bool skipDebugInformation();
  void parseLocation();
  void skipSection();
  void skipPragma();
  void parseFunction(bool isExtern);
  void parseFunctionHead();
  void parseFunctionDirectives();
  bool parseFunctionDirective();
  void parseThreads(std::array<int, 3> &threads);
  void addFunction();
  void addModuleVariable(Variable variable, const Token &name);
  void checkReferencesOfModule();

  // Variables.
  bool parseSpace(Space &space);
  VariableHead parseVariableHead(Space space);
  uint64_t parseAlignment();
  void parsePointerAttribute();
  void skipAttribute();
  Variable parseDeclarator(const VariableHead &head, Token &name);
  void parseInitializer(Variable &variable, const std::vector<uint64_t> &dimensions);
  void parseModuleVariables(Space space, bool isExtern);
  void parseLocalVariables(Space space, bool isExtern);
  std::vector<Variable> parseParameters();
  void parseRegisters();
  Type parseRegisterType();

  // Statements.
  void parseBody();
  void parseBodyItem();
  void parseBodyDirective();
  void parseLabel(const Token &name);
  void parseBranchTargets(const Token &label);
  void skipStatement();
  void parseStatement(const Token &opcode, int guard, bool isGuardNegated);
  void parseGuarded();
  void finishFunction();

  // Operands.
  void parseOperands(Statement &statement);
  Operand parseOperand();
  Operand parseScalar();
  Operand parseNamed();
  Operand parseSpecial(const Token &name);
  Operand parseNegated();
  Operand parseNegative();
  Operand parseAddress();
  Operand parseVector(std::string_view end);
  Operand parseInteger();
  void parsePairEnd(Operand &operand);
  int parseRegisterNamed(std::string_view what);
  void refuseSelector(const Token &name);
  void addReferences(Operand &operand, Reference::Need need, int line);

  struct ModuleName {
    bool isFunction = false;
    int index = 0;
  };
  struct ModuleReference {
    std::string name;
    int line = 0;
  };

  Lexer lexer;
  Module module;
  std::unordered_map<std::string, ModuleName> moduleNames;
  std::vector<ModuleReference> moduleReferences;
  uint64_t bytesOfInitialValues = 0;

  // The function that is read.
  Function function;
  std::unique_ptr<Scopes> scopes;
  std::string_view opcode;                 // of the statement
  std::vector<std::string> modifierBuffer; // reused between statements
  std::vector<Operand> operandBuffer;
  std::vector<std::string_view> pendingNames; // of those symbols, in the order of the operands
  size_t pendingCount = 0;                    // how many of them the scopes have
  bool hasReference = false; // an operand of the statement names a symbol that scopes resolve later
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_PARSER_H

//===- Parser.cpp - Modules and heads of functions ------------------------===//

#include "runtime/ptx/Parser.h"
#include "runtime/ptx/ConstantExpression.h"

#include <algorithm>
#include <limits>

namespace pe::ptx {

Expected<Module> parse(std::string_view text, const std::string &file) {
  try {
    return Parser(text, file).run();
  } catch (ParseFailure &failure) {
    return std::move(failure.error);
  }
}

Module Parser::run() {
  while (skipDebugInformation())
    ;
  parseVersion();
  parseTarget();
  parseAddressSize();
  while (lexer.peek().kind != Token::Kind::End)
    parseModuleItem();
  checkReferencesOfModule();
  return std::move(module);
}

void Parser::parseVersion() {
  if (!lexer.acceptDotted(".version"))
    lexer.failExpected("'.version' at the beginning of a module");
  const Token version = lexer.peek();
  const std::string_view text = version.text;
  const bool isForm =
      text.size() >= 3 && text[1] == '.' &&
      std::all_of(text.begin() + 2, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (version.kind != Token::Kind::Double || !isForm || text.size() > 4)
    lexer.failExpected("a version such as 8.0");
  module.major = text[0] - '0';
  for (char c : text.substr(2))
    module.minor = 10 * module.minor + (c - '0');
  if (module.major < 6 || module.major > 9)
    lexer.failExpected("a .version from 6.0 to 9.9");
  lexer.take();
}

void Parser::parseTarget() {
  if (!lexer.acceptDotted(".target"))
    lexer.failExpected("'.target' after '.version'");
  do {
    const Token name = lexer.expectName("the name of a target such as sm_90a");
    const bool isMode = name.text.starts_with("texmode_") || name.text == "debug";
    if (!name.text.starts_with("sm_") && !isMode)
      lexer.failExpected("a target sm_NN, texmode_unified, texmode_independent or debug", name);
    if (!isMode && module.chip.empty())
      module.chip = name.text;
  } while (lexer.accept(","));
  if (module.chip.empty())
    lexer.failExpected("a target sm_NN");
}

void Parser::parseAddressSize() {
  if (!lexer.acceptDotted(".address_size"))
    lexer.failExpected("'.address_size 64' after '.target' (the default is 32)");
  if (lexer.peek().kind != Token::Kind::Integer || lexer.peek().bits != 64)
    lexer.failExpected("an .address_size of 64");
  lexer.take();
}

void Parser::parseModuleItem() {
  if (skipDebugInformation())
    return;
  bool isExtern = false;
  const Token first = lexer.peek();
  for (bool isLinkage = true; isLinkage;) {
    isLinkage = lexer.acceptDotted(".visible") || lexer.acceptDotted(".weak") ||
                lexer.acceptDotted(".common");
    if (lexer.acceptDotted(".extern"))
      isLinkage = isExtern = true;
  }
  const Token token = lexer.peek();
  if (token.isDotted(".entry") || token.isDotted(".func"))
    return parseFunction(isExtern);
  Space space;
  if (parseSpace(space)) {
    if (space == Space::Param || space == Space::Local)
      lexer.failExpected("a variable of .global, .const or .shared outside functions", token);
    return parseModuleVariables(space, isExtern);
  }
  if (token.isDotted(".alias"))
    lexer.failExpected("a function, because '.alias' is not supported", token);
  if (token.isDotted(".texref") || token.isDotted(".samplerref") || token.isDotted(".surfref"))
    lexer.failExpected("a variable in memory, because textures are not supported", token);
  lexer.failExpected(first.text.data() == token.text.data()
                         ? "a directive of a module, such as .entry, .func or .global"
                         : "a function or a variable after its linkage");
}

/// Skips one directive that has no meaning for execution; returns false if there is none.
bool Parser::skipDebugInformation() {
  const Token &token = lexer.peek();
  if (token.isMark("@") && lexer.peekSecond().isMark("@")) {
    lexer.skipLine(); // @@DWARF and bytes in the syntax of another assembler
    return true;
  }
  if (token.kind != Token::Kind::Dotted)
    return false;
  if (token.text == ".loc")
    return parseLocation(), true;
  if (token.text == ".pragma")
    return skipPragma(), true;
  if (token.text == ".section")
    return skipSection(), true;
  if (token.text != ".file")
    return false;
  lexer.take();
  const uint64_t number =
      takeCount(lexer, "the number of a file", 0, std::numeric_limits<int>::max());
  if (lexer.peek().kind != Token::Kind::Text)
    lexer.failExpected("the name of a file in quotes");
  const std::string_view quoted = lexer.take().text;
  module.files[static_cast<int>(number)] = quoted.substr(1, quoted.size() - 2);
  while (lexer.accept(",")) // its time and size
    takeConstant(lexer);
  return true;
}

/// Reads `.loc 1 20 3, function_name $L__info_string0, inlined_at 1 12 3`, but skips what follows
/// the column.
void Parser::parseLocation() {
  SourceLine source{lexer.take().line};
  for (int *number : {&source.file, &source.sourceLine, static_cast<int *>(nullptr)}) {
    if (lexer.peek().kind != Token::Kind::Integer)
      lexer.failExpected("file, line and column as three integers after '.loc'");
    const uint64_t bits = lexer.take().bits;
    if (number)
      *number = static_cast<int>(std::min<uint64_t>(bits, std::numeric_limits<int>::max()));
  }
  function.sourceLines.push_back(source);
  while (lexer.accept(",")) {
    const Token word = lexer.expectName("'function_name' or 'inlined_at'");
    if (word.text == "function_name") {
      lexer.expectName("a label after 'function_name'");
      if (lexer.accept("+"))
        takeConstant(lexer);
    } else if (word.text == "inlined_at") {
      for (int n = 0; n < 3; ++n)
        takeCount(lexer, "file, line and column", 0, std::numeric_limits<int64_t>::max());
    } else {
      lexer.failExpected("'function_name' or 'inlined_at'", word);
    }
  }
}

void Parser::skipSection() {
  lexer.take();
  if (lexer.peek().kind != Token::Kind::Dotted && lexer.peek().kind != Token::Kind::Name)
    lexer.failExpected("the name of a section");
  lexer.take();
  lexer.expect("{", "after the name of a section");
  while (!lexer.accept("}")) {
    if (lexer.peek().kind == Token::Kind::End)
      lexer.failExpected("'}' at the end of a section");
    lexer.take();
  }
}

void Parser::skipPragma() {
  lexer.take();
  do {
    if (lexer.peek().kind != Token::Kind::Text)
      lexer.failExpected("a string after '.pragma'");
    lexer.take();
  } while (lexer.accept(","));
  lexer.expect(";", "after a pragma");
}

void Parser::parseFunction(bool isExtern) {
  function = Function();
  scopes = std::make_unique<Scopes>(lexer, function, [this](std::string_view name) {
    return moduleNames.contains(std::string(name));
  });
  function.line = lexer.peek().line;
  scopes->open(function.line);
  parseFunctionHead();
  parseFunctionDirectives();
  if (lexer.accept(";")) {
    scopes->close();
    return addFunction();
  }
  if (isExtern || !lexer.peek().isMark("{"))
    lexer.failExpected(isExtern ? "';' after an external function"
                                : "';', '{' or a directive such as .reqntid");
  function.isDefined = true;
  addFunction(); // its body may call it
  parseBody();
  scopes->close();
  finishFunction();
}

/// Reads `.func (results) name (parameters)`.
void Parser::parseFunctionHead() {
  function.isEntry = lexer.take().text == ".entry";
  while (lexer.peek().isDotted(".attribute"))
    skipAttribute();
  lexer.acceptDotted(".noreturn");
  if (!function.isEntry && lexer.peek().isMark("("))
    function.results = parseParameters();
  function.name = lexer.expectName("the name of a function").text;
  if (lexer.peek().isMark("("))
    function.parameters = parseParameters();
}

void Parser::parseFunctionDirectives() {
  while (lexer.peek().kind == Token::Kind::Dotted)
    if (!parseFunctionDirective())
      lexer.failExpected("a directive of a function, such as .maxntid or .reqntid");
}

/// Returns false if the next directive is not one of a function.
bool Parser::parseFunctionDirective() {
  static constexpr std::string_view flags[] = {".noreturn", ".explicitcluster",
                                               ".blocksareclusters"};
  static constexpr std::string_view numbers[] = {".minnctapersm", ".maxnctapersm",
                                                 ".maxnreg",      ".maxclusterrank",
                                                 ".abi_preserve", ".abi_preserve_control"};
  const std::string_view text = lexer.peek().text;
  if (text == ".pragma")
    return skipPragma(), true;
  if (text == ".attribute")
    return skipAttribute(), true;
  const bool isNumber =
      std::find(std::begin(numbers), std::end(numbers), text) != std::end(numbers);
  if (isNumber || std::find(std::begin(flags), std::end(flags), text) != std::end(flags)) {
    lexer.take();
    if (isNumber)
      takeCount(lexer, "an integer after '" + std::string(text) + "'", 0,
                std::numeric_limits<int>::max());
    return true;
  }
  std::array<int, 3> ignored{};
  if (text == ".maxntid")
    return parseThreads(function.greatestThreads), true;
  if (text == ".reqntid")
    return parseThreads(function.requiredThreads), true;
  if (text == ".reqnctapercluster")
    return parseThreads(ignored), true;
  return false;
}

/// Reads `.reqntid 128, 1, 1`; dimensions that are absent are 1.
void Parser::parseThreads(std::array<int, 3> &threads) {
  const Token directive = lexer.take();
  threads = {1, 1, 1};
  size_t n = 0;
  do {
    if (n == 3)
      lexer.failExpected("at most three dimensions after '" + std::string(directive.text) + "'");
    threads[n++] =
        static_cast<int>(takeCount(lexer, "a dimension", 1, std::numeric_limits<int>::max()));
  } while (lexer.accept(","));
}

/// Adds the head of the function to the module, unless the module has a definition.
void Parser::addFunction() {
  const auto [entry, isNew] = moduleNames.try_emplace(function.name);
  if (isNew) {
    entry->second = {true, static_cast<int>(module.functions.size())};
    Function &added = module.functions.emplace_back();
    added = function;
    return;
  }
  const int line = entry->second.isFunction ? module.functions[entry->second.index].line
                                            : module.variables[entry->second.index].line;
  if (!entry->second.isFunction ||
      (function.isDefined && module.functions[entry->second.index].isDefined))
    lexer.fail(function.line, "expected a new name, found '" + function.name + "', which line " +
                                  std::to_string(line) + " defines");
  if (!module.functions[entry->second.index].isDefined)
    module.functions[entry->second.index] = function;
}

/// Checks the names that the function leaves open and moves it to the module.
void Parser::finishFunction() {
  for (const Reference &reference : scopes->takeUnresolved()) {
    if (reference.need == Reference::Need::Any) {
      moduleReferences.push_back({std::string(reference.name), reference.line});
      continue;
    }
    const bool isLabel = reference.need == Reference::Need::Label;
    lexer.fail(reference.line, "expected the name of a " +
                                   std::string(isLabel ? "label" : ".branchtargets list") +
                                   " in scope in '" + function.name + "', found '" +
                                   std::string(reference.name) + "'");
  }
  module.functions[moduleNames.at(function.name).index] = std::move(function);
}

void Parser::addModuleVariable(Variable variable, const Token &name) {
  const auto [entry, isNew] = moduleNames.try_emplace(variable.name);
  if (isNew) {
    entry->second = {false, static_cast<int>(module.variables.size())};
    module.variables.push_back(std::move(variable));
    return;
  }
  Variable *before = entry->second.isFunction ? nullptr : &module.variables[entry->second.index];
  if (!before || !(before->isExtern || variable.isExtern) || before->space != variable.space)
    lexer.fail(name.line, "expected a new name, found '" + variable.name + "', which line " +
                              std::to_string(before ? before->line
                                                    : module.functions[entry->second.index].line) +
                              " declares");
  if (before->isExtern)
    *before = std::move(variable);
}

void Parser::checkReferencesOfModule() {
  for (const ModuleReference &reference : moduleReferences)
    if (!moduleNames.contains(reference.name))
      lexer.fail(reference.line, "expected a declared name, found '" + reference.name +
                                     "', which is not a register, variable, function or label");
}

} // namespace pe::ptx

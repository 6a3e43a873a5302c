//===- Scopes.h - Names in a PTX function -----------------------*- C++ -*-===//
//
// Resolves the names of registers, variables and labels through nested scopes. Labels may be used
// before they are defined, so references to them wait until their scope ends. A range `%r<21>` is
// not expanded: a register is created at its first use, which costs nothing for unused ones.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_SCOPES_H
#define PE_RUNTIME_PTX_SCOPES_H

#include "runtime/ptx/Lexer.h"
#include "runtime/ptx/Syntax.h"

#include <functional>

namespace pe::ptx {

/// The declaration of a name in a function.
struct Binding {
  enum class Kind : uint8_t { Register, Variable, Label, Targets, Prototype };
  Kind kind = Kind::Label;
  int index = -1; // of a register
  int line = 0;
  std::string unique; // the name in the Function; empty: unchanged
};

/// A use of a name that may be declared later. `target` receives the unique name.
struct Reference {
  enum class Need : uint8_t { Any, Label, Targets };
  std::string_view name;
  std::string *target = nullptr;
  int line = 0;
  Need need = Need::Any;
};

class Scopes {
public:
  /// `isOuterName` returns true for names of the module, which no variable of a function may have.
  Scopes(const Lexer &lexer, Function &function, std::function<bool(std::string_view)> isOuterName);

  void open(int line);
  /// Resolves the references to labels of the innermost scope and removes it.
  void close();
  size_t depth() const { return scopes.size(); }
  int lineOfInnermost() const { return scopes.back().line; }

  void declareRegister(const Token &name, Type type);
  /// Declares NAME0 to NAME<count - 1>.
  void declareRange(const Token &name, Type type, uint64_t count);
  /// Declares any other name, and returns the one that is unique in the function.
  std::string declare(const Token &name, Binding::Kind kind);

  /// Returns the declaration of the name, or null. Creates registers of ranges.
  const Binding *find(std::string_view name);
  void refer(Reference reference) { scopes.back().references.push_back(reference); }
  /// References that no scope of the function resolved.
  std::vector<Reference> takeUnresolved() { return std::move(unresolved); }

private:
  struct Range {
    Type type = Type::None;
    uint64_t count = 0;
    int line = 0;
  };
  struct Scope {
    int line = 0;
    std::unordered_map<std::string_view, Binding> names;
    std::unordered_map<std::string_view, Range> ranges;
    std::vector<Reference> references;
  };

  const Range *findRange(const Scope &scope, std::string_view name) const;
  Binding &insert(const Token &name);
  int createRegister(std::string_view name, Type type);
  std::string makeUnique(std::string_view name);

  const Lexer &lexer;
  Function &function;
  std::function<bool(std::string_view)> isOuterName;
  std::vector<Scope> scopes;
  std::vector<Reference> unresolved;
  std::unordered_map<std::string_view, int> occurrences;
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_SCOPES_H

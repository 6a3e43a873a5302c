//===- Scopes.cpp - Names in a PTX function -------------------------------===//

#include "runtime/ptx/Scopes.h"

namespace pe::ptx {

static constexpr size_t greatestDepth = 64;

Scopes::Scopes(const Lexer &lexer, Function &function,
               std::function<bool(std::string_view)> isOuterName)
    : lexer(lexer), function(function), isOuterName(std::move(isOuterName)) {}

void Scopes::open(int line) {
  // The parameters have a scope, too.
  if (scopes.size() > greatestDepth)
    lexer.fail(line,
               "expected at most " + std::to_string(greatestDepth) + " nested scopes, found more");
  scopes.emplace_back().line = line;
}

/// Returns true if a declaration of this kind can be what the reference names.
static bool fits(Reference::Need need, Binding::Kind kind) {
  switch (need) {
  case Reference::Need::Label:
    return kind == Binding::Kind::Label;
  case Reference::Need::Targets:
    return kind == Binding::Kind::Targets;
  case Reference::Need::Any:
    break;
  }
  return kind != Binding::Kind::Register && kind != Binding::Kind::Variable;
}

void Scopes::close() {
  Scope ended = std::move(scopes.back());
  scopes.pop_back();
  std::vector<Reference> &outer = scopes.empty() ? unresolved : scopes.back().references;
  for (const Reference &reference : ended.references) {
    const auto found = ended.names.find(reference.name);
    if (found == ended.names.end() || !fits(reference.need, found->second.kind))
      outer.push_back(reference);
    else if (!found->second.unique.empty())
      *reference.target = found->second.unique;
  }
}

/// Returns the range of the scope that contains the name, or null.
const Scopes::Range *Scopes::findRange(const Scope &scope, std::string_view name) const {
  // The prefix may end in digits, so that each division into a prefix and a number is a candidate.
  uint64_t number = 0, place = 1;
  for (size_t begin = name.size(); begin-- > 1;) {
    const char c = name[begin];
    if (c < '0' || c > '9' || name.size() - begin > 10)
      return nullptr;
    number += place * static_cast<uint64_t>(c - '0');
    place *= 10;
    if (c == '0' && name.size() - begin > 1)
      continue; // numbers have no leading zeros
    const auto found = scope.ranges.find(name.substr(0, begin));
    if (found != scope.ranges.end() && number < found->second.count)
      return &found->second;
  }
  return nullptr;
}

int Scopes::createRegister(std::string_view name, Type type) {
  function.registers.push_back({std::string(name), type});
  return static_cast<int>(function.registers.size()) - 1;
}

const Binding *Scopes::find(std::string_view name) {
  for (size_t n = scopes.size(); n-- > 0;) {
    Scope &scope = scopes[n];
    if (const auto found = scope.names.find(name); found != scope.names.end())
      return &found->second;
    if (scope.ranges.empty())
      continue;
    if (const Range *range = findRange(scope, name)) {
      Binding binding;
      binding.kind = Binding::Kind::Register;
      binding.index = createRegister(name, range->type);
      binding.line = range->line;
      return &scope.names.emplace(name, std::move(binding)).first->second;
    }
  }
  return nullptr;
}

/// Adds a name to the innermost scope, where it must be new.
Binding &Scopes::insert(const Token &name) {
  Scope &scope = scopes.back();
  const Range *range = findRange(scope, name.text);
  const auto [entry, isNew] = scope.names.try_emplace(name.text);
  if (!isNew || range)
    lexer.fail(name.line, "expected a new name, found '" + std::string(name.text) +
                              "', which line " +
                              std::to_string(range ? range->line : entry->second.line) +
                              " declares in the same scope");
  entry->second.line = name.line;
  return entry->second;
}

std::string Scopes::makeUnique(std::string_view name) {
  const int before = occurrences[name]++;
  if (before == 0 && !isOuterName(name))
    return std::string(name);
  // No name of PTX contains '#'.
  return std::string(name) + "#" + std::to_string(before + 1);
}

void Scopes::declareRegister(const Token &name, Type type) {
  Binding &binding = insert(name);
  binding.kind = Binding::Kind::Register;
  binding.index = createRegister(name.text, type);
}

void Scopes::declareRange(const Token &name, Type type, uint64_t count) {
  const auto [range, isNew] = scopes.back().ranges.try_emplace(name.text);
  if (!isNew)
    lexer.fail(name.line, "expected a new name, found '" + std::string(name.text) +
                              "<...>', which line " + std::to_string(range->second.line) +
                              " declares in the same scope");
  range->second = {type, count, name.line};
}

std::string Scopes::declare(const Token &name, Binding::Kind kind) {
  Binding &binding = insert(name);
  binding.kind = kind;
  std::string unique = makeUnique(name.text);
  if (unique != name.text)
    binding.unique = unique;
  return unique;
}

} // namespace pe::ptx

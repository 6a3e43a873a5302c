//===- Syntax.cpp - Names of types and spaces, look-up --------------------===//

#include "runtime/ptx/Syntax.h"

#include <algorithm>

namespace pe::ptx {

namespace {
struct TypeRow {
  std::string_view name;
  unsigned bytes;
};
} // namespace

/// One row per enumerator of Type, in its order.
static constexpr TypeRow typeRows[] = {
    {"", 0},       {"pred", 0}, {"b8", 1},  {"b16", 2}, {"b32", 4},   {"b64", 8},
    {"b128", 16},  {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8},   {"s8", 1},
    {"s16", 2},    {"s32", 4},  {"s64", 8}, {"f16", 2}, {"f16x2", 4}, {"bf16", 2},
    {"bf16x2", 4}, {"tf32", 4}, {"f32", 4}, {"f64", 8}};
static_assert(std::size(typeRows) == static_cast<size_t>(Type::F64) + 1);

unsigned bytesOf(Type type) { return typeRows[static_cast<size_t>(type)].bytes; }

std::string_view nameOf(Type type) { return typeRows[static_cast<size_t>(type)].name; }

std::optional<Type> typeNamed(std::string_view name) {
  for (size_t row = 1; row < std::size(typeRows); ++row)
    if (typeRows[row].name == name)
      return static_cast<Type>(row);
  return std::nullopt;
}

std::string_view nameOf(Space space) {
  static constexpr std::string_view names[] = {"generic", "param", "shared",
                                               "global",  "const", "local"};
  return names[static_cast<size_t>(space)];
}

bool Statement::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Statement::mnemonic() const {
  std::string result = opcode;
  for (const std::string &modifier : modifiers)
    result += "." + modifier;
  return result;
}

const Function *Module::function(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

const Function *Module::functionAt(int line) const {
  const Function *found = nullptr; // the last one that begins before the line
  for (const Function &function : functions)
    if (function.line <= line && (!found || function.line > found->line))
      found = &function;
  return found;
}

std::string Module::sourceOf(int line) const {
  const Function *function = functionAt(line);
  if (!function)
    return "";
  auto after = std::ranges::upper_bound(function->sourceLines, line, {}, &SourceLine::line);
  if (after == function->sourceLines.begin())
    return "";
  const SourceLine &source = *std::prev(after);
  const auto file = files.find(source.file);
  return file == files.end() || source.sourceLine == 0
             ? ""
             : file->second + ":" + std::to_string(source.sourceLine);
}

} // namespace pe::ptx

//===- Names.cpp - The names of engines, norms, scales and other choices ---===//

#include "runtime/core/Error.h"
#include "runtime/train/reinit/Reinit.h"

namespace pe::reinit {
namespace {

template <typename Value> struct Spelling {
  Value value;
  std::string_view name;
};

constexpr Spelling<Engine> kEngines[] = {
    {Engine::Qdwh, "qdwh"}, {Engine::Quintic, "quintic"}, {Engine::Cubic, "cubic"}};
constexpr Spelling<Norm> kNorms[] = {{Norm::Fro, "fro"}, {Norm::Spectral, "spectral"}};
constexpr Spelling<Scale> kScales[] = {{Scale::Muon, "muon"},
                                       {Scale::None, "none"},
                                       {Scale::MeanSigma, "mean-sigma"},
                                       {Scale::Fro, "fro"}};
constexpr Spelling<Layout> kLayouts[] = {{Layout::OutIn, "out-in"}, {Layout::InOut, "in-out"}};
constexpr Spelling<Method> kMethods[] = {{Method::Project, "project"},
                                         {Method::ShrinkPerturb, "shrink-perturb"},
                                         {Method::Fresh, "fresh"}};
constexpr Spelling<Target> kTargets[] = {
    {Target::All, "all"}, {Target::Attention, "attention"}, {Target::Mlp, "mlp"}};

template <typename Value, size_t count>
Expected<Value> parse(const Spelling<Value> (&table)[count], const char *what,
                      std::string_view name) {
  std::vector<std::string> choices;
  for (const Spelling<Value> &entry : table) {
    if (entry.name == name)
      return entry.value;
    choices.emplace_back(entry.name);
  }
  return makeError("expected ", what, " of ", joinChoices(choices), ", found '", name, "'");
}

template <typename Value, size_t count>
std::string_view spell(const Spelling<Value> (&table)[count], Value value) {
  for (const Spelling<Value> &entry : table)
    if (entry.value == value)
      return entry.name;
  return "";
}

} // namespace

std::string_view nameOf(Engine engine) { return spell(kEngines, engine); }
std::string_view nameOf(Scale scale) { return spell(kScales, scale); }
Expected<Engine> parseEngine(std::string_view name) { return parse(kEngines, "an engine", name); }
Expected<Norm> parseNorm(std::string_view name) { return parse(kNorms, "a norm", name); }
Expected<Scale> parseScale(std::string_view name) { return parse(kScales, "a scale", name); }
Expected<Layout> parseLayout(std::string_view name) { return parse(kLayouts, "a layout", name); }
Expected<Target> parseTarget(std::string_view name) {
  return parse(kTargets, "a reinit target", name);
}
Expected<Method> parseMethod(std::string_view name) { return parse(kMethods, "a method", name); }

} // namespace pe::reinit

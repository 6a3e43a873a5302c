//===- Selection.cpp - Selection of the tensors to project ----------------===//

#include "runtime/train/reinit/Selection.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <numeric>
#include <regex.h>

namespace pe::reinit {
namespace {

using Entry = SafetensorsFile::Entry;

constexpr std::string_view kExcludedParts[] = {"embed", "wte",  "wpe",   "head",
                                               "bias",  "norm", "lambda"};

/// A pattern from the command line. Remembers if anything has matched it.
class Pattern {
public:
  static Expected<Pattern> parse(const std::string &option, const std::string &text) {
    Pattern pattern;
    pattern.option = option;
    pattern.text = text;
    if (text.empty())
      return pattern;
    auto compiled = std::make_unique<regex_t>();
    if (const int code = ::regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB)) {
      char why[128];
      ::regerror(code, compiled.get(), why, sizeof why);
      return makeError(option, ": expected a regular expression, found '", text, "' (", why, ")");
    }
    pattern.regex.reset(compiled.release());
    return pattern;
  }

  bool isGiven() const { return regex != nullptr; }
  bool matches(const std::string &name) {
    const bool found = regex && ::regexec(regex.get(), name.c_str(), 0, nullptr, 0) == 0;
    used |= found;
    return found;
  }
  Status check(const char *what) const {
    if (!regex || used)
      return Status::success();
    return makeError(option, ": expected a pattern that matches ", what, ", found '", text,
                     "', which matches none");
  }

private:
  struct Free {
    void operator()(regex_t *compiled) const {
      ::regfree(compiled);
      delete compiled;
    }
  };
  std::string option, text;
  std::unique_ptr<regex_t, Free> regex;
  bool used = false;
};

struct Patterns {
  Pattern include, exclude, split, batched;
};

Expected<Patterns> parsePatterns(const SelectionOptions &options) {
  Patterns patterns;
  for (auto [option, text, pattern] :
       {std::tuple{"--include", &options.include, &patterns.include},
        std::tuple{"--exclude", &options.exclude, &patterns.exclude},
        std::tuple{"--split-qkv", &options.splitQkv, &patterns.split},
        std::tuple{"--batched", &options.batched, &patterns.batched}}) {
    auto parsed = Pattern::parse(option, *text);
    if (!parsed)
      return parsed.takeError();
    *pattern = *std::move(parsed);
  }
  return patterns;
}

std::string lowered(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool contains(const std::string &name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

} // namespace

std::string_view fusedPartOf(const std::string &name) {
  constexpr std::string_view parts[] = {"c_attn", "query_key_value", "qkv",
                                        "Wqkv",   "in_proj",         "gate_up"};
  for (std::string_view part : parts)
    if (contains(name, part))
      return part;
  return {};
}

namespace {

/// Returns the reason why the tensor cannot be projected at all, or an empty string.
std::string whyNoMatrix(const Entry &entry, bool stack) {
  if (entry.shape.size() == 3 && !stack)
    return "rank 3, not a stack of --batched";
  if (entry.shape.size() != (stack ? 3 : 2))
    return "rank " + std::to_string(entry.shape.size());
  if (!isFloating(entry.dtype))
    return "type " + std::string(nameOf(entry.dtype));
  if (entry.begin == entry.end)
    return "empty";
  return "";
}

/// Returns the reason why a name is not chosen, or an empty string.
std::string whyNotNamed(const std::string &given, const SelectionOptions &options,
                        Patterns &patterns) {
  // Matches every name against every pattern, so that a pattern without matches is detected.
  const bool excluded = patterns.exclude.matches(given), included = patterns.include.matches(given);
  const std::string name = lowered(given);
  if (excluded)
    return "excluded";
  if (patterns.include.isGiven() && !included)
    return "not included";
  for (std::string_view part : kExcludedParts)
    if (!patterns.include.isGiven() && contains(name, part))
      return "name with '" + std::string(part) + "'";
  if (options.target == Target::Attention && !contains(name, "attn") &&
      !contains(name, "attention"))
    return "not attention";
  if (options.target == Target::Mlp && !contains(name, "mlp") && !contains(name, "ffn"))
    return "not mlp";
  return "";
}

/// Returns the sizes of the parts of a tensor with `outputs` outputs.
Expected<std::vector<int64_t>> partsOf(const Entry &entry, int64_t outputs,
                                       const std::vector<int64_t> &sizes) {
  if (sizes.empty()) {
    if (outputs % 3)
      return makeError("tensor '", entry.name,
                       "': --split-qkv: expected outputs for three equal parts, found ", outputs,
                       " in ", toString(entry.shape), "; give --qkv-sizes=Q,K,V");
    return std::vector<int64_t>(3, outputs / 3);
  }
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) != outputs)
    return makeError("tensor '", entry.name, "': --qkv-sizes: expected parts that add up to ",
                     outputs, " outputs of ", toString(entry.shape), ", found ",
                     std::accumulate(sizes.begin(), sizes.end(), int64_t(0)));
  return sizes;
}

Status checkSizes(const SelectionOptions &options) {
  if (options.qkvSizes.empty())
    return Status::success();
  if (options.splitQkv.empty())
    return makeError("expected --split-qkv with --qkv-sizes, found none");
  bool valid = options.qkvSizes.size() == 3;
  for (int64_t size : options.qkvSizes)
    valid &= size >= 1 && size < int64_t(1) << 40;
  if (!valid)
    return makeError("--qkv-sizes: expected three sizes of at least 1, such as 4096,1024,1024");
  return Status::success();
}

Status checkUse(const Patterns &patterns, const std::vector<Choice> &choices) {
  for (auto [pattern, what] : {std::pair{&patterns.include, "the name of a tensor"},
                               std::pair{&patterns.exclude, "the name of a tensor"},
                               std::pair{&patterns.batched, "a tensor of rank 3"},
                               std::pair{&patterns.split, "a tensor that is projected"}})
    if (Status status = pattern->check(what); !status)
      return status;
  if (std::none_of(choices.begin(), choices.end(), [](const Choice &c) { return c.chosen; }))
    return makeError("expected a tensor to project, found none among ", choices.size(),
                     "; choose with --include=REGEX or --target=all");
  return Status::success();
}

} // namespace

Expected<std::vector<Choice>> choose(const std::vector<const Entry *> &tensors,
                                     const SelectionOptions &options) {
  if (Status checked = checkSizes(options); !checked)
    return checked.takeError();
  auto patterns = parsePatterns(options);
  if (!patterns)
    return patterns.takeError();
  std::vector<Choice> choices;
  for (const Entry *entry : tensors) {
    Choice choice;
    const bool stack = entry->shape.size() == 3 && patterns->batched.matches(entry->name);
    const std::string name = whyNotNamed(entry->name, options, *patterns);
    choice.why = whyNoMatrix(*entry, stack);
    if (choice.why.empty())
      choice.why = name;
    choice.chosen = choice.why.empty();
    if (choice.chosen) {
      const size_t axis = entry->shape.size() - (options.layout == Layout::OutIn ? 2 : 1);
      choice.parts = {entry->shape[axis]};
      if (patterns->split.matches(entry->name)) {
        auto parts = partsOf(*entry, entry->shape[axis], options.qkvSizes);
        if (!parts)
          return parts.takeError();
        choice.parts = *std::move(parts);
      }
    }
    choices.push_back(std::move(choice));
  }
  if (Status used = checkUse(*patterns, choices); !used)
    return used.takeError();
  return choices;
}

} // namespace pe::reinit

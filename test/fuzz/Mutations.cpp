//===- Mutations.cpp - Damages text and bytes -----------------------------===//

#include "fuzz/Mutations.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace pe::fuzz {
namespace {

using Json = nlohmann::ordered_json;

const char *const kNumbers[] = {"0",
                                "1",
                                "-1",
                                "7",
                                "255",
                                "65536",
                                "2147483647",
                                "2147483648",
                                "-2147483649",
                                "4294967296",
                                "4611686018427387904",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "18446744073709551616",
                                "1e30",
                                "1.0e308",
                                "-0.0",
                                "0x7FC00000",
                                "99999999999999999999999999999999"};

template <typename List> const auto &pick(const List &list, Random &random) {
  return std::data(list)[random.below(std::size(list))];
}

/// Returns a random count from 1 to `most`; small counts are more likely.
int drawCount(Random &random, int most) {
  int count = 1;
  while (count < most && random.below(2))
    ++count;
  return count;
}

void changeBytes(std::string &bytes, Random &random) {
  size_t at = random.below(bytes.size());
  size_t length = std::min<size_t>(1 + random.below(random.below(4) ? 8 : 200), bytes.size() - at);
  switch (random.below(6)) {
  case 0:
    bytes[at] ^= static_cast<char>(1 << random.below(8));
    break;
  case 1:
    bytes[at] = static_cast<char>(random.below(256));
    break;
  case 2:
    bytes.erase(at, length);
    break;
  case 3:
    bytes.insert(random.below(bytes.size()), bytes.substr(at, length));
    break;
  case 4:
    bytes.insert(at, pick(kNumbers, random));
    break;
  default:
    if (random.below(4) == 0)
      bytes.resize(at);
    else
      bytes.replace(at, length, std::string(length, random.below(2) ? '\xff' : '\0'));
  }
}

/// Splits text into words, numbers, white space and single symbols. Their concatenation is the
/// text.
std::vector<std::string> split(const std::string &text) {
  enum class Class : uint8_t { Word, Space, Sign };
  auto classOf = [](unsigned char c) {
    bool isWord = std::isalnum(c) || c == '_' || c == '.' || c == '%' || c == '!' || c == '#';
    return isWord ? Class::Word : std::isspace(c) ? Class::Space : Class::Sign;
  };
  std::vector<std::string> tokens;
  for (size_t n = 0; n < text.size(); ++n)
    if (n > 0 && classOf(text[n]) == classOf(text[n - 1]) && classOf(text[n]) != Class::Sign)
      tokens.back() += text[n];
    else
      tokens.emplace_back(1, text[n]);
  return tokens;
}

void changeTokens(std::vector<std::string> &tokens, const std::vector<std::string> &strange,
                  Random &random) {
  size_t at = random.below(tokens.size()), other = random.below(tokens.size());
  size_t length = std::min<size_t>(1 + random.below(12), tokens.size() - at);
  switch (random.below(8)) {
  case 0:
    tokens.erase(tokens.begin() + at, tokens.begin() + at + length);
    break;
  case 1: {
    std::vector<std::string> copy(tokens.begin() + at, tokens.begin() + at + length);
    tokens.insert(tokens.begin() + other, copy.begin(), copy.end());
    break;
  }
  case 2:
    std::swap(tokens[at], tokens[other]);
    break;
  case 3:
    tokens[at] = pick(kNumbers, random);
    break;
  case 4:
  case 5:
    if (!strange.empty())
      tokens[at] = pick(strange, random);
    break;
  default: // replace a number by a number or a word by a word
    for (size_t n = 0; n < tokens.size(); ++n) {
      std::string &token = tokens[(at + n) % tokens.size()];
      if (std::isdigit(static_cast<unsigned char>(token[0]))) {
        token = pick(kNumbers, random);
        break;
      }
    }
  }
  if (tokens.empty())
    tokens.emplace_back("module");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

void collect(Json &value, std::vector<Json *> &all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json &member : value)
      collect(member, all);
}

Json strangeValue(Random &random) {
  switch (random.below(7)) {
  case 0:
    return nullptr;
  case 1:
    return Json::array();
  case 2:
    return Json::object();
  case 3:
    return random.below(2) ? "" : "b*hq*r*c*999999999999";
  case 4:
    return random.below(2) == 0;
  default:
    return Json::parse(pick(kNumbers, random), nullptr, /*allow_exceptions=*/false);
  }
}

void changeMembers(Json &value, Random &random) {
  if (value.empty()) {
    value = strangeValue(random);
    return;
  }
  size_t at = random.below(value.size());
  auto member = value.begin();
  std::advance(member, at);
  if (value.is_array()) {
    if (random.below(2))
      value.push_back(Json(*member));
    else
      value.erase(value.begin() + at);
    return;
  }
  std::string key = member.key();
  Json content = *member;
  if (random.below(2))
    value.erase(key);
  else
    value[key + (random.below(2) ? "x" : "")] = random.below(2) ? content : strangeValue(random);
}

void changeJson(Json &document, Random &random) {
  std::vector<Json *> all;
  collect(document, all);
  Json &value = *pick(all, random);
  const Json other = *pick(all, random); // a copy, because either value may contain the other
  if (value.is_structured() && random.below(3))
    changeMembers(value, random);
  else if (value.is_number_integer() && random.below(2))
    value = value.get<int64_t>() + (random.below(2) ? 1 : -1);
  else
    value = random.below(2) ? other : strangeValue(random);
}

} // namespace

std::string mutateBytes(std::string bytes, Random &random) {
  for (int count = drawCount(random, 6); count > 0 && !bytes.empty(); --count)
    changeBytes(bytes, random);
  return bytes;
}

std::string mutateTokens(const std::string &text, const std::vector<std::string> &others,
                         Random &random) {
  std::vector<std::string> tokens = split(text);
  std::vector<std::string> strange = others.empty() ? tokens : split(pick(others, random));
  for (int count = drawCount(random, 5); count > 0 && !tokens.empty(); --count)
    changeTokens(tokens, strange, random);
  std::string changed;
  for (const std::string &token : tokens)
    changed += token;
  return changed;
}

std::string mutateJson(const std::string &text, Random &random) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded() || random.below(8) == 0)
    return mutateBytes(text, random);
  for (int count = drawCount(random, 4); count > 0; --count)
    changeJson(document, random);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace pe::fuzz

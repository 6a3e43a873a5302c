//===- JsonTextTest.cpp - Strict parsing of JSON --------------------------===//

#include "runtime/plan/JsonText.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

namespace {

std::string errorOf(const std::string &text) {
  auto json = parseJson(text, "f.json");
  return json ? "read" : json.error().getMessage();
}

TEST(JsonText, ErrorsHaveALocationAndACause) {
  EXPECT_EQ(errorOf("[1, 2]"), "read");
  EXPECT_EQ(errorOf(""), "f.json:1:1: expected JSON, found unexpected end of input; expected '[', "
                         "'{', or a literal");
  EXPECT_EQ(errorOf("{\n  \"a\": 1,\n}"),
            "f.json:3:1: expected JSON, found unexpected '}'; expected string literal");
  EXPECT_EQ(errorOf("[tru]"),
            "f.json:1:5: expected JSON, found invalid literal; last read: '[tru]'");
}

TEST(JsonText, LinesAndColumnsCountFromOne) {
  EXPECT_EQ(placeIn("ab\ncd", 1), "1:1");
  EXPECT_EQ(placeIn("ab\ncd", 3), "1:3"); // the end of the line
  EXPECT_EQ(placeIn("ab\ncd", 4), "2:1");
  EXPECT_EQ(placeIn("ab\ncd", 6), "2:3"); // past the end
  EXPECT_EQ(placeIn("", 1), "1:1");
}

TEST(JsonText, RejectsNumbersThatOverflowFloat64) {
  EXPECT_EQ(errorOf("[{\"steps\": 1e999}]"),
            "f.json:1:16: expected JSON, found the number 1e999, which overflows float64");
  EXPECT_EQ(errorOf("[-1e400]"),
            "f.json:1:7: expected JSON, found the number -1e400, which overflows float64");
}

TEST(JsonText, RejectsDeepNestingAtItsBracket) {
  EXPECT_EQ(errorOf(std::string(256, '[') + std::string(256, ']')), "read");
  EXPECT_EQ(errorOf("[\"[[[\\\"[[\",\n" + std::string(256, '[') + std::string(257, ']')),
            "f.json:2:256: expected JSON, found more than 256 nested levels");
  EXPECT_EQ(errorOf(std::string(2'000'000, '[')),
            "f.json:1:257: expected JSON, found more than 256 nested levels");
}

TEST(JsonText, RejectsDuplicateKeys) {
  EXPECT_EQ(errorOf("{\"a\": {\"b\": \"b\"}, \"b\": [{\"a\": 1}]}"), "read");
  EXPECT_EQ(errorOf("{\"a\": \"a\",\n \"b\": {\"x\\\"\": 1},\n  \"a\" : 2}"),
            "f.json:3:3: expected unique keys, found 'a' twice");
}

TEST(JsonText, MessagesAreOneShortLine) {
  const std::string message = errorOf("[\"" + std::string(5000, '\x01') + "\"]");
  EXPECT_LT(message.size(), 250u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(shortened(nlohmann::json(std::string(500, 'x'))).size(), 83u);
}

} // namespace

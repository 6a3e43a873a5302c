//===- SafetensorsHostileTest.cpp - Invalid safetensors files -------------===//
//
// Each inconsistency is reported by an error that names it. Random damage never crashes the reader;
// the asan preset runs this test with sanitizers.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Random.h"
#include "runtime/core/Safetensors.h"

#include <gtest/gtest.h>

using namespace pe;

static std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>(uint64_t(header.size()) >> (8 * i));
  return bytes + header + std::string(dataBytes, '\x01');
}

/// Expects that `bytes` are rejected with a message that contains all of `parts`.
static void expectRefused(const std::string &bytes, const std::vector<std::string> &parts) {
  Expected<Safetensors> result = parseSafetensors(bytes, "x.safetensors");
  ASSERT_FALSE(result) << "expected an error with '" << parts[0] << "'";
  const std::string &message = result.error().getMessage();
  EXPECT_NE(message.find("'x.safetensors'"), std::string::npos) << message;
  for (const std::string &part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

static std::string tensor(const std::string &dtype, const std::string &shape,
                          const std::string &offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(SafetensorsHostile, TheSampleIsAccepted) {
  EXPECT_TRUE(parseSafetensors(fileOf(tensor("F32", "[2]", "[0,8]"), 8), "x"));
  EXPECT_TRUE(parseSafetensors(fileOf("{}", 0), "x"));
  EXPECT_TRUE(parseSafetensors(fileOf("{}   ", 0), "x"));
}

TEST(SafetensorsHostile, Lengths) {
  expectRefused("", {"at least 8 bytes", "found 0"});
  expectRefused("1234567", {"found 7"});
  expectRefused(std::string(8, '\xff'), {"header of at most"});
  expectRefused(fileOf("{}", 0).substr(0, 9), {"found only 1 bytes", "truncated"});
  expectRefused(fileOf(std::string(100, '['), 0), {"levels"});
  std::string huge(8, '\0');
  huge[4] = 1; // 4 GiB
  expectRefused(huge + "{}", {"header of at most", "4294967296"});
}

TEST(SafetensorsHostile, OtherFormatsAreNamed) {
  const std::string rest(100, '\x01');
  expectRefused("PK\x03\x04" + rest, {"found a zip archive (.npz, .pt); write safetensors"});
  expectRefused("\x93NUMPY\x01" + rest, {"found a NumPy array (.npy)"});
  expectRefused(std::string("\x80\x02") + rest, {"found a pickle"});
  expectRefused("\x89HDF\r\n\x1a\n" + rest, {"found an HDF5 file"});
  expectRefused("GGUF" + rest, {"found a GGUF file"});
  // A header of 0x0280 bytes begins like a pickle but is not one.
  const std::string padded = "{}" + std::string(0x280 - 2, ' ');
  EXPECT_TRUE(parseSafetensors(fileOf(padded, 0), "x"));
}

// The product of the dimensions of an empty tensor may overflow.
TEST(SafetensorsHostile, EmptyTensorsOfAnyShape) {
  const std::string most = "9223372036854775807";
  for (const std::string &shape :
       {"[" + most + "," + most + ",0]", "[0," + most + "," + most + "]"}) {
    auto file = parseSafetensors(fileOf(tensor("F32", shape, "[0,0]"), 0), "x");
    ASSERT_TRUE(file) << file.error().getMessage();
    EXPECT_EQ(file->tensors[0].tensor.numel(), 0);
    EXPECT_EQ(file->tensors[0].tensor.clone().byteSize(), 0u);
  }
}

TEST(SafetensorsHostile, InvalidHeaders) {
  expectRefused(fileOf("", 0), {"expected the header to be JSON", "end of input"});
  expectRefused(fileOf("[]", 0), {"JSON object"});
  expectRefused(fileOf("{\"a\":", 0), {"expected the header to be JSON", "end of input"});
  expectRefused(fileOf("{} {}", 0), {"expected the header to be JSON", "end of input"});
  expectRefused(fileOf("{\"\xff\": 1}", 0), {"expected the header to be JSON", "UTF-8"});
  expectRefused(fileOf(R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}", 0),
                {"deeper nesting"});
}

TEST(SafetensorsHostile, DuplicateNames) {
  const std::string entry = R"("t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expectRefused(fileOf("{" + entry + "," + entry + "}", 4), {"'t' twice"});
  expectRefused(
      fileOf(R"({"t":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}})", 4),
      {"'dtype' twice"});
}

TEST(SafetensorsHostile, Fields) {
  expectRefused(fileOf(R"({"t":5})", 0), {"tensor 't'", "expected an object"});
  expectRefused(fileOf(R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4), {"'dtype'"});
  expectRefused(fileOf(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4), {"'shape'"});
  expectRefused(fileOf(R"({"t":{"dtype":"F32","shape":[1]}})", 4), {"'data_offsets'"});
  expectRefused(fileOf(R"({"__metadata__":{"a":1}})", 0), {"metadata 'a'", "found number"});
  expectRefused(fileOf(R"({"__metadata__":[]})", 0), {"__metadata__"});
}

TEST(SafetensorsHostile, Types) {
  expectRefused(fileOf(tensor("F4", "[2]", "[0,1]"), 1), {"tensor 't'", "found 'F4'", "BF16"});
  expectRefused(fileOf(tensor("f32", "[2]", "[0,8]"), 8), {"found 'f32'"});
}

TEST(SafetensorsHostile, Shapes) {
  expectRefused(fileOf(tensor("F32", "[-2]", "[0,8]"), 8), {"found -2"});
  expectRefused(fileOf(tensor("F32", "[2.0]", "[0,8]"), 8), {"found 2.0"});
  expectRefused(fileOf(tensor("F32", "[18446744073709551615]", "[0,8]"), 8), {"at least 0"});
  expectRefused(fileOf(tensor("F32", "[4294967296,4294967296]", "[0,8]"), 8), {"fewer than 2^63"});
  expectRefused(fileOf(tensor("F64", "[4611686018427387904]", "[0,0]"), 0), {"tensor 't'"});
  std::string many = "[1";
  for (int i = 0; i < 100; ++i)
    many += ",1";
  expectRefused(fileOf(tensor("F32", many + "]", "[0,4]"), 4), {"at most 64 dimensions"});
}

TEST(SafetensorsHostile, Offsets) {
  expectRefused(fileOf(tensor("F32", "[2]", "[0,4]"), 4), {"span the 8 bytes", "[0, 4]"});
  expectRefused(fileOf(tensor("F32", "[2]", "[8,0]"), 8), {"[8, 0]"});
  expectRefused(fileOf(tensor("F32", "[2]", "[0,8,9]"), 8), {"two integers"});
  expectRefused(fileOf(tensor("F32", "[2]", "[-8,0]"), 8), {"two integers"});
  expectRefused(fileOf(tensor("F32", "[2]", "[0,8]"), 7), {"within the 7 data bytes", "end 8"});
  expectRefused(fileOf(tensor("F32", "[2]", "[0,8]"), 9), {"expected 8 data bytes", "found 9"});
  expectRefused(fileOf(tensor("F32", "[2]", "[4,12]"), 12), {"begin at 0", "found 4"});
}

TEST(SafetensorsHostile, Overlaps) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]})";
  expectRefused(fileOf("{" + a + "," + b + "}", 12), {"tensor 'b'", "overlap"});
}

// The time to read many names must not be quadratic.
TEST(SafetensorsHostile, ManyNamesAreReadQuickly) {
  std::string header = "{";
  for (int i = 0; i < 200000; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_TRUE(parseSafetensors(fileOf(header + "}", 0), "x"));
}

// Flips, deletes and duplicates bytes of a valid file, deterministically. The reader must not crash
// or hang, and a file that it accepts must be consistent.
TEST(SafetensorsHostile, RandomDamageNeverCrashes) {
  const std::string good = fileOf(R"({"__metadata__":{"k":"v"},)"
                                  R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                  R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})",
                                  32);
  ASSERT_TRUE(parseSafetensors(good, "x"));
  Random random(2026, "fuzz");
  int accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string bytes = good;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const size_t at = random.below(bytes.size());
      switch (random.below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        bytes.erase(at, 1 + random.below(8));
        break;
      case 2:
        bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(16)));
        break;
      default:
        bytes[at] = "0123456789[]{},:\"-."[random.below(19)];
      }
      if (bytes.empty())
        bytes = "{";
    }
    Expected<Safetensors> result = parseSafetensors(bytes, "x");
    if (!result) {
      EXPECT_FALSE(result.error().getMessage().empty());
      continue;
    }
    ++accepted;
    for (const NamedTensor &entry : result->tensors)
      EXPECT_LE(entry.tensor.byteSize(), bytes.size());
  }
  EXPECT_GT(accepted, 0);
}

//===- BundleTest.cpp - Tests of valid and damaged bundles ----------------===//

#include "runtime/api/Bundle.h"
#include "runtime/core/Random.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::api;

static const Bundle kSample = {{"plan", "{}"}, {"object", std::string("\0\1\2", 3)}, {"empty", ""}};

TEST(Bundle, RoundTrip) {
  const std::string bytes = writeBundle(kSample);
  EXPECT_TRUE(isBundle(bytes));
  Expected<Bundle> again = readBundle(bytes);
  ASSERT_TRUE(again) << again.error().getMessage();
  EXPECT_EQ(*again, kSample);
  EXPECT_TRUE(readBundle(writeBundle({})));
}

TEST(Bundle, RejectsOtherBytes) {
  EXPECT_FALSE(isBundle("func.func"));
  for (const char *bytes : {"", "PEBUNDLE", "something else that is long enough to hold a header"})
    EXPECT_FALSE(readBundle(bytes));
}

TEST(Bundle, RejectsTruncation) {
  const std::string bytes = writeBundle(kSample);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readBundle(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(readBundle(bytes + "x"));
}

TEST(Bundle, DetectsEveryFlippedByte) {
  const std::string bytes = writeBundle(kSample);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(readBundle(damaged)) << i;
  }
}

TEST(Bundle, RejectsOtherVersions) {
  std::string bytes = writeBundle(kSample);
  bytes[8] = 7;
  Expected<Bundle> bundle = readBundle(bytes);
  ASSERT_FALSE(bundle);
  EXPECT_NE(bundle.error().getMessage().find("version 4, found 7"), std::string::npos);
}

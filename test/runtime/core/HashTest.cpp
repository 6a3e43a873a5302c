//===- HashTest.cpp - Hashes against published values ---------------------===//

#include "runtime/core/Hash.h"

#include <gtest/gtest.h>

using namespace pe;

TEST(Hash, Fnv1aOfPublishedValues) {
  EXPECT_EQ(hash64(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(hash64("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(hash64("foobar"), 0x85944171f73967e8ull);
}

TEST(Hash, Sha256OfPublishedValues) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, Sha256IsIncremental) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i)
    hash.update(std::string(1000, 'a'));
  EXPECT_EQ(hash.finish(), sha256(std::string(1000000, 'a')));
}

//===- FileTest.cpp - Reading and atomic writing of files -----------------===//

#include "runtime/core/File.h"

#include "runtime/core/FileLimit.h"
#include "runtime/core/TempDir.h"

#include <gtest/gtest.h>

using namespace pe;
using pe::test::TempDir;
using pe::test::withFileLimit;

TEST(File, WritingReplacesFiles) {
  TempDir dir;
  for (Durability durability : {Durability::Process, Durability::Disk})
    for (const char *bytes : {"first", "second", ""}) {
      ASSERT_TRUE(writeFileAtomically(dir.file("target"), bytes, durability));
      EXPECT_EQ(*readFile(dir.file("target")), bytes);
    }
  EXPECT_EQ(dir.count(), 1u);
}

TEST(File, FullDiskKeepsTheTarget) {
  TempDir dir;
  ASSERT_TRUE(writeFileAtomically(dir.file("target"), "old"));
  for (Durability durability : {Durability::Process, Durability::Disk})
    EXPECT_EQ(withFileLimit(100,
                            [&] {
                              return writeFileAtomically(dir.file("target"), std::string(1000, 'x'),
                                                         durability);
                            }),
              "file '" + dir.file("target") + "': cannot write: File too large");
  EXPECT_EQ(*readFile(dir.file("target")), "old");
  EXPECT_EQ(dir.count(), 1u) << "nothing half-written is left";
  Status full = writeFileAtomically("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().getMessage(), "file '/dev/full': cannot write: No space left on device");
}

TEST(File, MissingDirectories) {
  TempDir dir;
  EXPECT_FALSE(writeFileAtomically(dir.file("none/target"), "x"));
  EXPECT_FALSE(writeFileAtomically(dir.name(), "x"));
  EXPECT_TRUE(syncFolder(dir.name()));
  EXPECT_FALSE(syncFolder(dir.file("none")));
}

TEST(File, TemporaryFileSuffixes) {
  for (const char *ending : {".tmp.1.0", ".tmp.4711.12"})
    EXPECT_TRUE(isTemporaryEnding(ending)) << ending;
  for (const char *ending : {"", ".tmp", ".tmp.", ".tmp.1", ".tmp.1.", ".tmp..1", ".tmp.1.0x",
                             ".tmp.1.0.0", "x.tmp.1.0", ".tmp.-1.0"})
    EXPECT_FALSE(isTemporaryEnding(ending)) << ending;
}

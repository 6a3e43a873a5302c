//===- DiskCacheTest.cpp - Entries, damage, many processes ----------------===//

#include "runtime/api/DiskCache.h"
#include "runtime/core/File.h"

#include "runtime/core/TempDir.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pe;
using namespace pe::api;
using pe::test::TempDir;

TEST(DiskCache, KeepsWhatItIsGiven) {
  TempDir dir;
  DiskCache cache(dir.file("deep/folder"));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_TRUE(cache.put("key", {{"a", "b"}}));
  std::optional<Bundle> found = cache.get("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at("a"), "b");
  EXPECT_EQ(cache.usage().entries, 1u);
  EXPECT_TRUE(cache.usage().writable);
}

TEST(DiskCache, ADamagedEntryIsAbsentAndGoes) {
  TempDir dir;
  DiskCache cache(dir.name());
  ASSERT_TRUE(cache.put("key", {{"a", "b"}}));
  Expected<std::string> bytes = readFile(dir.file("key.pe"));
  ASSERT_TRUE(bytes);
  bytes->back() ^= 1;
  ASSERT_TRUE(writeFileAtomically(dir.file("key.pe"), *bytes));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_EQ(dir.count(), 0u);
}

TEST(DiskCache, AFolderThatCannotBeIsNoError) {
  DiskCache cache("/proc/no/such/folder");
  EXPECT_FALSE(cache.put("key", {{"a", "b"}}));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_FALSE(cache.usage().writable);
  DiskCache none("");
  EXPECT_FALSE(none.put("key", {}));
  EXPECT_FALSE(none.get("key"));
}

TEST(DiskCache, TheFolderFollowsTheVariables) {
  ::setenv("PE_CACHE_DIR", "/own", 1);
  EXPECT_EQ(DiskCache::defaultFolder(), "/own");
  ::unsetenv("PE_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/shared", 1);
  EXPECT_EQ(DiskCache::defaultFolder(), "/shared/pe");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DiskCache::defaultFolder(), "/home/me/.cache/pe");
}

// The least recently used entries go first, and reading is use.
TEST(DiskCache, TheOldestGoWhenItIsFull) {
  TempDir dir;
  DiskCache cache(dir.name(), 4000);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(15)); };
  for (const char *key : {"a", "b", "c"}) {
    ASSERT_TRUE(cache.put(key, {{"content", std::string(1000, 'x')}}));
    pause();
  }
  ASSERT_TRUE(cache.get("a"));
  pause();
  ASSERT_TRUE(cache.put("d", {{"content", std::string(1000, 'x')}}));
  EXPECT_FALSE(cache.get("b"));
  EXPECT_TRUE(cache.get("a"));
  EXPECT_TRUE(cache.get("d"));
  EXPECT_LE(cache.usage().bytes, 4000u);
}

// Processes that write and read the same keys see whole entries or none.
TEST(DiskCache, ManyProcessesShareIt) {
  TempDir dir;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      DiskCache cache(dir.name());
      bool good = true;
      for (int round = 0; round < 200 && good; ++round) {
        const std::string key = "key" + std::to_string(round % 5);
        const std::string content(static_cast<size_t>(1000 * (1 + round % 5)), 'x');
        good &= cache.put(key, {{"content", content}});
        std::optional<Bundle> found = cache.get(key);
        good &= found && found->at("content") == content;
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(dir.count(), 5u);
}

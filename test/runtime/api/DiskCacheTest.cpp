//===- DiskCacheTest.cpp - Tests of the disk cache ------------------------===//

#include "runtime/api/DiskCache.h"
#include "runtime/core/File.h"

#include "runtime/core/FileLimit.h"
#include "runtime/core/TempDir.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pe;
using namespace pe::api;
using pe::test::TempDir;

TEST(DiskCache, ReturnsStoredEntries) {
  TempDir dir;
  DiskCache cache(dir.file("deep/directory"));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_TRUE(cache.put("key", {{"a", "b"}}));
  std::optional<Bundle> found = cache.get("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at("a"), "b");
  EXPECT_EQ(cache.usage().entries, 1u);
  EXPECT_TRUE(cache.usage().writable);
}

TEST(DiskCache, RemovesDamagedEntries) {
  TempDir dir;
  DiskCache cache(dir.name());
  ASSERT_TRUE(cache.put("key", {{"a", "b"}}));
  Expected<std::string> bytes = readFile(cache.pathOf("key"));
  ASSERT_TRUE(bytes);
  bytes->back() ^= 1;
  ASSERT_TRUE(writeFileAtomically(cache.pathOf("key"), *bytes));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_EQ(dir.count(), 0u);
}

// A crash of the machine may truncate an entry. The next process writes it again.
TEST(DiskCache, TruncatedEntryIsAbsent) {
  TempDir dir;
  DiskCache cache(dir.name());
  ASSERT_TRUE(cache.put("key", {{"a", "b"}}));
  const std::string bytes = *readFile(cache.pathOf("key"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_TRUE(writeFileAtomically(cache.pathOf("key"), bytes.substr(0, size)));
    EXPECT_FALSE(cache.get("key")) << size;
  }
  ASSERT_TRUE(cache.put("key", {{"a", "b"}}));
  EXPECT_TRUE(cache.get("key"));
}

// A hash collision or a renamed file has the same effect.
TEST(DiskCache, EntryOfAnotherKeyIsAbsent) {
  TempDir dir;
  DiskCache cache(dir.name());
  ASSERT_TRUE(cache.put("mine", {{"a", "b"}}));
  std::filesystem::rename(cache.pathOf("mine"), cache.pathOf("other"));
  EXPECT_FALSE(cache.get("mine"));
  EXPECT_FALSE(cache.get("other"));
  ASSERT_TRUE(cache.put("other", {{"a", "c"}}));
  EXPECT_EQ(cache.get("other")->at("a"), "c");
  EXPECT_EQ(cache.get("other")->size(), 1u) << "the section of the key is internal";
}

// Cached code is executed, so the directory must not be writable by other users.
TEST(DiskCache, DoesNotUseADirectoryThatOthersCanWrite) {
  TempDir dir;
  DiskCache cache(dir.file("cache"));
  EXPECT_EQ(cache.problem(), "") << "it does not exist yet";
  ASSERT_TRUE(cache.put("key", {{"a", "b"}}));
  struct stat made;
  ASSERT_EQ(::stat(dir.file("cache").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700u);
  for (mode_t mode : {0770, 0707, 0777, 01777}) {
    ASSERT_EQ(::chmod(dir.file("cache").c_str(), mode), 0);
    EXPECT_NE(cache.problem().find("is writable by other users"), std::string::npos);
    EXPECT_FALSE(cache.get("key"));
    EXPECT_FALSE(cache.put("key", {{"a", "c"}}));
    EXPECT_FALSE(cache.usage().writable);
  }
  ASSERT_EQ(::chmod(dir.file("cache").c_str(), 0755), 0);
  EXPECT_EQ(cache.get("key")->at("a"), "b");
  if (::geteuid() == 0) { // only root can change the owner of a directory
    ASSERT_EQ(::chown(dir.file("cache").c_str(), 65534, 65534), 0);
    EXPECT_NE(cache.problem().find("belongs to another user (65534)"), std::string::npos);
    EXPECT_FALSE(cache.get("key"));
    EXPECT_FALSE(cache.put("key", {}));
  }
  DiskCache file(dir.file("file"));
  ASSERT_TRUE(writeFileAtomically(dir.file("file"), ""));
  EXPECT_NE(file.problem().find("is not a directory"), std::string::npos);
  EXPECT_FALSE(file.put("key", {}));
}

TEST(DiskCache, ReadsAReadOnlyDirectory) {
  TempDir dir;
  const std::string folder = dir.file("cache");
  ASSERT_TRUE(DiskCache(folder).put("key", {{"a", "b"}}));
  const pid_t pid = ::fork();
  if (pid == 0) { // root can write everywhere, so run as another user
    bool good = ::geteuid() != 0 || (::chmod(dir.name().c_str(), 0755) == 0 &&
                                     ::chown(folder.c_str(), 65534, 65534) == 0 &&
                                     ::setgid(65534) == 0 && ::setuid(65534) == 0);
    good &= ::chmod(folder.c_str(), 0500) == 0;
    DiskCache cache(folder);
    good &= cache.get("key").has_value() && !cache.put("other", {}) && !cache.usage().writable;
    good &= ::chmod(folder.c_str(), 0700) == 0;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(DiskCache, FullDiskIsNotAnError) {
  TempDir dir;
  DiskCache cache(dir.name());
  const std::string outcome = test::withFileLimit(100, [&]() -> Status {
    if (cache.put("key", {{"content", std::string(1000, 'x')}}))
      return makeError("wrote more than the limit");
    return Status::success();
  });
  EXPECT_EQ(outcome, "");
  EXPECT_EQ(dir.count(), 0u);
  EXPECT_FALSE(cache.get("key"));
}

// Only files of the cache are removed. Others stay, even if their names look like entries.
TEST(DiskCache, KeepsForeignFiles) {
  TempDir dir;
  DiskCache cache(dir.name(), 100);
  const std::string digits(64, 'a');
  const std::string foreign[] = {"my.pe",
                                 "notes.pe.txt",
                                 "x.pepkg",
                                 digits + ".pet",
                                 digits + "0.pe",
                                 digits + ".pe.tmp.1",
                                 digits + ".pe.backup",
                                 "compiler-" + digits + ".pe",
                                 digits + ".pe" /* the name of an entry, but not an entry */};
  for (const std::string &name : foreign)
    ASSERT_TRUE(writeFileAtomically(dir.file(name), std::string(1000, 'x')));
  const std::string folder = dir.file(std::string(64, 'b') + ".pe");
  std::filesystem::create_directory(folder);
  const std::string abandoned = dir.file(digits + ".pe.tmp.12.3"), fresh = abandoned + "4";
  ASSERT_TRUE(writeFileAtomically(abandoned, "x"));
  ASSERT_TRUE(writeFileAtomically(fresh, "x"));
  std::filesystem::last_write_time(abandoned, std::filesystem::file_time_type::clock::now() -
                                                  std::chrono::hours(2));
  for (const char *key : {"a", "b", "c"})
    ASSERT_TRUE(cache.put(key, {{"content", std::string(1000, 'x')}}));
  for (const std::string &name : foreign)
    EXPECT_EQ(readFile(dir.file(name))->size(), 1000u) << name;
  EXPECT_TRUE(std::filesystem::exists(folder));
  EXPECT_FALSE(std::filesystem::exists(abandoned)) << "a leftover of a killed process";
  EXPECT_TRUE(std::filesystem::exists(fresh)) << "another process may be writing it";
  EXPECT_FALSE(std::filesystem::exists(cache.pathOf("a"))) << "entries are evicted";
}

TEST(DiskCache, InvalidDirectoryIsNotAnError) {
  DiskCache cache("/proc/no/such/directory");
  EXPECT_FALSE(cache.put("key", {{"a", "b"}}));
  EXPECT_FALSE(cache.get("key"));
  EXPECT_FALSE(cache.usage().writable);
  DiskCache none("");
  EXPECT_FALSE(none.put("key", {}));
  EXPECT_FALSE(none.get("key"));
}

TEST(DiskCache, DirectoryFollowsTheEnvironment) {
  ::setenv("PE_CACHE_DIR", "/own", 1);
  EXPECT_EQ(DiskCache::defaultDirectory(), "/own");
  ::unsetenv("PE_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/shared", 1);
  EXPECT_EQ(DiskCache::defaultDirectory(), "/shared/pe");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/users/me", 1);
  EXPECT_EQ(DiskCache::defaultDirectory(), "/users/me/.cache/pe");
}

// The least recently used entries are evicted first, and reading counts as use.
TEST(DiskCache, EvictsLeastRecentlyUsedEntries) {
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

// Processes that write and read the same keys see complete entries or none.
TEST(DiskCache, SupportsConcurrentProcesses) {
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

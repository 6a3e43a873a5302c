//===- SafetensorsTest.cpp - Writing and reading back ---------------------===//

#include "runtime/core/Safetensors.h"
#include "runtime/core/File.h"

#include "runtime/core/TempDir.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace pe;
using pe::test::TempDir;

static Safetensors sample() {
  Safetensors content;
  content.metadata["format"] = "pe";
  content.metadata["note"] = "quote \" backslash \\ newline \n";
  content.tensors.push_back({"q", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})});
  content.tensors.push_back({"scalar", Tensor::scalar<float>(0.1f)});
  content.tensors.push_back({"empty", Tensor::zeros(DType::F64, {3, 0})});
  content.tensors.push_back({"ids", Tensor::of<int32_t>({-1, 7}, {2})});
  content.tensors.push_back({"seed", Tensor::scalar<int64_t>(1ll << 60)});
  content.tensors.push_back({"bytes", Tensor::of<uint8_t>({1, 2, 255}, {3})});
  return content;
}

TEST(Safetensors, RoundTripKeepsEverything) {
  TempDir dir;
  const Safetensors content = sample();
  ASSERT_TRUE(writeSafetensors(dir.file("a.safetensors"), content));
  Expected<Safetensors> again = readSafetensors(dir.file("a.safetensors"));
  ASSERT_TRUE(again) << again.error().getMessage();
  EXPECT_EQ(again->metadata, content.metadata);
  ASSERT_EQ(again->tensors.size(), content.tensors.size());
  for (const NamedTensor &entry : content.tensors) {
    const Tensor *tensor = again->find(entry.name);
    ASSERT_NE(tensor, nullptr) << entry.name;
    EXPECT_EQ(tensor->dtype(), entry.tensor.dtype());
    EXPECT_EQ(tensor->shape(), entry.tensor.shape());
    EXPECT_TRUE(tensor->isKernelReady());
    EXPECT_EQ(std::memcmp(tensor->rawData(), entry.tensor.rawData(), tensor->byteSize()), 0);
  }
  EXPECT_EQ(dir.count(), 1u);
}

TEST(Safetensors, EveryElementTypeRoundTrips) {
  TempDir dir;
  Safetensors content;
  for (int i = 0; i <= static_cast<int>(DType::C64); ++i) {
    const DType dtype = static_cast<DType>(i);
    content.tensors.push_back({std::string(nameOf(dtype)), Tensor::zeros(dtype, {5})});
  }
  ASSERT_TRUE(writeSafetensors(dir.file("a"), content));
  Expected<Safetensors> again = readSafetensors(dir.file("a"));
  ASSERT_TRUE(again) << again.error().getMessage();
  for (const NamedTensor &entry : again->tensors)
    EXPECT_EQ(entry.name, nameOf(entry.tensor.dtype()));
}

TEST(Safetensors, ViewsAreWrittenPacked) {
  TempDir dir;
  Tensor t = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  ASSERT_TRUE(writeSafetensors(dir.file("a"), {{{"t", t.transpose(0, 1)}}, {}}));
  Expected<Safetensors> again = readSafetensors(dir.file("a"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->find("t")->values<float>()[1], 3.0f);
}

TEST(Safetensors, FailedWriteKeepsTheOldFile) {
  TempDir dir;
  const std::string path = dir.file("a");
  ASSERT_TRUE(writeFileAtomically(path, "old"));
  Safetensors twice;
  twice.tensors = {{"t", Tensor::scalar(1.0f)}, {"t", Tensor::scalar(2.0f)}};
  Status status = writeSafetensors(path, twice);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("'t'"), std::string::npos);
  EXPECT_EQ(*readFile(path), "old");
  EXPECT_EQ(dir.count(), 1u);
}

TEST(Safetensors, NamesAMissingDirectory) {
  Status status = writeSafetensors("/no/such/directory/a.safetensors", sample());
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("/no/such/directory/a.safetensors"),
            std::string::npos);
}

TEST(Safetensors, SpecialFilesAreWrittenInPlace) {
  ASSERT_TRUE(writeSafetensors("/dev/null", sample()));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Safetensors, LinksArePreserved) {
  TempDir dir;
  ASSERT_TRUE(writeFileAtomically(dir.file("real"), "old"));
  std::filesystem::create_symlink(dir.file("real"), dir.file("link"));
  ASSERT_TRUE(writeSafetensors(dir.file("link"), sample()));
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")));
  EXPECT_TRUE(readSafetensors(dir.file("real")));
}

TEST(Safetensors, MissingFileAndDirectoryAreErrors) {
  TempDir dir;
  Expected<Safetensors> missing = readSafetensors(dir.file("none"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().getMessage().find("none': cannot open"), std::string::npos);
  EXPECT_FALSE(readSafetensors(dir.name()));
}

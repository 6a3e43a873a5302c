//===- FileKinds.cpp - Kinds of files and their readers -------------------===//

#include "fuzz/FileKinds.h"

#include "fuzz/Triage.h"

namespace pe::fuzz {

const std::vector<FileKind> &fileKinds() {
  static const std::vector<FileKind> kinds = [] {
    std::vector<FileKind> all = readerKinds();
    all.push_back(sourceKind());
    all.push_back(ptxKind());
    return all;
  }();
  return kinds;
}

std::string judgeMessage(const Status &status) {
  if (status)
    return "";
  const std::string &message = status.error().getMessage();
  return isClearMessage(message) ? "" : "unclear message: " + message;
}

} // namespace pe::fuzz

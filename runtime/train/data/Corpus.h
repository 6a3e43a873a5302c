//===- Corpus.h - The text a model learns from ------------------*- C++ -*-===//
//
// A corpus is what --data names: a directory, a file of tokens (TokenFile.h) whose last tenth is
// held out, or a task (Task.h). Of a directory it is the text files in it in the order of their
// paths; every tenth file is held out: the model never sees it in training and is evaluated on it.
// Identity: the SHA-256 of all files' bytes in that order, their number and their size, so that two
// tables are comparable exactly when these agree.
//
// Without --data the corpus is the Python standard library's own sources, which every Debian
// machine with python3 has (11 MB, long files, real long-range structure); failing that, Perl's
// modules; failing that, the licence texts of base-files.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_CORPUS_H
#define PE_RUNTIME_TRAIN_DATA_CORPUS_H

#include "runtime/train/data/Task.h"
#include "runtime/train/data/TokenFile.h"
#include "runtime/train/data/Vocabulary.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pe::train {

/// Where to read from, and which files.
struct CorpusSource {
  std::string directory;
  /// File name endings that count; empty: every file that holds text (no zero byte).
  std::vector<std::string> endings;
};

/// The tokens of consecutive documents, or what generates them.
struct Text {
  std::vector<int32_t> tokens;
  /// Where each document begins, ascending from 0.
  std::vector<int64_t> starts;
  /// A part of a mapped file, in place of `tokens`.
  std::shared_ptr<const TokenFile> file;
  int64_t fileBegin = 0, fileEnd = 0;
  /// In place of both.
  std::shared_ptr<const Task> task;

  int64_t size() const { return file ? fileEnd - fileBegin : static_cast<int64_t>(tokens.size()); }
  int32_t operator[](int64_t index) const {
    return file ? (*file)[fileBegin + index] : tokens[index];
  }

  /// Appends a document.
  void add(std::string_view document, const Vocabulary &vocabulary);
};

struct Corpus {
  /// Or the name of the file or task.
  std::string directory;
  /// The files to train on, and those held out.
  Text training, heldOut;
  std::string sha256;
  int64_t bytes = 0;
  int64_t files = 0;
  int64_t heldOutFiles = 0;
  /// Tokens of a byte of the held-out text; 0: not known.
  double tokensPerByte = 0;
};

/// The machine's own text as described above; an error lists where it looked.
Expected<CorpusSource> defaultCorpus();

/// Reads every file of `source`, a document each. Links, and folders of installed packages and
/// compiled files, are not followed.
Expected<Corpus> readCorpus(const CorpusSource &source, const Vocabulary &vocabulary = {});

/// Reads what --data names: a directory, a file of tokens or a task; empty: the machine's own text.
Expected<Corpus> readData(const std::string &data, const Vocabulary &vocabulary = {});

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_CORPUS_H

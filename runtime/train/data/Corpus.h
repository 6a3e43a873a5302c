//===- Corpus.h - The text a model learns from ------------------*- C++ -*-===//
//
// A corpus is what --data names: a text file, a directory of text files, a file of tokens
// (TokenFile.h) or a task (Task.h). A part is held out: the model never sees it in training and is
// evaluated on it. Of ten text files and more, in the order of their paths, it is every tenth file;
// of fewer it is the last tenth of each, as of a file of tokens. Identity: the SHA-256 of all
// files' bytes in that order, their number and their size, so that two tables are comparable
// exactly when these agree.
//
// Files with a byte 0 are no text and are left out, and so are symbolic links, unless a directory
// has nothing else, as in the caches of model hubs. `leftOut` says how many. Hidden folders,
// __pycache__, dist-packages and site-packages are not looked into.
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
  /// Or a file.
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
  /// Whether the last tenth of each file is held out, in place of whole files.
  bool holdsOutTails = false;
  /// Why files of the directory are no part of it: "2 left out: 1 with a byte 0, 1 symbolic link";
  /// or empty.
  std::string leftOut;
  /// Tokens of a byte of the held-out text; 0: not known.
  double tokensPerByte = 0;
};

/// The machine's own text as described above; an error lists where it looked.
Expected<CorpusSource> defaultCorpus();

/// "12 files, 1 of them held out, 2 left out: 1 with a byte 0, 1 symbolic link"; of a task, which
/// has no files, empty.
std::string filesOf(const Corpus &corpus);

/// Reads the file or every file of the directory, a document each.
Expected<Corpus> readCorpus(const CorpusSource &source, const Vocabulary &vocabulary = {});

/// Reads what --data names: text, a file of tokens or a task; empty: the machine's own text.
Expected<Corpus> readData(const std::string &data, const Vocabulary &vocabulary = {});

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_CORPUS_H

//===- Corpus.cpp - The text a model learns from --------------------------===//
//
// Finding the default text of the machine, walking a directory, reading, hashing, holding out.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Corpus.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

/// Every tenth file is held out: the tenth, the twentieth ...
constexpr int64_t kHoldOut = 10;

bool isSkippedFolder(const std::string &name) {
  return name == "__pycache__" || name == "dist-packages" || name == "site-packages" ||
         name.starts_with(".");
}

bool hasEnding(const std::string &name, const std::vector<std::string> &endings) {
  return endings.empty() || std::any_of(endings.begin(), endings.end(),
                                        [&](const auto &ending) { return name.ends_with(ending); });
}

/// Paths relative to the directory, sorted bytewise.
Expected<std::vector<std::string>> listFiles(const CorpusSource &source) {
  std::error_code failure;
  if (!fs::is_directory(source.directory, failure))
    return makeError("expected a directory with text files, found ",
                     fs::exists(source.directory, failure) ? "a file" : "nothing", " at '",
                     source.directory, "'; give another --data");
  std::vector<std::string> files;
  fs::recursive_directory_iterator end, entry(source.directory, failure);
  for (; !failure && entry != end; entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_symlink(ignored))
      continue;
    if (entry->is_directory(ignored)) {
      if (isSkippedFolder(name))
        entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored) && hasEnding(name, source.endings)) {
      files.push_back(fs::relative(entry->path(), source.directory).string());
    }
  }
  if (failure)
    return makeError("cannot read the directory '", source.directory, "': ", failure.message());
  std::sort(files.begin(), files.end());
  return files;
}

/// The newest of /usr/lib/python3.N and /usr/local/lib/python3.N that holds the library.
std::string findPythonLibrary() {
  std::string best;
  int newest = -1;
  for (const char *root : {"/usr/lib", "/usr/local/lib"}) {
    std::error_code failure;
    for (fs::directory_iterator end, entry(root, failure); !failure && entry != end;
         entry.increment(failure)) {
      std::string name = entry->path().filename().string();
      constexpr std::string_view prefix = "python3.";
      if (!name.starts_with(prefix) || !fs::exists(entry->path() / "os.py", failure))
        continue;
      int minor = std::atoi(name.c_str() + prefix.size());
      if (minor > newest) {
        newest = minor;
        best = entry->path().string();
      }
    }
  }
  return best;
}

/// The first version folder under /usr/share/perl, if any.
std::string findPerlModules() {
  std::vector<std::string> versions;
  std::error_code failure;
  for (fs::directory_iterator end, entry("/usr/share/perl", failure); !failure && entry != end;
       entry.increment(failure))
    if (!entry->is_symlink(failure) && entry->is_directory(failure))
      versions.push_back(entry->path().string());
  return versions.empty() ? "" : *std::min_element(versions.begin(), versions.end());
}

} // namespace

Expected<CorpusSource> defaultCorpus() {
  if (std::string python = findPythonLibrary(); !python.empty())
    return CorpusSource{python, {".py"}};
  if (std::string perl = findPerlModules(); !perl.empty())
    return CorpusSource{perl, {".pm", ".pod", ".pl"}};
  constexpr const char *licences = "/usr/share/common-licenses";
  std::error_code failure;
  if (fs::is_directory(licences, failure))
    return CorpusSource{licences, {}};
  return makeError("expected text in /usr/lib/python3.*, /usr/share/perl/* or ", licences,
                   ", found none; give a directory of text files with --data=DIR");
}

void Text::add(std::string_view document, const Vocabulary &vocabulary) {
  starts.push_back(static_cast<int64_t>(tokens.size()));
  vocabulary.encode(document, tokens);
}

Expected<Corpus> readCorpus(const CorpusSource &source, const Vocabulary &vocabulary) {
  auto files = listFiles(source);
  if (!files)
    return files.takeError();
  int64_t heldOutBytes = 0;
  Corpus corpus;
  corpus.directory = source.directory;
  Sha256 hash;
  for (const std::string &file : *files) {
    auto text = readFile(source.directory + "/" + file);
    if (!text)
      return text.takeError();
    if (text->find('\0') != std::string::npos)
      continue;
    hash.update(*text);
    corpus.bytes += static_cast<int64_t>(text->size());
    bool heldOut = ++corpus.files % kHoldOut == 0;
    corpus.heldOutFiles += heldOut;
    heldOutBytes += heldOut ? static_cast<int64_t>(text->size()) : 0;
    (heldOut ? corpus.heldOut : corpus.training).add(*text, vocabulary);
  }
  if (corpus.files < kHoldOut)
    return makeError("expected at least ", kHoldOut, " text files in '", source.directory,
                     "' (every tenth is held out), found ", corpus.files,
                     "; give another --data or split the text into more files");
  corpus.sha256 = hash.finish();
  if (heldOutBytes > 0)
    corpus.tokensPerByte = static_cast<double>(corpus.heldOut.size()) / heldOutBytes;
  return corpus;
}

static Expected<Corpus> readTokens(const std::string &data, const Vocabulary &vocabulary) {
  auto file = TokenFile::open(data, vocabulary.size());
  if (!file)
    return file.takeError();
  Corpus corpus;
  corpus.directory = data;
  const int64_t count = (*file)->size(), kept = count - count / kHoldOut;
  corpus.training = {.starts = {0}, .file = *file, .fileBegin = 0, .fileEnd = kept};
  corpus.heldOut = {.starts = {0}, .file = *file, .fileBegin = kept, .fileEnd = count};
  corpus.sha256 = sha256((*file)->bytes());
  corpus.bytes = static_cast<int64_t>((*file)->bytes().size());
  corpus.files = 1;
  if (vocabulary.unit() == Vocabulary::Unit::Byte)
    corpus.tokensPerByte = 1;
  return corpus;
}

static Expected<Corpus> generateTask(const std::string &data) {
  auto task = Task::parse(data);
  if (!task)
    return task.takeError();
  Corpus corpus;
  corpus.directory = task->spelling();
  corpus.sha256 = sha256(corpus.directory);
  corpus.training.task = corpus.heldOut.task = std::make_shared<const Task>(*std::move(task));
  return corpus;
}

Expected<Corpus> readData(const std::string &data, const Vocabulary &vocabulary) {
  if (Task::isName(data))
    return generateTask(data);
  if (TokenFile::isName(data))
    return readTokens(data, vocabulary);
  if (vocabulary.unit() == Vocabulary::Unit::Token)
    return makeError("expected a file of tokens (FILE.bin) with --vocab=", vocabulary.size(),
                     ", found ", data.empty() ? "no --data" : "'" + data + "'",
                     "; text has --vocab=char or byte");
  Expected<CorpusSource> source = CorpusSource{data, {}};
  if (data.empty())
    source = defaultCorpus();
  if (!source)
    return source.takeError();
  return readCorpus(*source, vocabulary);
}

} // namespace pe::train

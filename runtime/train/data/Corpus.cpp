//===- Corpus.cpp - The text a model learns from --------------------------===//
//
// Finds the default text of the machine, lists directories, reads and hashes files, and holds out
// text.
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

/// The tenth, twentieth ... file is held out, or the last tenth of each file.
constexpr int64_t kHoldOut = 10;

bool isSkippedDirectory(const std::string &name) {
  return name == "__pycache__" || name == "dist-packages" || name == "site-packages" ||
         name.starts_with(".");
}

bool hasEnding(const std::string &name, const std::vector<std::string> &endings) {
  return endings.empty() || std::any_of(endings.begin(), endings.end(),
                                        [&](const auto &ending) { return name.ends_with(ending); });
}

/// The files in a directory, as relative paths in bytewise order.
struct Listing {
  std::vector<std::string> files;
  /// Symbolic links to files, and the number of those to directories, to themselves or to missing
  /// targets.
  std::vector<std::string> links;
  int64_t otherLinks = 0;
};

void addEntry(const CorpusSource &source, fs::recursive_directory_iterator &entry,
              Listing &listing) {
  const std::string name = entry->path().filename().string();
  std::error_code ignored;
  const bool isLink = entry->is_symlink(ignored), isFile = entry->is_regular_file(ignored);
  if (isFile && hasEnding(name, source.endings))
    (isLink ? listing.links : listing.files)
        .push_back(entry->path().lexically_relative(source.directory).string());
  else if (isLink && !isFile)
    ++listing.otherLinks;
  else if (entry->is_directory(ignored) && isSkippedDirectory(name))
    entry.disable_recursion_pending();
}

Expected<Listing> listFiles(const CorpusSource &source) {
  std::error_code failure;
  if (fs::is_regular_file(source.directory, failure))
    return Listing{{""}, {}, 0};
  if (!fs::is_directory(source.directory, failure))
    return makeError("expected a text file or a directory with text files, found ",
                     fs::exists(source.directory, failure) ? "neither" : "nothing", " at '",
                     source.directory, "'; give another --data");
  Listing listing;
  fs::recursive_directory_iterator end, entry(source.directory, failure);
  for (; !failure && entry != end; entry.increment(failure))
    addEntry(source, entry, listing);
  if (failure)
    return makeError("cannot read the directory '", source.directory, "': ", failure.message());
  if (listing.files.empty())
    listing.files.swap(listing.links);
  std::sort(listing.files.begin(), listing.files.end());
  return listing;
}

std::string counted(int64_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Formats Corpus::leftOut.
std::string leftOutOf(const Listing &listing, int64_t binary) {
  const int64_t links = static_cast<int64_t>(listing.links.size()) + listing.otherLinks;
  if (binary + links == 0)
    return "";
  std::string text = std::to_string(binary + links) + " skipped: ";
  if (binary > 0)
    text += std::to_string(binary) + " with a zero byte" + (links > 0 ? ", " : "");
  return text + (links > 0 ? counted(links, "symbolic link") : "");
}

/// Adds documents. With ten or more, every tenth is held out; with fewer, the last tenth of each.
class Splitter {
public:
  Splitter(Corpus &corpus, const Vocabulary &vocabulary) : corpus(corpus), vocabulary(vocabulary) {}

  void add(std::string text) {
    corpus.bytes += static_cast<int64_t>(text.size());
    waiting.push_back(std::move(text));
    if (++corpus.files < kHoldOut)
      return;
    for (const std::string &one : waiting)
      addWhole(one);
    waiting.clear();
  }

  void finish() {
    corpus.holdsOutTails = !waiting.empty();
    for (const std::string &one : waiting) {
      const std::string_view text = one;
      const size_t kept = text.size() - text.size() / kHoldOut;
      corpus.training.add(text.substr(0, kept), vocabulary);
      addHeldOut(text.substr(kept));
    }
    if (heldOutBytes > 0)
      corpus.tokensPerByte =
          static_cast<double>(corpus.heldOut.size()) / static_cast<double>(heldOutBytes);
  }

private:
  void addWhole(std::string_view text) {
    if (++added % kHoldOut != 0)
      return corpus.training.add(text, vocabulary);
    ++corpus.heldOutFiles;
    addHeldOut(text);
  }
  void addHeldOut(std::string_view text) {
    heldOutBytes += static_cast<int64_t>(text.size());
    corpus.heldOut.add(text, vocabulary);
  }

  Corpus &corpus;
  const Vocabulary &vocabulary;
  /// The first documents, until there are ten.
  std::vector<std::string> waiting;
  int64_t added = 0, heldOutBytes = 0;
};

/// Returns the newest of /usr/lib/python3.N and /usr/local/lib/python3.N that contains the library.
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

/// Returns the first version directory in /usr/share/perl, if any.
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
  auto listing = listFiles(source);
  if (!listing)
    return listing.takeError();
  Corpus corpus;
  corpus.directory = source.directory;
  Sha256 hash;
  Splitter splitter(corpus, vocabulary);
  int64_t binary = 0;
  for (const std::string &file : listing->files) {
    auto text = readFile(source.directory + (file.empty() ? "" : "/" + file));
    if (!text)
      return text.takeError();
    const size_t zero = text->find('\0');
    if (zero != std::string::npos && file.empty())
      return makeError("file '", source.directory, "': expected text, found a zero byte at offset ",
                       zero, "; a file of tokens must be named FILE.bin");
    if (zero != std::string::npos) {
      ++binary;
      continue;
    }
    hash.update(*text);
    splitter.add(*std::move(text));
  }
  corpus.leftOut = leftOutOf(*listing, binary);
  if (corpus.files == 0)
    return makeError("expected text files in '", source.directory, "', found none",
                     corpus.leftOut.empty() ? "" : ", " + corpus.leftOut, "; give another --data");
  splitter.finish();
  corpus.sha256 = hash.finish();
  return corpus;
}

std::string filesOf(const Corpus &corpus) {
  if (corpus.files == 0)
    return "";
  std::string text = counted(corpus.files, "file");
  if (!corpus.holdsOutTails)
    text += ", " + std::to_string(corpus.heldOutFiles) + " of them held out";
  else
    text += corpus.files == 1 ? ", its last tenth held out" : ", the last tenth of each held out";
  return text + (corpus.leftOut.empty() ? "" : ", " + corpus.leftOut);
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
  corpus.holdsOutTails = true;
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
  corpus.sha256 = sha256(task->identity());
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
                     "; text needs --vocab=char or --vocab=byte");
  Expected<CorpusSource> source = CorpusSource{data, {}};
  if (data.empty())
    source = defaultCorpus();
  if (!source)
    return source.takeError();
  return readCorpus(*source, vocabulary);
}

} // namespace pe::train

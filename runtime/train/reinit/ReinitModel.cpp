//===- ReinitModel.cpp - Projecting the weights of a checkpoint -----------===//

#include "runtime/train/reinit/ReinitModel.h"
#include "runtime/core/File.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/ModelFiles.h"
#include "runtime/train/reinit/ReportJson.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace pe::reinit {
namespace {

using Entry = SafetensorsFile::Entry;
using Json = nlohmann::ordered_json;

constexpr const char *kPartNames[] = {"[q]", "[k]", "[v]"};

/// One matrix of a tensor.
struct Slice {
  std::string name;
  int64_t rows, cols;
};

/// Formats a JSON list with one tensor per line.
std::string textOf(const Json &reports) {
  std::string text;
  for (const Json &report : reports)
    text += (text.empty() ? "[\n" : ",\n") +
            report.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text + "\n]\n";
}

class Transformation {
public:
  Transformation(const ModelJob &job, ParallelFor &pool,
                 const std::function<void(const MatrixReport &)> &observe)
      : job(job), pool(pool), observe(observe) {}

  Status run();
  const ModelOutcome &outcome() const { return counts; }

private:
  Status openAll();
  Status checkAgainst();
  Status createOutputs();
  Status writeShard(const ModelFiles::Shard &shard, PendingFile &output, size_t &next);
  Status copy(const SafetensorsFile &file, uint64_t begin, uint64_t end, PendingFile &output);
  Status projectTensor(const SafetensorsFile &file, const Entry &entry, const Choice &choice,
                       PendingFile &output);
  Status projectSlice(const Slice &slice, const Entry &entry, const Choice &choice,
                      std::vector<double> &values, const std::vector<double> &old);
  Status makeDirectory(bool &made);
  Status write();
  Status commit();

  const ModelJob &job;
  ParallelFor &pool;
  const std::function<void(const MatrixReport &)> &observe;
  ModelFiles model;
  std::optional<ModelFiles> older;
  std::vector<const Entry *> tensors;
  std::vector<Choice> choices;
  std::vector<PendingFile> outputs;
  std::optional<PendingFile> index, report;
  Json reports = Json::array();
  ModelOutcome counts;
};

Status Transformation::openAll() {
  auto opened = ModelFiles::open(job.in);
  if (!opened)
    return opened.takeError();
  model = *std::move(opened);
  for (const ModelFiles::Shard &shard : model.shards)
    for (const Entry &entry : shard.file.entries())
      tensors.push_back(&entry);
  counts.tensors = static_cast<int64_t>(tensors.size());
  auto chosen = choose(tensors, job.selection);
  if (!chosen)
    return chosen.takeError().within("'" + job.in + "'");
  choices = *std::move(chosen);
  return job.against.empty() ? Status::success() : checkAgainst();
}

Status Transformation::checkAgainst() {
  auto opened = ModelFiles::open(job.against);
  if (!opened)
    return opened.takeError();
  older = *std::move(opened);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!choices[i].chosen)
      continue;
    const Entry *old = older->find(tensors[i]->name).second;
    if (!old || old->shape != tensors[i]->shape || !isFloating(old->dtype))
      return makeError("--against: expected a floating tensor '", tensors[i]->name, "' of shape ",
                       toString(tensors[i]->shape), " in '", job.against, "', found ",
                       old ? std::string(nameOf(old->dtype)) + " " + toString(old->shape) : "none");
  }
  return Status::success();
}

Status Transformation::createOutputs() {
  for (const ModelFiles::Shard &shard : model.shards) {
    auto file = PendingFile::create(model.folder ? job.out + "/" + shard.name : job.out);
    if (!file)
      return file.takeError();
    outputs.push_back(*std::move(file));
  }
  for (auto [path, file, wanted] :
       {std::tuple{job.out + "/" + kIndexName, &index, !model.index.empty()},
        std::tuple{job.report, &report, !job.report.empty()}}) {
    if (!wanted)
      continue;
    auto created = PendingFile::create(path);
    if (!created)
      return created.takeError();
    file->emplace(*std::move(created));
  }
  return Status::success();
}

Status Transformation::copy(const SafetensorsFile &file, uint64_t begin, uint64_t end,
                            PendingFile &output) {
  constexpr uint64_t kChunk = 1 << 20;
  std::string bytes;
  for (uint64_t offset = begin; offset < end; offset += bytes.size()) {
    bytes.resize(std::min(kChunk, end - offset));
    if (Status read = file.read(offset, bytes.data(), bytes.size()); !read)
      return read;
    if (Status written = output.write(bytes); !written)
      return written;
  }
  return Status::success();
}

/// Projects the parts of one matrix in place in `values`.
Status Transformation::projectSlice(const Slice &slice, const Entry &entry, const Choice &choice,
                                    std::vector<double> &values, const std::vector<double> &old) {
  const bool outIn = job.settings.layout == Layout::OutIn;
  int64_t begin = 0;
  for (size_t part = 0; part < choice.parts.size(); ++part) {
    const int64_t size = choice.parts[part];
    const int64_t rows = outIn ? size : slice.rows, cols = outIn ? slice.cols : size;
    const auto at = [&](int64_t row) {
      return outIn ? (begin + row) * slice.cols : row * slice.cols + begin;
    };
    std::vector<double> piece(rows * cols), against(old.empty() ? 0 : piece.size());
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(values.begin() + at(row), cols, piece.begin() + row * cols);
      if (!old.empty())
        std::copy_n(old.begin() + at(row), cols, against.begin() + row * cols);
    }
    const std::string name = slice.name + (choice.parts.size() > 1 ? kPartNames[part] : "");
    auto done = projectValues(name, rows, cols, piece, entry.dtype, job.settings, pool, against);
    if (!done)
      return done.takeError().within("'" + job.in + "'");
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(piece.begin() + row * cols, cols, values.begin() + at(row));
    (done->chosen ? counts.projected : counts.zero) += 1;
    reports.push_back(toJson(*done));
    observe(*done);
    begin += size;
  }
  return Status::success();
}

Status Transformation::projectTensor(const SafetensorsFile &file, const Entry &entry,
                                     const Choice &choice, PendingFile &output) {
  const bool stack = entry.shape.size() == 3;
  const int64_t count = stack ? entry.shape[0] : 1;
  const int64_t rows = entry.shape[stack], cols = entry.shape[stack + 1], size = rows * cols;
  const auto read = [&](const SafetensorsFile &from, const Entry &tensor, int64_t item,
                        std::vector<double> &values) -> Status {
    std::string bytes(static_cast<size_t>(size) * sizeOf(tensor.dtype), '\0');
    Status done = from.read(tensor.begin + item * bytes.size(), bytes.data(), bytes.size());
    values.resize(size);
    readValues(tensor.dtype, bytes.data(), values);
    return done;
  };
  if (const std::string_view part = fusedPartOf(entry.name);
      !part.empty() && choice.parts.size() == 1 && counts.fused.empty()) {
    counts.fused = entry.name;
    counts.fusedPart = part;
  }
  for (int64_t item = 0; item < count; ++item) {
    Slice slice{entry.name + (stack ? "[" + std::to_string(item) + "]" : ""), rows, cols};
    std::vector<double> values, old;
    if (Status done = read(file, entry, item, values); !done)
      return done;
    if (older) {
      auto [oldFile, oldEntry] = older->find(entry.name);
      if (Status done = read(*oldFile, *oldEntry, item, old); !done)
        return done;
    }
    if (Status done = projectSlice(slice, entry, choice, values, old); !done)
      return done;
    std::string bytes(static_cast<size_t>(size) * sizeOf(entry.dtype), '\0');
    writeValues(entry.dtype, values, bytes.data());
    if (Status written = output.write(bytes); !written)
      return written;
  }
  return Status::success();
}

Status Transformation::writeShard(const ModelFiles::Shard &shard, PendingFile &output,
                                  size_t &next) {
  if (Status done = copy(shard.file, 0, shard.file.dataBegin(), output); !done)
    return done;
  for (const Entry &entry : shard.file.entries()) {
    const Choice &choice = choices[next++];
    Status done = choice.chosen ? projectTensor(shard.file, entry, choice, output)
                                : copy(shard.file, entry.begin, entry.end, output);
    if (!done)
      return done;
    if (!choice.chosen)
      reports.push_back(toJson(entry.name, entry.shape, choice.why));
  }
  return output.finish();
}

Status Transformation::commit() {
  for (PendingFile &output : outputs)
    if (Status done = output.commit(); !done)
      return done;
  for (std::optional<PendingFile> *file : {&index, &report})
    if (*file)
      if (Status done = (*file)->commit(); !done)
        return done;
  return Status::success();
}

/// Creates the output directory, and sets `made` if it is new.
Status Transformation::makeDirectory(bool &made) {
  made = model.folder && ::mkdir(job.out.c_str(), 0777) == 0;
  if (model.folder && !made && errno != EEXIST)
    return systemError(job.out, "cannot create the directory");
  return Status::success();
}

/// Writes everything up to the point where the output files appear.
Status Transformation::write() {
  if (Status done = createOutputs(); !done)
    return done;
  size_t next = 0;
  for (size_t i = 0; i < model.shards.size(); ++i)
    if (Status done = writeShard(model.shards[i], outputs[i], next); !done)
      return done;
  if (index)
    if (Status done = index->write(model.index); !done)
      return done;
  return report ? report->write(textOf(reports)) : Status::success();
}

Status Transformation::run() {
  if (!job.report.empty() && job.report == job.out)
    return makeError("--report: expected a file other than --out, found '", job.report, "'");
  if (Status done = openAll(); !done)
    return done;
  if (Status loaded = blas::load(); !loaded)
    return loaded;
  std::error_code ignored;
  counts.inPlace = std::filesystem::equivalent(job.in, job.out, ignored);
  bool made = false;
  if (Status done = makeDirectory(made); !done)
    return done;
  Status done = write();
  if (done)
    return commit();
  outputs.clear();
  index.reset();
  if (made)
    ::rmdir(job.out.c_str());
  return done;
}

} // namespace

Expected<ModelOutcome> reinitModel(const ModelJob &job, ParallelFor &pool,
                                   const std::function<void(const MatrixReport &)> &observe) {
  Transformation transformation(job, pool, observe);
  if (Status done = transformation.run(); !done)
    return done.takeError();
  return transformation.outcome();
}

} // namespace pe::reinit

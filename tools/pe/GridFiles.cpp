//===- GridFiles.cpp - The inputs of runs and the files of their results ---===//
#include "tools/pe/GridState.h"

#include "runtime/core/File.h"
#include "runtime/core/Hash.h"
#include "tools/pe/CellFile.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

namespace pe::cli {

Expected<train::Kernels> Grid::kernelsOf(const std::string &activation) {
  if (auto found = kernels.find(activation); found != kernels.end())
    return found->second;
  auto made = train::prepareTraining(activation);
  if (made)
    kernels[activation] = *made;
  return made;
}

Expected<std::vector<std::shared_ptr<const train::Corpus>>>
Grid::corporaOf(const train::TrainConfig &own) {
  std::vector<std::shared_ptr<const train::Corpus>> result;
  for (const train::PhaseConfig &phase : own.phases) {
    auto &corpus = corpora[std::string(own.vocabulary.unitName()) +
                           std::to_string(own.vocabulary.size()) + ":" + phase.data];
    if (!corpus) {
      auto read = train::readData(phase.data, own.vocabulary);
      if (!read)
        return read.takeError();
      corpus = std::make_shared<const train::Corpus>(*std::move(read));
    }
    result.push_back(corpus);
  }
  lastText = result.back();
  return result;
}

/// Returns a string with everything that determines a run's result.
Expected<std::string> Grid::identityOf(train::TrainOptions &options, const std::string &what) {
  const train::TrainConfig &own = options.config;
  auto texts = corporaOf(own);
  if (!texts)
    return texts.takeError();
  auto encoding = train::compileEncoding(findFile(own.encoding), own);
  if (!encoding)
    return encoding.takeError().within(what);
  if (Status status = train::addContentHashes(own, *encoding, *texts, options.identity); !status)
    return status.takeError().within(what);
  std::string all;
  for (const auto &[key, value] : options.identity)
    if (!options.identity.count(key + ".sha256"))
      all += key + "=" + value + "\n";
  return all;
}

/// Returns a file name for a row: letters, digits and a few punctuation marks.
static std::string fileNameOf(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '=' && c != '.' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

/// Sets the directory of each start's checkpoint, named by a hash of everything that determines it,
/// and lets rows begin there.
Status Grid::nameStarts() {
  for (Start &start : starts) {
    auto identity = identityOf(start.options, "start '" + start.name + "'");
    if (!identity)
      return identity.takeError();
    train::TrainConfig &own = start.options.config;
    own.checkpoint = config.out + "/starts/" + fileNameOf(start.name) + "-seed" + start.seed + "-" +
                     sha256(*identity).substr(0, 12);
    own.resume = own.resumeIfAny = true;
    for (Cell &cell : cells)
      if (cell.seed == start.seed && cell.options.config.from == start.name)
        cell.options.config.from = own.checkpoint;
  }
  return Status::success();
}

/// Sets the file of a cell's result, named by a hash of everything that determines it.
Status Grid::name(Cell &cell) {
  auto identity = identityOf(cell.options, rows[cell.row].name);
  if (!identity)
    return identity.takeError();
  const train::TrainConfig &own = cell.options.config;
  std::string all = *identity;
  for (int64_t length : own.evaluation.lengths)
    all += std::to_string(length) + ",";
  all += std::to_string(own.evaluationInterval);
  if (experiment.timesForward)
    all += ",forward-time";
  for (const std::string &column : experiment.more)
    all += "," + column;
  cell.key = sha256(all);
  cell.file = config.out + "/cells/" + fileNameOf(rows[cell.row].name) + "-seed" + cell.seed + "-" +
              cell.key.substr(0, 12) + ".json";
  auto text = readFile(cell.file);
  std::optional<FinishedCell> found = text ? fromCellText(*text) : std::nullopt;
  if (!found || found->key != cell.key)
    return Status::success();
  const bool isOther = found->build != build;
  counts.ofOtherBuilds += isOther;
  if (isOther && experiment.needsThisBuild)
    return Status::success();
  counts.finishedBefore += 1;
  cell.result = std::move(found->result);
  cell.result->name = rows[cell.row].name;
  return Status::success();
}

/// Reads the results of earlier commands.
Status Grid::findFinished() {
  auto hash = buildOfPe();
  if (!hash)
    return hash.takeError();
  build = *std::move(hash);
  counts.all = cells.size();
  for (Cell &cell : cells)
    if (Status named = name(cell); !named)
      return named;
  finished = counts.finishedBefore;
  const char *folder = config.out.c_str();
  if (finished > 0)
    std::fprintf(stderr, "%zu of %zu runs are in '%s' already\n", finished, cells.size(), folder);
  if (counts.ofOtherBuilds > 0)
    std::fprintf(stderr, "%zu of the runs in '%s' were trained by another build of pe%s\n",
                 counts.ofOtherBuilds, folder,
                 experiment.needsThisBuild
                     ? " and are trained again"
                     : ("; delete '" + config.out + "/cells' to train them again").c_str());
  if (experiment.needsThisBuild)
    counts.ofOtherBuilds = 0;
  return Status::success();
}

} // namespace pe::cli

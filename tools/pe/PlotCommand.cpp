//===- PlotCommand.cpp - pe plot ---===//
#include "runtime/chart/SvgWriter.h"
#include "runtime/core/File.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Plot.h"
#include "tools/pe/Run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace pe::cli {
namespace {

namespace fs = std::filesystem;

/// A kind of plot. One of the two functions draws it.
struct Kind {
  const char *name, *about;
  Pictures (*ofEncoding)(const PlottedEncoding &) = nullptr;
  Pictures (*ofRun)(const PlottedRun &) = nullptr;
};

const Kind kKinds[] = {
    {"bias", "of a FILE: the bias of every query and key, a heatmap per head (--length=64)",
     plotBias},
    {"distance", "of a FILE: the bias by distance, on a logarithmic axis (from the last --query)",
     plotDistance},
    {"parts", "of a FILE: a value per query plus one per key, both by position (--length=64)",
     plotParts},
    {"query", "of a FILE: the bias of one query, a picture for each --query", plotQueries},
    {"grid", "of a FILE: one query of an image of N x N tokens (--grid=N), by row and column",
     plotGrid},
    {"function", "of a FILE: the function that a pe.mlp has learned, such as FIRE's f",
     plotFunction},
    {"rotation", "of a FILE: cosines and sines that rotate queries and keys (--length=64)",
     plotRotation},
    {"score", "of a FILE: the score function of a pe.score_fn", plotScore},
    {"mask", "of a FILE: the unmasked pairs (--length=64)", plotMask},
    {"weights", "of a FILE: weights of random queries and keys (--length=32)", plotWeights},
    {"difference", "of a FILE: how the encoding changes these weights (--length=32)",
     plotDifference},
    {"flat", "of a FILE: the weights of one query if all scores are equal (--length=32)", plotFlat},
    {"rows", "of a FILE: results with one value per query, such as the log-sum-exp (--length=32)",
     plotRows},
    {"embedding", "of a FILE: the embedding of tokens, by position and dimension (--length=128)",
     plotEmbedding},
    {"dimensions", "of a FILE: some dimensions (--dims) of it, by position (--length=128)",
     plotDimensions},
    {"training", "of a RUN: the training loss by step", nullptr, plotTraining},
    {"lengths", "of a RUN: bits per character by context length", nullptr, plotLengths},
    {"roofline", "of a RUN: speed below the machine's limits (pe bench --json)", nullptr,
     plotRoofline},
};

std::vector<std::string> kindNames() {
  std::vector<std::string> names;
  for (const Kind &kind : kKinds)
    names.push_back(kind.name);
  return names;
}

/// Returns true if the file is a run: a directory, or JSON.
Expected<bool> isRun(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return true;
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  const size_t first = text->find_first_not_of(" \t\r\n");
  return first != std::string::npos && (*text)[first] == '{' &&
         fs::path(path).extension() != ".mlir";
}

class Plot {
public:
  explicit Plot(PlotOptions options) : options(std::move(options)) {}
  Status execute();

private:
  Status drawAll(bool ofRun, const std::function<Pictures(const Kind &)> &draw);
  Status write(const std::vector<Picture> &pictures);
  Status checkOptions() const;

  PlotOptions options;
};

Status Plot::checkOptions() const {
  const std::vector<std::string> names = kindNames();
  for (const std::string &kind : options.kinds)
    if (std::find(names.begin(), names.end(), kind) == names.end())
      return makeError("--kind: expected ", joinChoices(names), ", found '", kind, "'",
                       suggestChoice(kind, names));
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                     " (0: one per core), found ", options.threads);
  if (options.layer < 0)
    return makeError("--layer: expected 0 or more, found ", options.layer);
  std::error_code ignored;
  if (fs::exists(options.out, ignored) && !fs::is_directory(options.out, ignored))
    return makeError("--out: expected a directory, found the file '", options.out, "'");
  return Status::success();
}

Status Plot::write(const std::vector<Picture> &pictures) {
  std::error_code failure;
  fs::create_directories(options.out, failure);
  if (failure)
    return makeError("--out: cannot create '", options.out, "': ", failure.message());
  for (const Picture &picture : pictures) {
    const std::string stem = (fs::path(options.out) / picture.name).lexically_normal().string();
    if (Status written = writeFileAtomically(stem + ".csv", picture.csv); !written)
      return written;
    if (Status written = writeFileAtomically(stem + ".svg", chart::asFile(picture.svg)); !written)
      return written;
    std::printf("%s.svg %s.csv\n", stem.c_str(), stem.c_str());
  }
  return Status::success();
}

/// Draws all requested kinds, or all kinds that apply.
Status Plot::drawAll(bool ofRun, const std::function<Pictures(const Kind &)> &draw) {
  const auto isAsked = [&](const Kind &kind) {
    return std::find(options.kinds.begin(), options.kinds.end(), kind.name) != options.kinds.end();
  };
  Status last = Status::success();
  bool any = false;
  for (const Kind &kind : kKinds) {
    const bool applies = ofRun ? kind.ofRun != nullptr : kind.ofEncoding != nullptr;
    if (!applies && isAsked(kind))
      return makeError("--kind: ", kind.name, " is a picture of ",
                       ofRun ? "an encoding, found the run '" : "a run, found the encoding '",
                       options.file, "'");
    if (!applies || (!options.kinds.empty() && !isAsked(kind)))
      continue;
    Pictures pictures = draw(kind);
    if (!pictures) {
      if (!options.kinds.empty())
        return pictures.takeError();
      // An error about an option is more specific than a kind that does not apply.
      const auto isOfOption = [](const Error &error) {
        return error.getMessage().starts_with("--");
      };
      if (Error error = pictures.takeError();
          last || isOfOption(error) || !isOfOption(last.error()))
        last = std::move(error);
      continue;
    }
    any = true;
    if (Status written = write(*pictures); !written)
      return written;
  }
  return any ? Status::success() : last;
}

Status Plot::execute() {
  if (Status good = checkOptions(); !good)
    return good;
  if (Status exists = checkFile(options.file); !exists)
    return exists;
  auto run = isRun(options.file);
  if (!run)
    return run.error();
  if (*run) {
    PlottedRun plotted;
    plotted.path = options.file;
    const fs::path path = fs::absolute(options.file).lexically_normal();
    plotted.name =
        path.has_filename() ? path.stem().string() : path.parent_path().filename().string();
    auto file = train::readRun(options.file);
    if (!file)
      return file.error();
    plotted.file = *std::move(file);
    return drawAll(true, [&](const Kind &kind) { return kind.ofRun(plotted); });
  }
  auto encoding = PlottedEncoding::load(options);
  if (!encoding)
    return encoding.error();
  return drawAll(false, [&](const Kind &kind) { return kind.ofEncoding(*encoding); });
}

} // namespace

Action addPlot(CLI::App &app) {
  auto options = std::make_shared<PlotOptions>();
  app.add_option(
         "FILE", options->file,
         "An encoding (a .mlir source, a package or the name of one of pe's examples), or a "
         "RUN: a log of pe train, results.json of pe demo, a table of pe bench --json, or "
         "a directory of these")
      ->required()
      ->transform(findFile);
  app.add_option("--entry", options->entry, "Public function to use; default: the only one");
  app.add_option("--kind", options->kinds, "Kinds of plots (below); default: all that apply")
      ->delimiter(',');
  app.add_option("--out", options->out, "Directory for the .svg and .csv files")
      ->capture_default_str();
  app.add_option("--length", options->length,
                 "Number of positions; the default depends on the kind (below)");
  app.add_option("--query", options->queries,
                 "Query positions to plot; default: the middle of the length, and for a bias by "
                 "distance also 128 and 8192")
      ->delimiter(',');
  app.add_option("--grid", options->grid, "Side N of an image of N x N tokens (kind grid)");
  app.add_flag("--full-range", options->fullRange,
               "Plot all logits; default: only those at most 30 below the largest");
  app.add_flag("--shared-scale", options->sharedScale,
               "Use one color scale for all heads; default: one per head");
  app.add_option("--heads", options->heads, "Heads to plot; default: the first eight")
      ->delimiter(',');
  app.add_option("--dims", options->dims,
                 "Dimensions of an embedding to plot; default: five of them")
      ->delimiter(',');
  app.add_option(
      "--shape", options->shape,
      "Sizes without --in: h=8,hkv=8,d=64, dm=64 for tokens, and axes that the file names");
  app.add_option("--in", options->in,
                 "Parameters (safetensors), or a checkpoint of pe train (its directory or file) "
                 "with --layer");
  app.add_option("--layer", options->layer, "Layer of the checkpoint")->capture_default_str();
  app.add_option("--random", options->seed,
                 "Seed of the parameters (by their pe.init, without --in) and of the data")
      ->capture_default_str();
  app.add_option("--threads", options->threads, "Threads; default: one per core");
  std::string kinds = "Kinds:\n";
  for (const Kind &kind : kKinds)
    kinds += std::string("  ") + kind.name + std::string(11 - std::string(kind.name).size(), ' ') +
             kind.about + "\n";
  app.footer(kinds + "Example: pe plot examples/encodings/fire.mlir --kind=distance,function "
                     "--out=pictures");
  return [options] {
    Status status = Plot(*options).execute();
    return status ? 0 : reportError("plot", status.error());
  };
}

} // namespace pe::cli

//===- pe-fuzz-programs.cpp - Test targets with generated programs --------===//
//
//   pe-fuzz-programs --seed=1 --count=100 [--jobs=2] [--timeout=120] [--targets=reference,cpu,...]
//   pe-fuzz-programs --print=SEED          prints the program and the options of `pe run`
//   pe-fuzz-programs --minimize=SEED       prints a reduced program that fails in the same way
//
// Prints the grouped findings and a last line with counts, also after Ctrl-C (exit status 130).
// Exits with 1 if anything was found, or if too many programs were refused for the run to be
// meaningful.
//
//===----------------------------------------------------------------------===//

#include "fuzz/Generate.h"
#include "fuzz/Judge.h"
#include "fuzz/Minimize.h"
#include "fuzz/Print.h"
#include "fuzz/Triage.h"
#include "fuzz/Workers.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

namespace {

using namespace pe;
using namespace pe::fuzz;

/// The largest fraction of programs that may be refused or ill-conditioned.
constexpr double kMostRefused = 0.15;

struct Options {
  uint64_t seed = 1, count = 100;
  std::optional<uint64_t> print, minimize;
  std::vector<std::string> targets;
  Limits limits;
};

//===----------------------------------------------------------------------===//
// Serialization of a verdict between processes
//===----------------------------------------------------------------------===//

constexpr char kField = '\x1f';
/// Marks a field that is a documented limit.
constexpr char kLimit = '\x1e';

std::string encode(const Verdict &verdict) {
  std::string text = verdict.refusal + kField + (verdict.isIllConditioned ? "1" : "") + kField +
                     (verdict.wasCheckedTwice ? "1" : "");
  for (const std::string &limit : verdict.limits)
    text += kField + std::string(1, kLimit) + limit;
  for (const Finding &finding : verdict.findings)
    text += kField + finding.group + kField + finding.detail;
  return text;
}

Verdict decode(const std::string &text) {
  std::vector<std::string> fields(1);
  for (char c : text)
    if (c == kField)
      fields.emplace_back();
    else
      fields.back() += c;
  fields.resize(std::max<size_t>(fields.size(), 3));
  Verdict verdict;
  verdict.refusal = fields[0];
  verdict.isIllConditioned = !fields[1].empty();
  verdict.wasCheckedTwice = !fields[2].empty();
  size_t n = 3;
  for (; n < fields.size() && fields[n].starts_with(kLimit); ++n)
    verdict.limits.push_back(fields[n].substr(1));
  for (; n + 1 < fields.size(); n += 2)
    verdict.findings.push_back({fields[n], fields[n + 1]});
  return verdict;
}

/// Returns the findings of an outcome; a crash is a finding.
Verdict verdictOf(const Outcome &outcome) {
  if (outcome.kind == Outcome::Kind::Finished)
    return decode(outcome.text);
  Verdict verdict;
  verdict.findings.push_back({groupOfDeath(outcome), outcome.text});
  return verdict;
}

std::string judgeInProcess(const Program &program, const std::vector<std::string> &targets,
                           const Progress &progress) {
  auto judge = Judge::create(targets);
  if (!judge) {
    std::fprintf(stderr, "%s\n", judge.error().render("pe-fuzz-programs").c_str());
    _exit(2);
  }
  return encode(judge->judge(program, progress));
}

//===----------------------------------------------------------------------===//
// A range of seeds
//===----------------------------------------------------------------------===//

struct Tally {
  Triage triage;
  std::map<std::string, int> limits;
  /// The seeds of refused programs, by message.
  std::map<std::string, std::vector<uint64_t>> refusals;
  std::vector<uint64_t> illConditioned;
  uint64_t programs = 0, refused = 0, checkedTwice = 0, failed = 0;
  double slowest = 0.0;
  uint64_t slowestSeed = 0;

  void add(const Outcome &outcome) {
    ++programs;
    Verdict verdict = verdictOf(outcome);
    for (const Finding &finding : verdict.findings)
      triage.add(finding.group, outcome.task, finding.detail);
    failed += !verdict.findings.empty();
    for (const std::string &limit : verdict.limits)
      ++limits[limit];
    if (!verdict.refusal.empty()) {
      ++refused;
      refusals[verdict.refusal].push_back(outcome.task);
    }
    if (verdict.isIllConditioned)
      illConditioned.push_back(outcome.task);
    checkedTwice += verdict.wasCheckedTwice;
    if (outcome.seconds > slowest) {
      slowest = outcome.seconds;
      slowestSeed = outcome.task;
    }
  }
};

/// Formats the smallest seeds.
std::string listSeeds(std::vector<uint64_t> seeds) {
  std::ranges::sort(seeds);
  std::string text;
  for (size_t n = 0; n < std::min<size_t>(seeds.size(), 8); ++n)
    text += (n ? " " : "") + std::to_string(seeds[n]);
  return text + (seeds.size() > 8 ? " ..." : "");
}

int runSeeds(const Options &options) {
  Tally tally;
  auto task = [&](uint64_t seed, const Progress &progress) {
    progress("generate");
    return judgeInProcess(generateProgram(seed),
                          options.targets.empty() ? targetsOfSeed(seed) : options.targets,
                          progress);
  };
  const uint64_t last = options.seed + options.count;
  const bool isWhole = runTasks(options.seed, last, 1, options.limits, task,
                                [&](const Outcome &outcome) { tally.add(outcome); });
  std::fputs(tally.triage.report("pe-fuzz-programs --minimize=").c_str(), stdout);
  for (const auto &[message, seeds] : tally.refusals)
    std::printf("%zu refused (%s): %s\n", seeds.size(), listSeeds(seeds).c_str(), message.c_str());
  if (!tally.illConditioned.empty())
    std::printf("%zu ill-conditioned (%s)\n", tally.illConditioned.size(),
                listSeeds(tally.illConditioned).c_str());
  for (const auto &[message, count] : tally.limits)
    std::printf("%d beyond a limit of %s\n", count, message.c_str());
  auto number = [](uint64_t count) { return static_cast<unsigned long>(count); };
  if (!isWhole)
    std::printf("interrupted after %lu of %lu programs\n", number(tally.programs),
                number(options.count));
  std::printf("slowest: seed %lu, %.1f s\n", number(tally.slowestSeed), tally.slowest);
  std::printf(
      "seeds %lu to %lu: %lu programs, %lu refused, %lu ill-conditioned, %lu evaluated twice, "
      "%lu failed\n",
      number(options.seed), number(last - 1), number(tally.programs), number(tally.refused),
      number(tally.illConditioned.size()), number(tally.checkedTwice), number(tally.failed));
  if (!isWhole)
    return 130;
  if (double(tally.refused + tally.illConditioned.size()) >
      kMostRefused * double(options.count) + 2) {
    std::printf("too few programs were compared\n");
    return 1;
  }
  return tally.triage.isEmpty() ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// One seed
//===----------------------------------------------------------------------===//

Verdict judgeAlone(const Program &program, const std::vector<std::string> &targets,
                   const Limits &limits) {
  Verdict verdict;
  auto task = [&](uint64_t, const Progress &progress) {
    return judgeInProcess(program, targets, progress);
  };
  runTasks(0, 1, 1, limits, task, [&](const Outcome &outcome) { verdict = verdictOf(outcome); });
  return verdict;
}

void printWithCommand(const Program &program, const std::string &target) {
  size_t colon = target.find(':');
  std::string name = target.substr(0, colon);
  std::string run = name == "loops" ? "--lowering=loops" : "--target=" + name;
  if (colon != std::string::npos) {
    const size_t second = target.find(':', colon + 1);
    run += " --dtype=" + target.substr(colon + 1, second - colon - 1);
    if (second != std::string::npos)
      run += " --schedule=" + target.substr(second + 1);
  }
  std::printf("// pe run FILE %s %s\n%s", printRunOptions(program).c_str(), run.c_str(),
              printProgram(program).c_str());
}

/// Returns the first target that the group names, or all targets if the group compares targets.
std::vector<std::string> targetsOfGroup(const std::string &group,
                                        const std::vector<std::string> &all) {
  if (group.find(": refuses what others run") != std::string::npos)
    return all;
  std::string longest;
  for (const std::string &target : all)
    if ((group.starts_with(target + ":") || group.starts_with(target + ",") ||
         group.find(" " + target + ":") == group.find(' ')) &&
        target.size() > longest.size())
      longest = target;
  return longest.empty() ? all : std::vector{longest};
}

/// Returns the text of a group after its targets.
std::string complaintOf(const std::string &group) {
  size_t colon = group.find(": ");
  return colon == std::string::npos ? group : group.substr(colon);
}

int minimizeSeed(const Options &options) {
  const uint64_t seed = *options.minimize;
  Program program = generateProgram(seed);
  std::vector<std::string> targets =
      options.targets.empty() ? targetsOfSeed(seed) : options.targets;
  Verdict verdict = judgeAlone(program, targets, options.limits);
  if (verdict.findings.empty()) {
    std::printf("seed %lu does not fail%s%s\n", static_cast<unsigned long>(seed),
                verdict.refusal.empty() ? "" : "; refused: ", verdict.refusal.c_str());
    return 0;
  }
  const std::string group = verdict.findings.front().group;
  targets = targetsOfGroup(group, targets);
  std::printf("// %s\n", group.c_str());
  auto fails = [&](const Program &candidate) {
    Verdict found = judgeAlone(candidate, targets, options.limits);
    return std::ranges::any_of(found.findings, [&](const Finding &finding) {
      return complaintOf(finding.group) == complaintOf(group);
    });
  };
  Program smallest = minimize(program, fails);
  printWithCommand(smallest, targets.size() == 1 ? targets[0] : "cpu");
  for (const Finding &finding : judgeAlone(smallest, targets, options.limits).findings)
    std::printf("\n%s\n%s\n", finding.group.c_str(), finding.detail.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app(
      "Generate programs of the pe dialect from seeds and compare every target with the reference");
  app.add_option("--seed", options.seed, "first seed");
  app.add_option("--count", options.count, "number of seeds");
  app.add_option("--print", options.print, "print the program of this seed");
  app.add_option("--minimize", options.minimize, "reduce the program of this seed");
  app.add_option("--targets,--target", options.targets,
                 "reference, loops, cpu, gpu-emulator, gpu-emulator:bf16 ... (default: by seed)")
      ->delimiter(',');
  app.add_option("--jobs", options.limits.jobs, "number of parallel processes")
      ->check(CLI::Range(1, 1024));
  app.add_option("--timeout", options.limits.seconds, "seconds per program");
  CLI11_PARSE(app, argc, argv);
  options.limits.megabytes = 8192;
  if (options.print) {
    printWithCommand(generateProgram(*options.print), "cpu");
    return 0;
  }
  return options.minimize ? minimizeSeed(options) : runSeeds(options);
}

//===- main.cpp - The program `pe` ---===//
//
// Links only the runtime. The compiler is a library that is loaded when a source must be compiled.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/Compiler.h"
#include "runtime/core/Error.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"

#include "pe/pe.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <unistd.h>

/// Prints, once per run and after all other output, the reason why the disk cache is not used.
static void noteCache() {
  const std::string problem = pe::api::Compiler::instance().diskCache().problem();
  if (!problem.empty())
    std::fprintf(stderr, "pe: note: %s; nothing is cached\n", problem.c_str());
}

/// Returns the exit status. It is an error if output could not be written (a full disk, a closed
/// pipe).
static int finish(const std::string &command, int status) {
  noteCache();
  errno = 0;
  if (status != 0 || (std::fflush(stdout) == 0 && !std::ferror(stdout)))
    return status;
  // stdio does not store the reason of an earlier failure, so another write retrieves it. The
  // output is incomplete in any case.
  if (!errno && ::write(STDOUT_FILENO, "\n", 1) == 1)
    errno = EIO;
  return pe::cli::reportError(command, pe::systemError("standard output", "cannot write"));
}

int pe::cli::reportError(const std::string &command, const Error &error) {
  std::fprintf(stderr, "%s\n", error.render("pe " + command).c_str());
  return 1;
}

/// Returns the error for a word that is not a command.
static pe::Error explainCommand(const CLI::App &app, const std::string &word,
                                const std::vector<std::string> &known) {
  if (word.empty())
    return pe::makeError("expected a command, found none; see pe --help");
  if (word.starts_with("-"))
    return pe::cli::explainMissingCommand(app, word);
  const std::string hint = pe::suggestChoice(word, known);
  return pe::makeError("unknown command '", word, "'", hint.empty() ? "; see pe --help" : hint);
}

/// Reports errors before any file is read: no command, an unknown command, or errors in its
/// options.
static std::optional<int> refuse(const CLI::App &app, const std::vector<std::string> &arguments) {
  using namespace pe;
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (name == "--help" || name == "-h" || name == "--version")
    return std::nullopt;
  std::vector<std::string> known = {"--help", "--version"};
  for (const CLI::App *command : app.get_subcommands(nullptr)) {
    known.push_back(command->get_name());
    if (command->get_name() != name)
      continue;
    Status mistake = cli::findMistake(*command, name, {arguments.begin() + 1, arguments.end()});
    return mistake ? std::nullopt : std::optional(cli::reportError(name, mistake.error()));
  }
  std::fprintf(stderr, "%s\n", explainCommand(app, name, known).render("pe").c_str());
  return 1;
}

int main(int argc, char **argv) {
  using namespace pe::cli;
  // Exceeding the size limit of a file must be an error of that file and not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("pe compiles positional encodings.\n"
               "Write an encoding in the pe dialect; pe computes it exactly, with its gradients, "
               "inside one\n"
               "fused attention kernel, in the cheapest way that it finds.",
               "pe");
  app.require_subcommand(1);
  app.set_version_flag("--version", "pe " + pe::version());
  app.footer("pe COMMAND --help describes a command. First steps:\n"
             "  pe run alibi --random=1 --grad --check\n"
             "  pe explain alibi");
  std::vector<std::pair<CLI::App *, Action>> actions;
  for (auto [name, about, add] :
       {std::tuple{"run", "Compile a file and run it once", &addRun},
        std::tuple{"compile", "Compile a file and write the result of one stage", &addCompile},
        std::tuple{"explain", "Show the structure, kernel and cost that the compiler found",
                   &addExplain},
        std::tuple{"doctor", "Check that this machine meets the requirements of pe", &addDoctor},
        std::tuple{"bench", "Check encodings, then time them against unfused attention", &addBench},
        std::tuple{"plot", "Plot an encoding or a training run (SVG, and CSV of the numbers)",
                   &addPlot},
        std::tuple{"represent", "Rewrite known biases as networks of progressive interpolation",
                   &addRepresent},
        std::tuple{"reinit", "Project the weights of a checkpoint onto scaled isometries",
                   &addReinit},
        std::tuple{"ptx", "Check a kernel in PTX, or execute it on this CPU", &addPtx},
        std::tuple{"train", "Train a small language model with an encoding", &addTrain},
        std::tuple{"compare", "Train the same model in several ways and compare them", &addCompare},
        std::tuple{"demo", "Train a model per encoding on real text and compare them", &addDemo}}) {
    CLI::App *command = app.add_subcommand(name, about);
    actions.emplace_back(command, add(*command));
  }
  for (const char *name : {"train", "compare", "demo"})
    app.get_subcommand(name)->group("Training");
  if (std::optional<int> status = refuse(app, {argv + 1, argv + argc}))
    return *status;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return reportError(argv[1], describe(error, argv[1]));
  }
  for (auto &[command, action] : actions)
    if (command->parsed())
      return finish(command->get_name(), action());
  return 1;
}

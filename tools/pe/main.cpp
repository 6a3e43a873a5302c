//===- main.cpp - the program `pe` ---===//
//
// Links the runtime only; the compiler is a library that is loaded when a source must be
// compiled. `pe train`, `pe demo` and `pe reinit` read their own flags (runtime/train).
//
//===----------------------------------------------------------------------===//
#include "tools/pe/Commands.h"
#include "tools/pe/TrainCommands.h"

#include "pe/pe.h"

#include <cctype>
#include <cstdio>

int pe::cli::reportError(const std::string &command, const Error &error) {
  std::fprintf(stderr, "%s\n", error.render("pe " + command).c_str());
  return 1;
}

int main(int argc, char **argv) {
  using namespace pe::cli;
  if (argc > 1)
    if (std::optional<int> status = runTrainCommand(argv[1], {argv + 2, argv + argc}))
      return *status;
  CLI::App app(
      "pe: positional encodings, compiled.\n"
      "Write an encoding in the pe dialect; pe finds the cheapest exact way to compute it\n"
      "and its gradients inside one fused attention kernel.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "pe " + pe::version());
  app.footer("Also: pe train, pe demo (each with --help). First steps: "
             "pe run examples/encodings/alibi.mlir --random=1 --grad --check");
  std::vector<std::pair<CLI::App *, Action>> actions;
  for (auto [name, about, add] :
       {std::tuple{"run", "Compile a file and run it once", &addRun},
        std::tuple{"compile", "Write a file at one stage of compilation", &addCompile},
        std::tuple{"explain", "Say which structure and kernel the compiler found", &addExplain},
        std::tuple{"doctor", "Say what this machine has of what pe needs", &addDoctor},
        std::tuple{"bench", "Time encodings against unfused attention, checked first",
                   &addBench}}) {
    CLI::App *command = app.add_subcommand(name, about);
    actions.emplace_back(command, add(*command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::string who = "pe";
    for (auto &[command, action] : actions)
      if (command->parsed())
        who += " " + command->get_name();
    std::string message = error.what();
    message[0] = static_cast<char>(std::tolower(message[0]));
    std::fprintf(stderr, "%s: error: %s; see %s --help\n", who.c_str(), message.c_str(),
                 who.c_str());
    return 1;
  }
  for (auto &[command, action] : actions)
    if (command->parsed())
      return action();
  return 1;
}

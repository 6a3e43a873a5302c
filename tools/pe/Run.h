//===- Run.h - Finding, compiling and calling a file ---===//
//
// The parts that `pe run`, `pe compile`, `pe explain` and `pe bench` share: how a file is found,
// compiled and called.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_RUN_H
#define PE_TOOLS_PE_RUN_H

#include "runtime/api/ProgramState.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/plan/Target.h"
#include "tools/pe/Inputs.h"

namespace pe::cli {

/// The options for the compilation of a file.
struct FileOptions {
  std::string file, entry, target = "cpu", chip, features, lowering = "cpu";
  std::string dtype; // empty: f32
  int64_t headDim = 64, valueDim = 64;
  bool grad = false;
  bool earlyExit = true;
  int64_t pairsMemory = 1024; // in MiB
  bool lineTables = false;
  std::string schedule; // fields, separated by commas

  bool isFor(plan::Target one) const { return target == nameOf(one); }
};

/// Adds FILE, --entry, --target, --chip, --dtype and the developer's --features, --lowering.
void addFileOptions(CLI::App &app, FileOptions &options);
/// Adds --early-exit=on|off.
void addEarlyExit(CLI::App &app, FileOptions &options);

/// Returns the file itself if it exists; otherwise the example of pe with this name, for NAME,
/// NAME.mlir and examples/encodings/NAME.mlir in any directory; otherwise `file`.
std::string findFile(const std::string &file);
/// Reports an error if the result of findFile names an example that does not exist.
Status checkFile(const std::string &file);
/// Reads a source or a package. If the file does not exist, reports the error of checkFile.
Expected<std::shared_ptr<const api::ProgramState>> loadFile(const std::string &file,
                                                            const std::string &entry);
/// Returns the experiment itself if it exists; otherwise the experiment of pe with this name, for
/// NAME and examples/NAME in any directory.
std::string findExperiment(const std::string &name);
/// Reports an error if the result of findExperiment is neither a file nor a directory with
/// experiment.json. The error names the most similar experiment of pe.
Status checkExperiment(const std::string &name);
/// Reports an error if the directory lacks one of these encodings. It names the most similar one.
Status checkEncodings(const std::string &folder, const std::vector<std::string> &names);
/// Returns "examples/encodings" of the current directory, or that of pe.
std::string findExamples();
/// Reports an error if the directory of the output file does not exist. Accepts "".
Status checkOutput(const std::string &option, const std::string &file);

/// Reports an unknown target or type in one line.
Status checkTarget(const FileOptions &options);
CompileOptions compileOptionsOf(const FileOptions &options);

} // namespace pe::cli

#endif // PE_TOOLS_PE_RUN_H

//===- Run.h - one call of a compiled file ---===//
//
// `pe run`, `pe compile`, `pe explain` and `pe bench` share how a file is named, compiled and
// called.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_RUN_H
#define PE_TOOLS_PE_RUN_H

#include "runtime/api/ProgramState.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "tools/pe/Inputs.h"

namespace pe::cli {

/// What a file is compiled for.
struct FileOptions {
  std::string file, entry, target = "cpu", chip, features, lowering = "cpu";
  std::string dtype; // empty: f32
  int64_t headDim = 64, valueDim = 64;
  bool grad = false;
  bool earlyExit = true;
};

/// Adds FILE, --entry, --target, --chip, --dtype and the developer's --features, --lowering.
void addFileOptions(CLI::App &app, FileOptions &options);
/// Adds --early-exit=on|off.
void addEarlyExit(CLI::App &app, FileOptions &options);

/// The file itself if it exists; else pe's own example of that name, for NAME, NAME.mlir and
/// examples/encodings/NAME.mlir in any folder; else `file`.
std::string findFile(const std::string &file);
/// An error if what findFile has returned is neither a file nor the path of one in some folder.
Status checkFile(const std::string &file);
/// Reads a source or a package; the error of a file that does not exist is checkFile's.
Expected<std::shared_ptr<const api::ProgramState>> loadFile(const std::string &file,
                                                            const std::string &entry);
/// The experiment itself if it exists; else pe's own, for NAME and examples/NAME in any folder.
std::string findExperiment(const std::string &name);
/// An error if what findExperiment has returned is neither a file nor a folder with
/// experiment.json: it names the experiment of pe with the nearest name.
Status checkExperiment(const std::string &name);
/// An error if the folder has no encoding of one of these names: it names the nearest.
Status checkEncodings(const std::string &folder, const std::vector<std::string> &names);
/// "examples/encodings" of this folder, or that of pe.
std::string findExamples();
/// An error if a file cannot be written there because its folder is missing; nothing for "".
Status checkOutput(const std::string &option, const std::string &file);

/// A one-line error for a target or type that does not exist.
Status checkTarget(const FileOptions &options);
CompileOptions compileOptionsOf(const FileOptions &options);

} // namespace pe::cli

#endif // PE_TOOLS_PE_RUN_H

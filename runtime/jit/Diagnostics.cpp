//===- Diagnostics.cpp - MLIR diagnostics as pe errors --------------------===//
#include "runtime/jit/Diagnostics.h"

#include "runtime/jit/ParserMessages.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"

namespace pe::jit {

using namespace mlir;

std::string placeOf(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    // Errors about the entire file have line 0, but editors count lines from 1.
    place = file.getFilename().str() + ":" + std::to_string(std::max(file.getLine(), 1u)) + ":" +
            std::to_string(std::max(file.getColumn(), 1u));
    return WalkResult::interrupt();
  });
  return place;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context, std::vector<std::string> earlier)
    : remarks(std::move(earlier)), handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
          std::string place = placeOf(diagnostic.getLocation());
          const bool isWarning = diagnostic.getSeverity() == DiagnosticSeverity::Warning;
          remarks.push_back((place.empty() ? "" : place + ": ") + (isWarning ? "warning: " : "") +
                            diagnostic.str());
          return success();
        }
        if (first)
          return success();
        Error error =
            Error(rewordParserMessage(diagnostic, source)).at(placeOf(diagnostic.getLocation()));
        for (Diagnostic &note : diagnostic.getNotes()) {
          // Drop notes for compiler developers, which pe-opt prints.
          std::string text = note.str();
          if (llvm::StringRef(text).starts_with("see current operation") ||
              llvm::StringRef(text).starts_with("Available dialects"))
            continue;
          std::string place = placeOf(note.getLocation());
          error = std::move(error).note((place.empty() ? "" : place + ": ") + "note: " + text);
        }
        first = std::move(error);
        return success();
      }) {}

Error DiagnosticCollector::take(const std::string &otherwise) {
  return first ? *first : Error(otherwise);
}

} // namespace pe::jit

//===- Exemptions.h - Cases that devices do not support ---------*- C++ -*-===//
//
// Every device runs every case of the suite. The only exceptions are the entries of one table: the
// case, the devices, and the reason. An entry is a claim that is checked in every run: the suite
// fails if a listed case passes, because the device supports it now, and if it fails in another way
// than listed. A case that is refused without an entry fails.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_EXEMPTIONS_H
#define PE_TEST_CONFORMANCE_EXEMPTIONS_H

#include "conformance/Conformance.h"

#include <span>

namespace pe::conformance {

/// A case that devices refuse, or whose results differ from the reference by design.
struct Exemption {
  /// "ENCODING CALL" of the table (Cases.h), "*" for all of the table, or "TEST: CASE" of a test
  /// program.
  std::string_view name;
  /// "cpu", "gpu" for all GPUs, or GPUs of runtime/plan/Machine.h separated by commas.
  std::string_view devices;
  /// The type of activations.
  DType dtype;
  /// A part of the message with which the compiler refuses the case. Empty: it runs, and its
  /// results differ.
  std::string_view refusal;
  std::string_view reason;
};

std::span<const Exemption> exemptions();

/// Returns the GPU that a subject compiles for, or the target if it is not for GPUs. `cuda` without
/// a chip compiles for the GPU of this machine.
std::string deviceOf(const SubjectOptions &options);

/// Returns the entry of a case on a device (deviceOf), or null.
const Exemption *findExemption(std::string_view name, std::string_view device, DType dtype);

/// Judges the result of a listed case: it passes if it was refused as listed.
void judgeListed(const Exemption &exemption, CaseResult &result);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_EXEMPTIONS_H

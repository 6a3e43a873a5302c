//===- Lengths.cpp - Functions that accept lengths per entry --------------===//

#include "runtime/api/Lengths.h"

#include "runtime/api/ProgramState.h"
#include "runtime/reference/Entries.h"

namespace pe::api {

static Status check(const ProgramState &program) {
  ProgramState::Lengths &known = *program.lengths;
  std::call_once(known.once, [&] {
    auto parsed = reference::parseProgram(program.description->program);
    known.status = parsed ? reference::checkEntries(*parsed, program.description->entry.arguments)
                          : Status(parsed.takeError());
  });
  return known.status;
}

Status checkLengths(const ProgramState &program, const device::Runner &runner,
                    std::span<const View> views) {
  return device::hasLengths(runner.bound(), views) ? check(program) : Status::success();
}

Status checkLengths(const ProgramState &program, const device::Runner &runner,
                    const TensorMap &arguments) {
  const bool isGiven =
      arguments.contains(device::kLengths) && device::isLengths(runner.bound(), device::kLengths);
  return isGiven ? check(program) : Status::success();
}

} // namespace pe::api

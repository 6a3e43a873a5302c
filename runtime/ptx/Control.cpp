//===- Control.cpp - bra, brx, call, ret, exit, trap ----------------------===//

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

namespace pe::ptx {

namespace {

uint32_t labelOf(Decoder &decoder, const Operand &operand) {
  auto it = decoder.function().labels.find(operand.name);
  if (operand.kind != Operand::Kind::Symbol || it == decoder.function().labels.end())
    decoder.refuse("expected a label, found '", operand.name, "'");
  return uint32_t(it->second);
}

void decodeBranch(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"uni"});
  decoder.expectOperands(statement, 1, 1);
  step.flow = Flow::Branch;
  step.target = labelOf(decoder, statement.operands[0]);
}

void decodeTable(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"idx", "uni"});
  decoder.expectOperands(statement, 2, 2);
  step.flow = Flow::Table;
  step.a = decoder.source(statement.operands[0], Type::U32);
  auto it = decoder.function().branchTargets.find(statement.operands[1].name);
  if (it == decoder.function().branchTargets.end())
    decoder.refuse("expected a list of branch targets, found '", statement.operands[1].name, "'");
  std::vector<uint32_t> targets;
  for (const std::string &label : it->second) {
    Operand operand;
    operand.kind = Operand::Kind::Symbol;
    operand.name = label;
    targets.push_back(labelOf(decoder, operand));
  }
  step.target = uint32_t(decoder.code().tables.size());
  decoder.code().tables.push_back(std::move(targets));
}

/// Pairs the parameters of a function with the operands of a call. `isResult`: from callee to
/// caller.
std::vector<Call::Copy> copiesOf(Decoder &decoder, const std::vector<Variable> &parameters,
                                 const Operand *operands, const Code &callee, bool isResult) {
  const size_t found = operands ? operands->elements.size() : 0;
  if (found != parameters.size())
    decoder.refuse("expected ", parameters.size(), isResult ? " results" : " arguments", " of '",
                   callee.function->name, "', found ", found);
  std::vector<Call::Copy> copies;
  for (size_t i = 0; i < found; ++i) {
    const auto [mine, bytes] = decoder.parameterNamed(operands->elements[i].name);
    const auto theirs = callee.parameterOffsets.find(parameters[i].name);
    if (theirs == callee.parameterOffsets.end() || bytes != parameters[i].bytes)
      decoder.refuse("expected ", parameters[i].bytes, " bytes for '", parameters[i].name,
                     "', found ", bytes);
    if (isResult)
      copies.push_back({theirs->second, mine, bytes});
    else
      copies.push_back({mine, theirs->second, bytes});
  }
  return copies;
}

void decodeCall(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"uni"});
  // {(results),} name {, (arguments)} {, prototype}
  const std::vector<Operand> &operands = statement.operands;
  size_t at = 0;
  const Operand *results = nullptr, *arguments = nullptr;
  if (at < operands.size() && operands[at].kind == Operand::Kind::Vector)
    results = &operands[at++];
  if (at >= operands.size() || operands[at].kind != Operand::Kind::Symbol)
    decoder.refuse("indirect calls are not supported; expected the name of a function");
  const std::string &name = operands[at++].name;
  if (at < operands.size() && operands[at].kind == Operand::Kind::Vector)
    arguments = &operands[at++];
  const Function *callee = decoder.module().function(name);
  if (!callee || !callee->isDefined)
    decoder.refuse("'", name, "' is not defined in this module");
  const Code &code = decoder.decodeFunction(*callee);
  Call call;
  call.callee = &code;
  call.arguments = copiesOf(decoder, callee->parameters, arguments, code, false);
  call.results = copiesOf(decoder, callee->results, results, code, true);
  step.flow = Flow::Call;
  step.target = uint32_t(decoder.code().calls.size());
  Code &mine = decoder.code();
  mine.calls.push_back(std::move(call));
  mine.deepestLocalBytes = std::max(mine.deepestLocalBytes, code.deepestLocalBytes);
}

void decodeReturn(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"uni"});
  step.flow = Flow::Return;
}

void decodeExit(Decoder &, const Statement &, Step &step) { step.flow = Flow::Exit; }

void trap(Warp &warp, const Step &, Lanes lanes) {
  throw Fault{warp.describe(std::countr_zero(lanes)) + " reaches a trap", 0};
}

void decodeTrap(Decoder &, const Statement &, Step &step) { step.run = trap; }

} // namespace

void addControl(Opcodes &opcodes) {
  opcodes["bra"] = decodeBranch;
  opcodes["brx"] = decodeTable;
  opcodes["call"] = decodeCall;
  opcodes["ret"] = decodeReturn;
  opcodes["exit"] = decodeExit;
  opcodes["trap"] = opcodes["brkpt"] = decodeTrap;
}

} // namespace pe::ptx

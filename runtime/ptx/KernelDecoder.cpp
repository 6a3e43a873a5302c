//===- KernelDecoder.cpp - The functions of one kernel --------------------===//

#include "runtime/ptx/KernelDecoder.h"

#include <algorithm>

namespace pe::ptx {

static const Opcodes &allOpcodes() {
  static const Opcodes opcodes = [] {
    Opcodes all;
    addArithmetic(all);
    addFloatFunctions(all);
    addLogic(all);
    addConversions(all);
    addMoves(all);
    addMemory(all);
    addAtomics(all);
    addCopies(all);
    addCollectives(all);
    addMatrix(all);
    addControl(all);
    return all;
  }();
  return opcodes;
}

void KernelDecoder::placeShared(const Variable &variable) {
  if (variable.space != Space::Shared)
    return;
  if (variable.isExtern || variable.bytes == 0) {
    dynamic.push_back(variable.name);
    kernel.dynamicShared = std::max<uint32_t>(kernel.dynamicShared, uint32_t(variable.align));
    return;
  }
  kernel.staticShared = uint32_t(alignUp(kernel.staticShared, variable.align));
  shared[variable.name] = kernel.staticShared;
  kernel.staticShared += uint32_t(variable.bytes);
}

/// Places all variables of shared memory of the module and its functions, used or not.
void KernelDecoder::placeShared() {
  for (const Variable &variable : module.variables)
    placeShared(variable);
  for (const Function &function : module.functions)
    if (&function == kernel.function || !function.isEntry)
      for (const Variable &variable : function.variables)
        placeShared(variable);
  // Dynamic shared memory follows, at the greatest of its alignments.
  kernel.dynamicShared =
      uint32_t(alignUp(kernel.staticShared, std::max<uint32_t>(16, kernel.dynamicShared)));
  if (kernel.staticShared == 0)
    kernel.dynamicShared = 0;
  for (const std::string &name : dynamic)
    shared[name] = kernel.dynamicShared;
}

uint64_t KernelDecoder::addressOf(const std::string &name, const Function &function) {
  if (auto it = shared.find(name); it != shared.end())
    return it->second;
  if (auto it = placement.addresses.find(name); it != placement.addresses.end())
    return it->second;
  if (&function == kernel.function)
    for (const Variable &parameter : function.parameters)
      if (parameter.name == name)
        return parameter.offset;
  throw DecodeError{"'" + name + "' is not a variable that has an address here", 0};
}

void KernelDecoder::decodeStatement(Decoder &decoder, const Statement &statement, Code &code) {
  Step step;
  step.line = statement.line;
  if (statement.guard >= 0) {
    step.guard = decoder.registerOffsets[statement.guard];
    step.isGuardNegated = statement.isGuardNegated;
    if (decoder.function().registers[statement.guard].type != Type::Pred)
      throw DecodeError{"expected a guard of type .pred", 0};
  }
  auto it = allOpcodes().find(statement.opcode);
  if (it == allOpcodes().end())
    throw DecodeError{"unknown instruction '" + statement.mnemonic() + "'", 0};
  it->second(decoder, statement, step);
  code.steps.push_back(step);
}

Code &KernelDecoder::decode(const Function &function) {
  if (auto it = decoded.find(&function); it != decoded.end())
    return *it->second;
  if (std::ranges::find(open, &function) != open.end())
    throw DecodeError{"'" + function.name + "' calls itself, and recursion is not supported", 0};
  open.push_back(&function);
  kernel.codes.push_back(std::make_unique<Code>());
  Code &code = *kernel.codes.back();
  code.function = &function;
  Decoder decoder(module, function, code, *this);
  for (const Statement &statement : function.statements)
    try {
      decodeStatement(decoder, statement, code);
    } catch (DecodeError &error) {
      if (!error.line)
        error.line = statement.line;
      throw;
    }
  Step end; // functions end with an implicit ret
  end.flow = Flow::Return;
  end.line = function.statements.empty() ? function.line : function.statements.back().line;
  code.steps.push_back(end);
  code.frameBytes = uint32_t(alignUp(code.frameBytes, 64));
  code.executions.assign(kWarpsOfCta * code.steps.size(), 0);
  code.deepestLocalBytes += code.ownLocalBytes;
  open.pop_back();
  decoded[&function] = &code;
  return code;
}

Expected<std::unique_ptr<Kernel>> decode(const Module &module, const std::string &name,
                                         const Placement &placement) {
  const Function *function = module.function(name);
  if (!function || !function->isEntry || !function->isDefined)
    return makeError("'", name, "' is not a kernel of ", module.file);
  auto kernel = std::make_unique<Kernel>();
  kernel->module = &module;
  kernel->function = function;
  KernelDecoder decoder(module, placement, *kernel);
  try {
    decoder.placeShared();
    kernel->entry = &decoder.decode(*function);
  } catch (const DecodeError &error) {
    return makeError(error.message)
        .at(module.file + ":" + std::to_string(error.line ? error.line : function->line));
  }
  if (!function->parameters.empty())
    kernel->parameterBytes =
        uint32_t(function->parameters.back().offset + function->parameters.back().bytes);
  return kernel;
}

} // namespace pe::ptx

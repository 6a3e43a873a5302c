//===- Package.cpp - A function compiled for several targets --------------===//

#include "runtime/api/Package.h"

#include "runtime/device/cuda/Device.h"
#include "runtime/jit/JitInterface.h"

#include <algorithm>

namespace pe::api {

std::string variantOf(const plan::Plan &plan) {
  const std::string target(nameOf(plan.target));
  return plan.target == plan::Target::Cuda ? target + "-" + plan.features : target;
}

static constexpr const char *kBias = "bias/";

static Expected<std::string> variantOf(const Bundle &compiled) {
  const auto text = compiled.find("plan");
  if (text == compiled.end())
    return makeError("expected a compiled function with a plan");
  Expected<plan::Plan> plan = plan::parsePlan(text->second);
  if (!plan)
    return plan.takeError();
  return variantOf(*plan);
}

Status addVariant(Bundle &package, const Bundle &compiled) {
  auto variant = variantOf(compiled);
  if (!variant)
    return variant.takeError();
  if (package.contains(*variant + "/plan"))
    return makeError("expected each target once, found ", *variant, " twice");
  for (const auto &[name, content] : compiled)
    package[*variant + "/" + name] = content;
  return Status::success();
}

Status addBias(Bundle &package, const Bundle &compiled) {
  auto variant = variantOf(compiled);
  if (!variant)
    return variant.takeError();
  for (const auto &[name, content] : compiled)
    package[*variant + "/" + kBias + name] = content;
  return Status::success();
}

Expected<std::shared_ptr<const Package>> Package::open(Bundle bundle) {
  auto package = std::make_shared<Package>();
  for (auto &[name, content] : bundle) {
    const size_t slash = name.find('/');
    if (slash != std::string::npos)
      package->bundles[name.substr(0, slash)][name.substr(slash + 1)] = std::move(content);
  }
  for (const auto &[variant, sections] : package->bundles) {
    const auto text = sections.find("plan");
    Expected<plan::Plan> plan = text == sections.end()
                                    ? Expected<plan::Plan>(makeError("expected a plan, found none"))
                                    : plan::parsePlan(text->second);
    if (!plan)
      return plan.takeError().within("target " + variant);
    if (variantOf(*plan) != variant)
      return makeError("target ", variant, ": expected its plan, found one for ", variantOf(*plan));
    package->plans[variant] = *std::move(plan);
  }
  if (package->plans.empty())
    return makeError("expected a package with at least one target, found none");
  return std::shared_ptr<const Package>(std::move(package));
}

std::string Package::variants() const {
  std::string list;
  for (const auto &[variant, plan] : plans)
    list += (list.empty() ? "" : ", ") + variant;
  return list;
}

Expected<std::string> Package::choose(const CompileOptions &options) const {
  const auto target = plan::findTarget(options.target).value_or(plan::Target::None);
  const std::string &chip = options.chip;
  // "cuda-sm_100" is newer than "cuda-sm_90a".
  const auto age = [](const std::string &name) { return std::atoi(name.c_str() + 8); };
  if (target == plan::Target::GpuEmulator &&
      !plans.contains(options.target)) { // the emulator runs kernels for GPUs
    std::string oldest;
    for (const auto &[variant, plan] : plans)
      if (plan.target == plan::Target::Cuda && (chip.empty() || plan.features == chip) &&
          (oldest.empty() || age(variant) < age(oldest)))
        oldest = variant;
    if (!oldest.empty())
      return oldest;
  }
  if (target != plan::Target::Cuda || !chip.empty()) {
    const bool isCuda = target == plan::Target::Cuda;
    const std::string variant = isCuda ? options.target + "-" + chip : options.target;
    if (plans.contains(variant))
      return variant;
    return makeError("expected a package compiled for ", variant, ", found one for ", variants());
  }
  auto device = cuda::Device::open(options.device);
  if (!device)
    return device.takeError();
  std::string best;
  for (const auto &[variant, plan] : plans) {
    if (plan.target != plan::Target::Cuda || !(*device)->runs(plan.features))
      continue;
    if (best.empty() || age(variant) >= age(best))
      best = variant;
  }
  if (best.empty())
    return makeError("expected kernels for ", (*device)->name, " (", (*device)->chip(),
                     ") in the package, found ", variants());
  return best;
}

Expected<const plan::Plan *> Package::find(const CompileOptions &options) const {
  Expected<std::string> variant = choose(options);
  if (!variant)
    return variant.takeError();
  return &plans.at(*variant);
}

Expected<std::shared_ptr<const CompiledFunction>>
Package::load(const CompileOptions &options) const {
  Expected<std::string> variant = choose(options);
  if (!variant)
    return variant.takeError();
  return loadOnce(*variant, "", options.target);
}

Expected<std::shared_ptr<const CompiledFunction>>
Package::loadBias(const CompileOptions &options) const {
  Expected<std::string> variant = choose(options);
  if (!variant)
    return variant.takeError();
  const auto isOfBias = [](const auto &section) { return section.first.starts_with(kBias); };
  const Bundle &sections = bundles.at(*variant);
  if (std::none_of(sections.begin(), sections.end(), isOfBias))
    return std::shared_ptr<const CompiledFunction>();
  if (Status status = checkBias(*variant); !status)
    return status.takeError().within("target " + *variant);
  return loadOnce(*variant, kBias, options.target);
}

/// Checks that the bias sections belong to this function. The results of another one would have
/// shapes that differ from those of the reference.
Status Package::checkBias(const std::string &variant) const {
  const Bundle &sections = bundles.at(variant);
  const auto text = sections.find(std::string(kBias) + "plan");
  if (text == sections.end())
    return makeError("expected a plan for the bias, found none");
  Expected<plan::Plan> bias = plan::parsePlan(text->second);
  if (!bias)
    return bias.takeError().within("bias");
  const plan::Plan &function = plans.at(variant);
  if (variantOf(*bias) != variant || bias->entry != function.entry ||
      bias->headDim != function.headDim || bias->valueDim != function.valueDim ||
      bias->dtype != function.dtype)
    return makeError("expected the bias of function '", function.entry, "', found the bias of '",
                     bias->entry, "' for ", variantOf(*bias),
                     ", or one with other head dims or types");
  const int result = bias->findBuffer(jit::kBias);
  if (result < 0 || bias->buffers[result].role != plan::Role::Result ||
      bias->buffers[result].dtype != DType::F32 || bias->buffers[result].shape.size() != 4)
    return makeError("expected a plan with a result '", jit::kBias, "' with four axes, found none");
  return Status::success();
}

Expected<std::shared_ptr<const CompiledFunction>>
Package::loadOnce(const std::string &variant, const std::string &prefix,
                  const std::string &target) const {
  std::lock_guard lock(mutex);
  auto &known = loaded[target + "/" + variant + "/" + prefix];
  if (known)
    return known;
  Bundle sections;
  for (const auto &[name, content] : bundles.at(variant))
    if (name.starts_with(prefix))
      sections[name.substr(prefix.size())] = content;
  auto function = loadFunction(sections, target);
  if (!function)
    return function.takeError().within("target " + variant);
  return known = *std::move(function);
}

} // namespace pe::api

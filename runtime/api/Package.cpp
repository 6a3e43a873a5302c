//===- Package.cpp - Compiled functions in one file -----------------------===//

#include "runtime/api/Package.h"

#include "runtime/device/cuda/Device.h"

namespace pe::api {

std::string variantOf(const plan::Plan &plan) {
  return plan.target == "cuda" ? plan.target + "-" + plan.features : plan.target;
}

Status addVariant(Bundle &package, const Bundle &compiled) {
  const auto text = compiled.find("plan");
  if (text == compiled.end())
    return makeError("expected a compiled function with a plan");
  Expected<plan::Plan> plan = plan::parsePlan(text->second);
  if (!plan)
    return plan.takeError();
  const std::string variant = variantOf(*plan);
  if (package.contains(variant + "/plan"))
    return makeError("expected every target once, found ", variant, " twice");
  for (const auto &[name, content] : compiled)
    package[variant + "/" + name] = content;
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

Expected<std::string> Package::choose(const std::string &target, const std::string &chip) const {
  if (target != "cuda" || !chip.empty()) {
    const std::string variant = target == "cuda" ? target + "-" + chip : target;
    if (plans.contains(variant))
      return variant;
    return makeError("expected a package compiled for ", variant, ", found one for ", variants());
  }
  auto device = cuda::Device::open();
  if (!device)
    return device.takeError();
  std::string best;
  for (const auto &[variant, plan] : plans) {
    if (plan.target != "cuda" || !(*device)->runs(plan.features))
      continue;
    // "cuda-sm_100" is newer than "cuda-sm_90a".
    const auto age = [](const std::string &name) { return std::atoi(name.c_str() + 8); };
    if (best.empty() || age(variant) >= age(best))
      best = variant;
  }
  if (best.empty())
    return makeError("expected kernels for ", (*device)->name, " (", (*device)->chip(),
                     ") in the package, found ", variants());
  return best;
}

Expected<const plan::Plan *> Package::find(const std::string &target,
                                           const std::string &chip) const {
  Expected<std::string> variant = choose(target, chip);
  if (!variant)
    return variant.takeError();
  return &plans.at(*variant);
}

Expected<std::shared_ptr<const CompiledFunction>> Package::load(const std::string &target,
                                                                const std::string &chip) const {
  Expected<std::string> variant = choose(target, chip);
  if (!variant)
    return variant.takeError();
  std::lock_guard lock(mutex);
  if (auto found = loaded.find(*variant); found != loaded.end())
    return found->second;
  auto function = loadFunction(bundles.at(*variant));
  if (!function)
    return function.takeError().within("target " + *variant);
  return loaded[*variant] = *std::move(function);
}

} // namespace pe::api

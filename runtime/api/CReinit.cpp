//===- CReinit.cpp - Reinitialization of weights in the C API -------------===//

#include "pe/pe-c.h"
#include "pe/reinit.h"

#include "runtime/api/CArguments.h"
#include "runtime/api/CErrors.h"
#include "runtime/device/cpu/HostPool.h"

#include <optional>

using pe::Expected;
using pe::makeError;
using pe::Status;
using pe::api::missing;
using pe::api::readVersioned;
using pe::api::reported;

namespace {

/// Parses the options; those that are null keep the default.
Expected<pe::reinit::Settings> settingsOf(const pe_reinit_options &given) {
  pe::reinit::Settings settings;
  Status status;
  const auto read = [&status](const char *text, auto parse, auto &value) {
    if (!text || !status)
      return;
    if (auto parsed = parse(text))
      value = *parsed;
    else
      status = parsed.takeError();
  };
  read(given.engine, pe::reinit::parseEngine, settings.engine);
  read(given.norm, pe::reinit::parseNorm, settings.norm);
  read(given.scale, pe::reinit::parseScale, settings.scale);
  read(given.layout, pe::reinit::parseLayout, settings.layout);
  if (!status)
    return status.takeError();
  settings.seed = given.seed;
  if (given.iterations)
    settings.iterations = given.iterations;
  return settings;
}

/// Projects the weights and fills `reports`. The number of reports is checked first.
Status reinitWeights(const pe_view &weights, const pe_reinit_options &options,
                     pe_reinit_report *reports, int32_t count) {
  auto settings = settingsOf(options);
  if (!settings)
    return settings.takeError();
  const int64_t matrices = weights.rank == 3 ? weights.shape[0] : 1;
  if (reports && count != matrices)
    return makeError("expected ", matrices, " reports, one per matrix, found ", count);
  std::optional<pe::cpu::HostPool> host;
  if (options.pool) {
    if (!options.pool->parallel_for || !options.pool->threads)
      return missing("pool");
    host.emplace(*options.pool);
  }
  auto done = pe::reinit::project(weights, *settings, host ? &*host : nullptr);
  if (!done)
    return done.takeError();
  for (size_t i = 0; reports && i < done->size(); ++i) {
    const pe::reinit::MatrixReport &r = (*done)[i];
    reports[i] = {r.shape[0], r.shape[1], r.rank,  r.dfiBefore,  r.dfiAfter,
                  r.sfe,      r.norm,     r.scale, r.iterations, r.chosen};
  }
  return host ? host->status() : Status::success();
}

} // namespace

extern "C" int pe_reinit(const pe_view *weights, const pe_reinit_options *options,
                         pe_reinit_report *reports, int32_t count) {
  return reported([&]() -> Status {
    if (!weights)
      return missing("weights");
    pe_reinit_options known;
    if (Status s = readVersioned(options, "reinit_options", known); !s)
      return s;
    return reinitWeights(*weights, known, reports, count);
  });
}

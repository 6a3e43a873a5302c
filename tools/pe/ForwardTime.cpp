//===- ForwardTime.cpp - The time of a model's forward pass ---===//
#include "tools/pe/ForwardTime.h"

#include <algorithm>
#include <chrono>

namespace pe::cli {

Expected<std::map<int64_t, double>> timeForward(train::Session &session) {
  constexpr int kWarm = 1, kCalls = 7;
  using Clock = std::chrono::steady_clock;
  const train::TrainConfig &config = session.config();
  train::Decoder &model = session.trainer().model();
  std::map<int64_t, double> result;
  for (int64_t length : config.evaluation.lengths) {
    auto sampler = train::BatchSampler::create(session.corpus().training, config.batch, length,
                                               config.seed, session.rules());
    if (!sampler)
      return sampler.takeError();
    train::Batch batch;
    sampler->fill(0, batch);
    batch.training = false;
    std::vector<double> seconds;
    for (int call = 0; call < kWarm + kCalls; ++call) {
      const Clock::time_point begin = Clock::now();
      if (Status status = model.forward(batch, 0.0f, session.trainer().parallel()); !status)
        return status.takeError();
      if (call >= kWarm)
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + kCalls / 2, seconds.end());
    result[length] = 1000 * seconds[kCalls / 2] / static_cast<double>(config.batch);
  }
  return result;
}

} // namespace pe::cli

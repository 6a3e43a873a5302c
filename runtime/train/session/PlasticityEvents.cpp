//===- PlasticityEvents.cpp - ReDo and DASH between steps -----------------===//
#include "runtime/train/session/PlasticityEvents.h"

namespace pe::train {
namespace {

class RedoEvent : public Event {
public:
  RedoEvent(const TrainConfig &config, Trainer &trainer)
      : config(config), activity(trainer.model()) {
    trainer.model().recordActivity(true);
  }

  Status afterStep(const Moment &moment) override {
    activity.add(moment.trainer.model());
    const int64_t steps = moment.trainer.steps();
    const int64_t interval = config.redoIntervalOf(moment.phase);
    if (interval == 0 || steps % interval != 0 || steps == config.totalSteps())
      return Status::success();
    const std::vector<DormantNeurons> layers =
        recycleDormant(moment.trainer, activity, config.plasticity.redoTau, config.seed);
    activity.clear(); // a recycled neuron has no history
    for (Observer *observer : moment.observers)
      observer->onRecycle(steps, layers);
    return statusOf(moment.observers);
  }

  std::vector<StatePart> state() override { return {activity.state()}; }

private:
  const TrainConfig &config;
  Activity activity;
};

class DashEvent : public Event {
public:
  explicit DashEvent(const TrainConfig &config) : config(config) {}

  Status beforeStep(const Moment &moment) override {
    if (config.dashOf(moment.phase) != Dash::Published || !moment.isBoundary(config))
      return Status::success();
    auto sampler = BatchSampler::create(moment.corpus.training, config.batch,
                                        config.sequenceOf(moment.phase), config.seed, moment.rules);
    if (!sampler)
      return sampler.takeError();
    DirectionShrink shrink(moment.trainer, config.plasticity.dashScope);
    std::vector<Batch> batches(config.accumulate);
    for (int64_t step = moment.trainer.steps(); step < moment.trainer.steps() + kDashGradients;
         ++step) {
      for (int64_t part = 0; part < config.accumulate; ++part)
        sampler->fill(step * config.accumulate + part, batches[part]);
      if (Status status = shrink.add(batches); !status)
        return status;
    }
    auto matrices = shrink.apply();
    if (!matrices)
      return matrices.takeError();
    return tell(moment, *matrices);
  }

  Status afterStep(const Moment &moment) override {
    if (config.dashOf(moment.phase) != Dash::RowDecay ||
        moment.trainer.steps() % config.plasticity.dashInterval != 0)
      return Status::success();
    return tell(moment, decayRows(moment.trainer, config.plasticity.dashScope));
  }

private:
  Status tell(const Moment &moment, const std::vector<ShrunkMatrix> &matrices) const {
    for (Observer *observer : moment.observers)
      observer->onShrink(moment.trainer.steps(), config.dashOf(moment.phase), matrices);
    return statusOf(moment.observers);
  }

  const TrainConfig &config;
};

} // namespace

std::unique_ptr<Event> makeRedoEvent(const TrainConfig &config, Trainer &trainer) {
  return std::make_unique<RedoEvent>(config, trainer);
}
std::unique_ptr<Event> makeDashEvent(const TrainConfig &config) {
  return std::make_unique<DashEvent>(config);
}

} // namespace pe::train

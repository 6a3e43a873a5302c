//===- DecoderTest.cpp - The model against its second reading -------------===//

#include "Models.h"
#include "NaiveDecoder.h"

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

float meanScale(const Batch &batch) { return 1.0f / static_cast<float>(batch.inputs.size()); }

/// Every parameter's gradient at a few elements, against central differences in double.
void expectGradients(Decoder &model, const Batch &batch) {
  NaiveDecoder naive(model);
  NaiveDecoder::Values losses = naive.losses(batch);
  ASSERT_TRUE(model.forward(batch, meanScale(batch), inOrder));
  ASSERT_TRUE(model.backward(batch, inOrder));
  ASSERT_EQ(model.losses().size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i)
    ASSERT_NEAR(model.losses()[i], losses[i], 2e-5 * (1 + losses[i]));

  constexpr double step = 1e-5;
  Random random(7, "elements");
  for (const Parameter &parameter : model.layout().all()) {
    const float *gradient = model.gradients().at(parameter);
    double largest = 0;
    for (int64_t i = 0; i < parameter.count; ++i)
      largest = std::max<double>(largest, std::abs(gradient[i]));
    EXPECT_GT(largest, 0) << parameter.name;
    for (int64_t sample = 0; sample < std::min<int64_t>(parameter.count, 4); ++sample) {
      int64_t i = static_cast<int64_t>(random.below(parameter.count));
      double &value = naive.parameters[parameter.name][i], kept = value;
      value = kept + step;
      double above = naive.meanLoss(batch);
      value = kept - step;
      double below = naive.meanLoss(batch);
      value = kept;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 2e-5 * largest + 1e-9)
          << parameter.name << "[" << i << "]";
    }
  }
}

TEST(Decoder, GradientsAreThoseOfTheNaiveModel) {
  auto model = makeModel(
      {.layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 2, .vocabulary = 16});
  expectGradients(*model, makeBatch(3, 21, 16));
}

TEST(Decoder, GradientsWithSharedKeyHeadsAndLongSequences) {
  auto model = makeModel(
      {.layers = 1, .dim = 32, .heads = 4, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 8});
  expectGradients(*model, makeBatch(2, 300, 8));
}

TEST(Decoder, PaddingBetweenParametersStaysZero) {
  auto model = makeModel(
      {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 8});
  Batch batch = makeBatch(2, 9, 8);
  ASSERT_TRUE(model->forward(batch, meanScale(batch), inOrder));
  ASSERT_TRUE(model->backward(batch, inOrder));
  for (const Parameter &parameter : model->layout().all())
    for (int64_t i = parameter.count; i < parameter.extent; ++i)
      EXPECT_EQ(model->gradients().at(parameter)[i], 0.0f) << parameter.name;
}

TEST(Decoder, ResultsDoNotDependOnOrderOrThreads) {
  DecoderConfig config{
      .layers = 2, .dim = 16, .heads = 2, .keyHeads = 1, .mlpMultiple = 2, .vocabulary = 16};
  Batch batch = makeBatch(37, 11, 16);
  std::vector<float> losses, gradients;
  for (ParallelFor *parallel :
       std::initializer_list<ParallelFor *>{&inOrder, &backwards, &onThreads}) {
    auto model = makeModel(config);
    ASSERT_TRUE(model->forward(batch, meanScale(batch), *parallel));
    ASSERT_TRUE(model->backward(batch, *parallel));
    std::vector<float> nowLosses(model->losses().begin(), model->losses().end());
    const float *data = model->gradients().data();
    std::vector<float> nowGradients(data, data + model->layout().extent());
    if (losses.empty()) {
      losses = nowLosses;
      gradients = nowGradients;
    }
    EXPECT_EQ(nowLosses, losses);
    EXPECT_EQ(nowGradients, gradients);
  }
}

// A batch of 600 tokens has three pieces for each sequence, and the widest matrix several tiles.
TEST(Decoder, GradientsOfBatchesAdd) {
  const DecoderConfig config{
      .layers = 1, .dim = 72, .heads = 1, .keyHeads = 1, .mlpMultiple = 8, .vocabulary = 16};
  auto model = makeModel(config);
  const Batch batches[] = {makeBatch(1, 600, 16, 1), makeBatch(2, 40, 16, 2)};
  std::vector<float> sum(model->layout().extent());
  for (const Batch &batch : batches) {
    ASSERT_TRUE(model->forward(batch, 0.01f, inOrder));
    ASSERT_TRUE(model->backward(batch, inOrder));
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += model->gradients().data()[i];
  }
  for (const Batch &batch : batches) {
    ASSERT_TRUE(model->forward(batch, 0.01f, onThreads));
    ASSERT_TRUE(model->backward(batch, onThreads,
                                &batch == batches ? GradientUse::Replace : GradientUse::Add));
  }
  double largest = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(model->gradients().data()[i], sum[i], 1e-5 * (1 + std::abs(sum[i]))) << i;
    largest = std::max(largest, std::abs(static_cast<double>(sum[i])));
  }
  EXPECT_GT(largest, 1e-3);
}

TEST(Decoder, CallsDoNotDisturbEachOther) {
  auto model = makeModel(
      {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 8});
  Batch small = makeBatch(2, 9, 8), large = makeBatch(5, 40, 8);
  ASSERT_TRUE(model->forward(small, meanScale(small), inOrder));
  std::vector<float> before(model->losses().begin(), model->losses().end());
  ASSERT_TRUE(model->forward(large, meanScale(large), inOrder));
  ASSERT_TRUE(model->forward(small, meanScale(small), inOrder));
  EXPECT_EQ(std::vector<float>(model->losses().begin(), model->losses().end()), before);
}

TEST(Decoder, CountsTheParametersOfTheDemo) {
  auto model = makeModel(
      {.layers = 2, .dim = 64, .heads = 4, .keyHeads = 4, .mlpMultiple = 4, .vocabulary = 96});
  EXPECT_EQ(model->layout().count() - model->layout().count(Role::Encoding), 110592);
  EXPECT_EQ(model->layout().count(Role::Encoding), 2 * (4 + 1));
}

TEST(Decoder, RefusesShapesWithoutMeaning) {
  auto message = [](DecoderConfig config) {
    Status status = check(config);
    return status ? std::string("accepted") : status.error().getMessage();
  };
  EXPECT_EQ(message({}), "accepted");
  EXPECT_EQ(message({.dim = 60}), "expected a head size --dim / --heads that is a multiple of 8, "
                                  "found 60 / 4 = 15");
  EXPECT_EQ(message({.dim = 63}), "expected --dim to be a multiple of --heads 4, found 63");
  EXPECT_EQ(message({.keyHeads = 3}), "expected --heads to be a multiple of --kv-heads 3, found 4");
  EXPECT_EQ(message({.layers = 0}), "expected --layers of at least 1, found 0");
}

} // namespace

//===- DecoderTest.cpp - The model against a naive implementation ---------===//

#include "Models.h"
#include "NaiveDecoder.h"

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

float meanScale(const Batch &batch) { return static_cast<float>(1 / batch.totalWeight()); }

/// Compares a few elements of every parameter's gradient with central differences in double.
void expectGradients(Decoder &model, const Batch &batch, const std::string &activation = "relu2") {
  NaiveDecoder naive(model, activation);
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

TEST(Decoder, GradientsMatchTheNaiveModel) {
  auto model = makeModel(
      {.layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 2, .vocabulary = 16});
  expectGradients(*model, makeBatch(3, 21, 16));
}

TEST(Decoder, GradientsWithSharedKeyHeadsAndLongSequences) {
  auto model = makeModel(
      {.layers = 1, .dim = 32, .heads = 4, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 8});
  expectGradients(*model, makeBatch(2, 300, 8));
}

TEST(Decoder, GradientsWithSharedParameters) {
  auto model = makeModel({.layers = 3,
                          .dim = 16,
                          .heads = 2,
                          .keyHeads = 2,
                          .mlpMultiple = 1,
                          .vocabulary = 16,
                          .tieHead = true,
                          .shareEncoding = true});
  EXPECT_EQ(model->layout().find("head"), -1);
  EXPECT_EQ(model->layout().count(Role::Encoding), 2 + 1);
  expectGradients(*model, makeBatch(3, 21, 16));
}

TEST(Decoder, GradientsWithLayerNorm) {
  auto model = makeModel({.layers = 2,
                          .dim = 16,
                          .heads = 2,
                          .keyHeads = 2,
                          .mlpMultiple = 2,
                          .vocabulary = 16,
                          .norm = NormKind::Layer});
  expectGradients(*model, makeBatch(3, 21, 16));
}

TEST(Decoder, GradientsWithEveryActivation) {
  for (const std::string activation : {"gelu", "swiglu"}) {
    SCOPED_TRACE(activation);
    auto model = makeModel(
        {.layers = 2, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 0, .vocabulary = 16},
        /*gated=*/false, {}, activation);
    EXPECT_EQ(model->config().hidden(), activation == "gelu" ? 64 : 48);
    EXPECT_EQ(model->layout().find("layer1.mlp.w3") >= 0, activation == "swiglu");
    expectGradients(*model, makeBatch(3, 21, 16), activation);
  }
}

TEST(Decoder, WidthsOfTheFeedForwardLayer) {
  auto width = [](int64_t dim, int64_t multiple, bool gated) {
    return DecoderConfig{.dim = dim, .mlpMultiple = multiple, .gated = gated}.hidden();
  };
  EXPECT_EQ(width(64, 0, false), 256);
  EXPECT_EQ(width(64, 3, true), 192);
  EXPECT_EQ(width(64, 0, true), 176); // 170.7 in blocks of 8
  EXPECT_EQ(width(96, 0, true), 256);
  EXPECT_EQ(width(512, 0, true), 1536); // 1365.3 in blocks of 256
}

// Sequences are longer than one piece: gates accumulate over all pieces.
TEST(Decoder, GradientsOfProjectedInputs) {
  auto model = makeModel(
      {.layers = 2, .dim = 16, .heads = 2, .keyHeads = 1, .mlpMultiple = 1, .vocabulary = 8},
      /*gated=*/true);
  EXPECT_EQ(model->layout().count(Role::Gate), 2 * (2 * 16 + 2 + 16));
  expectGradients(*model, makeBatch(2, 270, 8));
}

TEST(Decoder, GradientsWithWeightsOfTargets) {
  auto model = makeModel(
      {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 13});
  Batch batch = makeBatch(3, 21, 13);
  for (size_t i = 0; i < batch.weights.size(); ++i)
    batch.weights[i] = static_cast<float>(i % 3) / 2;
  expectGradients(*model, batch);
}

/// Adds the rows of a table to the token embedding.
struct NaiveEmbedding : EmbeddingFunction {
  NaiveEmbedding(int64_t positions, int64_t dim)
      : dim(dim), list{{"table", {positions, dim}, "normal(1)"}} {}

  const std::vector<EncodingParameter> &parameters() const override { return list; }
  Status forward(int64_t batch, int64_t length, const float *x,
                 const std::vector<const float *> &parameters, float *y) override {
    for (int64_t i = 0; i < batch * length * dim; ++i)
      y[i] = x[i] + parameters[0][i % (length * dim)];
    return Status::success();
  }
  Status backward(int64_t batch, int64_t length, const float *, const std::vector<const float *> &,
                  const float *dY, const std::vector<float *> &gradients) override {
    std::fill_n(gradients[0], list[0].shape[0] * dim, 0.0f);
    for (int64_t i = 0; i < batch * length * dim; ++i)
      gradients[0][i % (length * dim)] += dY[i];
    return Status::success();
  }

  int64_t dim;
  std::vector<EncodingParameter> list;
};

TEST(Decoder, GradientsOfAnEmbeddingOfPositions) {
  auto model = makeModel(
      {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 16},
      /*gated=*/false, [](int64_t dim) {
        return Expected<std::unique_ptr<EmbeddingFunction>>(
            std::make_unique<NaiveEmbedding>(12, dim));
      });
  expectGradients(*model, makeBatch(3, 12, 16));
}

/// Returns losses and gradients, with logits limited to `bytes`.
std::pair<std::vector<float>, std::vector<float>> resultsWith(int64_t bytes, ParallelFor &parallel,
                                                              int64_t chunks) {
  auto model = makeModel({.layers = 1,
                          .dim = 16,
                          .heads = 2,
                          .keyHeads = 2,
                          .mlpMultiple = 1,
                          .vocabulary = 21,
                          .logitBytes = bytes});
  const Batch batch = makeBatch(5, 300, 21);
  EXPECT_TRUE(model->forward(batch, meanScale(batch), parallel));
  EXPECT_TRUE(model->backward(batch, parallel));
  EXPECT_EQ(model->outputHead().chunks(), chunks);
  EXPECT_LE(model->outputHead().logitFloats() * 4, bytes);
  const float *gradients = model->gradients().data();
  return {{model->losses().begin(), model->losses().end()},
          {gradients, gradients + model->layout().extent()}};
}

TEST(Decoder, LogitsInChunks) {
  constexpr int64_t row = 24 * 4, all = 5 * 300 * row;
  const auto whole = resultsWith(int64_t(64) << 20, inOrder, 1);
  // The results are bitwise identical if one chunk exactly holds the batch; one byte less needs two
  // chunks.
  EXPECT_EQ(resultsWith(all, inOrder, 1), whole);
  for (auto [bytes, chunks] :
       {std::pair{all - 1, 2}, {600 * row, 3}, {300 * row, 5}, {row, 1500}}) {
    const auto parts = resultsWith(bytes, inOrder, chunks);
    EXPECT_EQ(resultsWith(bytes, onThreads, chunks), parts);
    EXPECT_EQ(resultsWith(bytes, backwards, chunks), parts);
    double largest = 0;
    for (float gradient : whole.second)
      largest = std::max<double>(largest, std::abs(gradient));
    for (size_t i = 0; i < whole.first.size(); ++i)
      ASSERT_NEAR(parts.first[i], whole.first[i], 2e-6 * (1 + whole.first[i]));
    for (size_t i = 0; i < whole.second.size(); ++i)
      ASSERT_NEAR(parts.second[i], whole.second[i], 1e-5 * largest);
  }
}

TEST(Decoder, RejectsTokensOutsideTheVocabulary) {
  auto model = makeModel(
      {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 1, .vocabulary = 8});
  for (auto [token, isTarget] : {std::pair{8, false}, {-1, true}}) {
    Batch batch = makeBatch(1, 9, 8);
    (isTarget ? batch.targets : batch.inputs)[4] = token;
    Status status = model->forward(batch, 1, inOrder);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().getMessage(),
              "expected tokens from 0 to 7, found " + std::to_string(token));
  }
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

// The 600 tokens are three pieces, and the widest matrix has several tiles.
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

TEST(Decoder, CallsAreIndependent) {
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

TEST(Decoder, RejectsInvalidShapes) {
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

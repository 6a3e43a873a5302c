//===- SegmentNetworks.h - Networks, and calls that find pieces -*- C++ -*-===//
#ifndef PE_TEST_RUNTIME_DEVICE_CPU_SEGMENTNETWORKS_H
#define PE_TEST_RUNTIME_DEVICE_CPU_SEGMENTNETWORKS_H

#include "runtime/device/cpu/Segments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace pe::test {

using segments::Function;
using segments::Link;

inline double apply(Function function, double x) {
  switch (function) {
  case Function::Identity:
    return x;
  case Function::Relu:
    return std::max(x, 0.0);
  case Function::Gelu:
    return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  case Function::Tanh:
    return std::tanh(x);
  case Function::Silu:
    return x / (1 + std::exp(-x));
  case Function::Cos:
    return std::cos(x);
  case Function::Step:
    return x > 0 ? 1 : 0;
  }
  return x;
}

struct Network {
  struct Layer {
    std::vector<float> weight, bias;
    int64_t outputs, inputs;
  };
  std::vector<Layer> layers;
  Function inner = Function::Relu, last = Function::Identity;

  std::vector<Link> view() const {
    std::vector<Link> result;
    for (const Layer &l : layers) {
      const Function function = result.size() + 1 == layers.size() ? last : inner;
      result.push_back(
          {l.weight.data(), l.bias.data(), l.outputs, l.inputs, static_cast<int64_t>(function)});
    }
    return result;
  }

  int64_t bound() const {
    int64_t product = 1;
    for (size_t l = 0; l + 1 < layers.size(); ++l)
      product *= layers[l].outputs + 1;
    return product;
  }

  std::vector<double> operator()(double t) const {
    std::vector<double> h = {t};
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> z(layers[l].bias.begin(), layers[l].bias.end());
      for (int64_t o = 0; o < layers[l].outputs; ++o)
        for (int64_t i = 0; i < layers[l].inputs; ++i)
          z[o] += double(layers[l].weight[o * layers[l].inputs + i]) * h[i];
      for (double &x : z)
        x = apply(l + 1 < layers.size() ? inner : last, x);
      h = z;
    }
    return h;
  }
};

/// Draws weights uniformly from +-1/sqrt(inputs), like PyTorch's Linear, times `gain`.
inline Network draw(std::mt19937_64 &random, std::vector<int64_t> widths, int64_t heads,
                    double gain = 1.0) {
  Network network;
  widths.push_back(heads);
  int64_t inputs = 1;
  for (int64_t outputs : widths) {
    double bound = gain / std::sqrt(double(inputs));
    std::uniform_real_distribution<double> uniform(-bound, bound);
    Network::Layer layer{std::vector<float>(outputs * inputs), std::vector<float>(outputs), outputs,
                         inputs};
    for (float &x : layer.weight)
      x = float(uniform(random));
    for (float &x : layer.bias)
      x = float(uniform(random));
    network.layers.push_back(layer);
    inputs = outputs;
  }
  return network;
}

/// The first hidden layer is a zigzag of 32 pieces between 0 and 1. Each of the 32 units of the
/// second layer cuts every piece, which gives 32 * 33 segments.
inline Network zigzag() {
  Network network;
  Network::Layer first{{}, {}, 32, 1}, second{{}, {}, 32, 32}, last{{}, {0.0f}, 1, 32};
  for (int k = 0; k < 32; ++k) {
    first.weight.push_back(1.0f);
    first.bias.push_back(float(-k) / 32);
  }
  for (int unit = 0; unit < 32; ++unit) {
    for (int k = 0; k < 32; ++k)
      second.weight.push_back(k == 0 ? 32.0f : k % 2 ? -64.0f : 64.0f);
    second.bias.push_back(-(float(unit) + 0.5f) / 32);
    last.weight.push_back(unit % 2 ? -1.0f : 1.0f);
  }
  network.layers = {first, second, last};
  return network;
}

/// An argument block followed by its links, and tables surrounded by guard elements.
struct Call {
  Call(const Network &network, std::vector<float> u, std::vector<float> v, int64_t heads,
       int64_t capacity, int64_t degree = 1, double tolerance = 1e-5)
      : u(std::move(u)), v(std::move(v)), knots(capacity + 3, kGuard),
        coefficients(heads * capacity * (degree + 1) + 2, kGuard), capacity(capacity),
        degree(degree) {
    std::vector<Link> links = network.view();
    block.resize((sizeof(PeFindSegments) + links.size() * sizeof(Link)) / 8);
    PeFindSegments call = {this->u.data(),
                           1,
                           int64_t(this->u.size()),
                           int64_t(this->u.size()),
                           this->v.data(),
                           int64_t(this->v.size()),
                           knots.data() + 1,
                           coefficients.data() + 1,
                           &count,
                           heads,
                           capacity,
                           degree,
                           tolerance,
                           int64_t(links.size())};
    std::memcpy(block.data(), &call, sizeof call);
    std::memcpy(block.data() + sizeof call / 8, links.data(), links.size() * sizeof(Link));
  }
  void run() { pe_find_segments(reinterpret_cast<const PeFindSegments *>(block.data())); }

  /// Returns the end of piece `index` - 1, or the start of the first piece for index 0.
  float knot(int64_t index) const { return knots[1 + index]; }
  float coefficient(int64_t head, int64_t piece, int64_t power) const {
    return coefficients[1 + (head * capacity + piece) * (degree + 1) + power];
  }
  int64_t pieceOf(float t) const {
    int64_t k = 0;
    for (int32_t z = 1; z < count; ++z)
      k += knot(z) < t;
    return k;
  }
  float value(int64_t head, float t) const {
    const int64_t k = pieceOf(t);
    const float x = degree > 1 ? t - 0.5f * (knot(k) + knot(k + 1)) : t;
    float value = 0;
    for (int64_t power = degree; power >= 0; --power)
      value = value * x + coefficient(head, k, power);
    return value;
  }
  double slope(int64_t head, float t) const {
    const int64_t k = pieceOf(t);
    const double x = degree > 1 ? t - 0.5f * (knot(k) + knot(k + 1)) : t;
    double value = 0;
    for (int64_t power = degree; power > 0; --power)
      value = value * x + double(power) * coefficient(head, k, power);
    return value;
  }
  bool guardsStand() const {
    return knots.front() == kGuard && knots.back() == kGuard && coefficients.front() == kGuard &&
           coefficients.back() == kGuard;
  }

  static constexpr float kGuard = 12345.0f;
  std::vector<float> u, v, knots, coefficients;
  int64_t capacity, degree;
  int32_t count = -1;
  std::vector<int64_t> block;
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_DEVICE_CPU_SEGMENTNETWORKS_H

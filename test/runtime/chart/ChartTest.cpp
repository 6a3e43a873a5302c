//===- ChartTest.cpp - Axes, colours, pictures and their numbers ----------===//

#include "runtime/chart/ColorMap.h"
#include "runtime/chart/Csv.h"
#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "runtime/chart/SvgWriter.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace pe::chart;

namespace {

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

bool contains(const std::string &text, const std::string &part) { return count(text, part) > 0; }

TEST(Axis, TicksAreRoundAndInside) {
  EXPECT_EQ(axisTicks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axisTicks(0, 1 - 1e-7, 2), (std::vector<double>{0, 0.5, 1}));
  for (auto [low, high] : {std::pair{1.93, 4.87}, {-3.2, 0.0}, {0.001, 0.0042}, {-1e30, 2e30}}) {
    std::vector<double> ticks = axisTicks(low, high, 5);
    EXPECT_GE(ticks.size(), 3u);
    EXPECT_LE(ticks.size(), 9u);
    const double slack = 1e-3 * (ticks[1] - ticks[0]);
    EXPECT_GE(ticks.front(), low - slack);
    EXPECT_LE(ticks.back(), high + slack);
  }
}

TEST(Axis, RangesWithoutTicks) {
  EXPECT_TRUE(axisTicks(1, 1, 5).empty());
  EXPECT_TRUE(axisTicks(2, 1, 5).empty());
  EXPECT_TRUE(axisTicks(0, INFINITY, 5).empty());
  EXPECT_TRUE(axisTicks(-1e308, 1e308, 5).size() < 12);
  EXPECT_TRUE(axisTicks(NAN, 1, 5).empty());
  EXPECT_LE(axisTicks(1, std::nextafter(1, 2), 5).size(), 2u);
}

TEST(Axis, LogarithmicTicksArePowers) {
  Scale octaves{.kind = Scale::Kind::Log2, .low = 1, .high = 8192, .from = 0, .to = 520};
  EXPECT_EQ(octaves.ticks(40).size(), 14u);
  EXPECT_EQ(octaves.ticks(41), (std::vector<double>{1, 4, 16, 64, 256, 1024, 4096}));
  EXPECT_DOUBLE_EQ(octaves(64), 240);
  Scale decades{.kind = Scale::Kind::Log10, .low = 10, .high = 1e4, .from = 300, .to = 0};
  EXPECT_EQ(decades.ticks(60), (std::vector<double>{10, 100, 1000, 10000}));
  // Within a decade: parts of it.
  Scale part{.kind = Scale::Kind::Log10, .low = 30, .high = 300, .from = 300, .to = 0};
  EXPECT_EQ(part.ticks(40), (std::vector<double>{50, 100, 200}));
}

TEST(Axis, TicksHaveTheirGap) {
  for (double high : {0.3, 1.0, 7.0, 64.0, 1234.5})
    for (double gap : {20.0, 40.0, 90.0}) {
      Scale scale{.low = -high / 3, .high = high, .from = 0, .to = 300};
      std::vector<double> ticks = scale.ticks(gap);
      EXPECT_GE(ticks.size(), 1u) << high << " " << gap;
      for (size_t n = 1; n < ticks.size(); ++n)
        EXPECT_GE(scale(ticks[n]) - scale(ticks[n - 1]), gap - 1e-9);
    }
}

TEST(Axis, NumbersAreShort) {
  for (auto [number, text] : {std::pair{0.0, "0"},
                              {-0.0, "0"},
                              {8192.0, "8192"},
                              {-0.05, "-0.05"},
                              {0.1 + 0.2, "0.3"},
                              {1048576.0, "1048576"},
                              {2.5e-6, "2.5e-6"},
                              {1e-10, "1e-10"},
                              {-3e20, "-3e20"},
                              {123456.75, "1.235e5"},
                              {INFINITY, "inf"},
                              {-INFINITY, "-inf"}})
    EXPECT_EQ(formatNumber(number), text);
  EXPECT_EQ(formatNumber(NAN), "NaN");
}

double distance(const OkLab &a, const OkLab &b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(ColorMap, EqualStepsLookEqual) {
  // Steps of 1/16, so that the rounding of channels does not count.
  std::vector<double> steps;
  for (int n = 0; n < 16; ++n)
    steps.push_back(distance(toOkLab(mapColor(n / 16.0)), toOkLab(mapColor((n + 1) / 16.0))));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_LT(*most / *least, 1.15); // straight lines across a curve
}

TEST(ColorMap, LightnessOnlyRises) {
  double before = 0;
  for (int n = 0; n <= 32; ++n) {
    const double lightness = toOkLab(mapColor(n / 32.0))[0];
    EXPECT_GT(lightness, before) << n;
    before = lightness;
  }
  EXPECT_LT(toOkLab(mapColor(0))[0], 0.3);
  EXPECT_GT(toOkLab(mapColor(1))[0], 0.9);
}

TEST(ColorMap, WhiteIsLightAndBlackIsDark) {
  EXPECT_NEAR(toOkLab({255, 255, 255})[0], 1, 1e-6);
  EXPECT_NEAR(toOkLab({255, 255, 255})[1], 0, 1e-6);
  EXPECT_NEAR(toOkLab({0, 0, 0})[0], 0, 1e-9);
  EXPECT_EQ(mapColor(-1), mapColor(0));
  EXPECT_EQ(mapColor(2), mapColor(1));
  EXPECT_EQ(mapColor(NAN), mapColor(0));
  EXPECT_EQ(hexOf({1, 171, 255}), "#01abff");
}

TEST(ColorMap, LinesAreTellableApart) {
  for (size_t a = 0; a < kLineColors; ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_NE(lineColor(a), lineColor(b));
  EXPECT_EQ(lineColor(kLineColors), lineColor(0));
}

TEST(Svg, EscapesText) {
  EXPECT_EQ(escapeXml("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
  EXPECT_EQ(escapeXml(std::string("a\0\x1b\n", 4)), "a???");
  EXPECT_EQ(escapeXml("\xce\xb1 \xff \xc3"), "\xce\xb1 ? ?"); // alpha; no UTF-8
  EXPECT_EQ(escapeXml("\xed\xa0\x80\xef\xbf\xbf\xc0\x80"),
            "????????"); // surrogate, U+FFFF, overlong
}

TEST(LineChart, DrawsWithoutData) {
  EXPECT_TRUE(contains(toSvg(LineChart{}), "</svg>"));
  LineChart one{.series = {{.name = "a", .points = {{5, 5}}}}};
  EXPECT_FALSE(contains(toSvg(one), "nan"));
  one.x = one.y = Scale::Kind::Log10;
  EXPECT_FALSE(contains(toSvg(one), "nan"));
  one.series[0].points = {{0, -1}, {-1, 0}, {NAN, INFINITY}, {1e308, 1}, {1, -1e308}, {1, 1e308}};
  EXPECT_FALSE(contains(toSvg(one), "nan"));
  EXPECT_FALSE(contains(toSvg(one), "inf"));
  one.x = one.y = Scale::Kind::Linear;
  EXPECT_FALSE(contains(toSvg(one), "nan"));
}

TEST(LineChart, ValuesThatAreNotFiniteInterruptTheLine) {
  LineChart chart{.series = {{.name = "a", .points = {{0, 1}, {1, 2}, {2, NAN}, {3, 1}, {4, 3}}}}};
  const std::string svg = toSvg(chart);
  const size_t begin = svg.find(" d=\"", svg.find("class=\"line\""));
  const std::string path = svg.substr(begin, svg.find("\"/>", begin) - begin);
  EXPECT_EQ(count(path, "M"), 2u);
  EXPECT_EQ(count(path, "L"), 2u);
}

TEST(LineChart, ZeroHasAPlaceBesideALogarithm) {
  LineChart chart{.series = {{.name = "a", .points = {{0, 1}, {1, 2}, {64, 3}}}},
                  .x = Scale::Kind::Log2};
  EXPECT_FALSE(contains(toSvg(chart), "<circle"));
  chart.zeroBesideLog = true;
  EXPECT_EQ(count(toSvg(chart), "<circle"), 1u);
  EXPECT_TRUE(contains(toSvg(chart), ">0</text>"));
}

TEST(LineChart, LabelsDoNotOverlap) {
  LineChart chart;
  for (int n = 0; n < 40; ++n)
    chart.series.push_back({.name = "s" + std::to_string(n), .points = {{0, 0}, {1, 1e-3 * n}}});
  const std::string svg = toSvg(chart);
  std::vector<double> places;
  for (size_t at = svg.find("font-weight=\"600\">s"); at != std::string::npos;
       at = svg.find("font-weight=\"600\">s", at + 1)) {
    const size_t text = svg.rfind(" y=\"", at);
    places.push_back(std::stod(svg.substr(text + 4)));
  }
  ASSERT_EQ(places.size(), 40u);
  std::sort(places.begin(), places.end());
  for (size_t n = 1; n < places.size(); ++n)
    EXPECT_GE(places[n] - places[n - 1], kFontSize);
}

TEST(Heatmap, RunsOfEqualCellsAreOneStroke) {
  Heatmap map{.panels = {{.title = "a", .rows = {{0, 0, 1}, {NAN, 1, 1}}}}};
  const std::string svg = toSvg(map);
  EXPECT_TRUE(contains(svg, "M0 0.5h2\""));
  EXPECT_TRUE(contains(svg, "M2 0.5h1M1 1.5h2\""));
  EXPECT_TRUE(contains(svg, hexOf(mapColor(0))));
  EXPECT_TRUE(contains(svg, hexOf(mapColor(1))));
  EXPECT_FALSE(contains(svg, "nan"));
}

TEST(Heatmap, SharesColorsOnRequest) {
  Heatmap map{.panels = {{.rows = {{0, 1}}}, {.rows = {{2, 4}}}}};
  const auto darkest = [&] { return count(toSvg(map), "<path stroke=\"" + hexOf(mapColor(0))); };
  EXPECT_EQ(darkest(), 2u);
  map.sharedColors = true;
  EXPECT_EQ(darkest(), 1u);
}

TEST(Heatmap, DrawsWithoutData) {
  EXPECT_TRUE(contains(toSvg(Heatmap{}), "</svg>"));
  Heatmap flat{.panels = {{.rows = {{3, 3}}}, {.rows = {{NAN, NAN}}}, {.rows = {}}}};
  EXPECT_FALSE(contains(toSvg(flat), "nan"));
  EXPECT_FALSE(contains(toSvg(flat), "inf"));
}

TEST(Csv, NumbersAreReadBackUnchanged) {
  Csv csv({"name", "a,b", "x"});
  csv.add({std::string("say \"hi\""), int64_t(-3), 0.1});
  csv.add({std::string("plain"), int64_t(0), static_cast<double>(0.1F)});
  csv.add({std::string(""), int64_t(1), -INFINITY});
  csv.add({std::string(""), int64_t(1), -NAN});
  EXPECT_EQ(csv.text(), "name,\"a,b\",x\n\"say \"\"hi\"\"\",-3,0.1\nplain,0,0.10000000149011612\n"
                        ",1,-inf\n,1,nan\n");
}

} // namespace

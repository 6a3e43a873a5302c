//===- ChartTest.cpp - Tests of charts ------------------------------------===//

#include "runtime/chart/ColorMap.h"
#include "runtime/chart/Csv.h"
#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "runtime/chart/Smoothing.h"
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

/// Returns the coordinates of the path of the first series.
std::string pathOf(const std::string &svg) {
  const size_t begin = svg.find(" d=\"", svg.find("class=\"line\""));
  return svg.substr(begin, svg.find("\"/>", begin) - begin);
}

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
  // A range within a decade has ticks at parts of it.
  Scale part{.kind = Scale::Kind::Log10, .low = 30, .high = 300, .from = 300, .to = 0};
  EXPECT_EQ(part.ticks(40), (std::vector<double>{50, 100, 200}));
}

TEST(Axis, TicksRespectTheGap) {
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
  // Steps of 1/16 are large enough for the rounding of channels not to matter.
  std::vector<double> steps;
  for (int n = 0; n < 16; ++n)
    steps.push_back(distance(toOkLab(mapColor(n / 16.0)), toOkLab(mapColor((n + 1) / 16.0))));
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_LT(*most / *least, 1.15); // chords are shorter than the curve
}

TEST(ColorMap, LightnessIncreasesMonotonically) {
  double before = 0;
  for (int n = 0; n <= 32; ++n) {
    const double lightness = toOkLab(mapColor(n / 32.0))[0];
    EXPECT_GT(lightness, before) << n;
    before = lightness;
  }
  EXPECT_LT(toOkLab(mapColor(0))[0], 0.3);
  EXPECT_GT(toOkLab(mapColor(1))[0], 0.9);
}

TEST(ColorMap, SignedNumbersDivergeFromNearWhite) {
  EXPECT_GT(toOkLab(mapSignedColor(0))[0], 0.95);
  EXPECT_EQ(mapSignedColor(NAN), mapSignedColor(0));
  for (double sign : {-1.0, 1.0}) {
    double before = 1;
    std::vector<double> steps;
    for (int n = 0; n < 16; ++n) {
      const OkLab here = toOkLab(mapSignedColor(sign * n / 16)),
                  next = toOkLab(mapSignedColor(sign * (n + 1) / 16));
      steps.push_back(distance(here, next));
      EXPECT_LT(next[0], before);
      before = next[0];
    }
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    EXPECT_LT(*most / *least, 1.25);
  }
  EXPECT_LT(toOkLab(mapSignedColor(-1))[2], -0.05); // blue
  EXPECT_GT(toOkLab(mapSignedColor(1))[1], 0.05);   // red
}

TEST(ColorMap, NoCellHasTheColorOfALine) {
  // The style sheet for dark mode selects lines by their color.
  for (size_t line = 0; line < kLineColors; ++line)
    for (int n = -64; n <= 64; ++n) {
      EXPECT_NE(lineColor(line), hexOf(mapSignedColor(n / 64.0)));
      EXPECT_NE(lineColor(line), hexOf(mapColor(n / 64.0)));
    }
}

/// Returns the relative luminance of "#rrggbb" as defined by WCAG 2.
double luminance(std::string_view hex) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (int c = 0; c < 3; ++c) {
    const double value = std::stoi(std::string(hex.substr(1 + 2 * c, 2)), nullptr, 16) / 255.0;
    sum += weights[c] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(ColorMap, LinesHaveContrastOnDarkBackgrounds) {
  for (size_t n = 0; n < kLineColors; ++n)
    EXPECT_GT((luminance(darkLineColor(n)) + 0.05) / (luminance("#0d1117") + 0.05), 4.5) << n;
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

TEST(ColorMap, LineColorsAreDistinguishable) {
  for (size_t a = 0; a < kLineColors; ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_NE(lineColor(a), lineColor(b));
  EXPECT_EQ(lineColor(kLineColors), lineColor(0));
}

TEST(Svg, EscapesText) {
  EXPECT_EQ(escapeXml("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
  EXPECT_EQ(escapeXml(std::string("a\0\x1b\n", 4)), "a???");
  EXPECT_EQ(escapeXml("\xce\xb1 \xff \xc3"), "\xce\xb1 ? ?"); // alpha, invalid UTF-8
  EXPECT_EQ(escapeXml("\xed\xa0\x80\xef\xbf\xbf\xc0\x80"),
            "????????"); // surrogate, U+FFFF, overlong
}

TEST(Svg, WrapsText) {
  EXPECT_EQ(wrapText("", 10, 100), std::vector<std::string>{});
  EXPECT_EQ(wrapText("a bb ccc", 10, 1000), std::vector<std::string>{"a bb ccc"});
  EXPECT_EQ(wrapText("aaaa bbbb cccc", 10, 60), (std::vector<std::string>{"aaaa bbbb", "cccc"}));
  EXPECT_EQ(wrapText("longer", 10, 1), std::vector<std::string>{"longer"});
}

TEST(Svg, FilesHaveColorsForDarkMode) {
  const std::string svg = toSvg(LineChart{.series = {{.name = "a", .points = {{0, 1}, {1, 2}}}}});
  const std::string file = asFile(svg);
  EXPECT_FALSE(contains(svg, "<style>"));
  EXPECT_TRUE(contains(file, "@media (prefers-color-scheme:dark){.page{"));
  EXPECT_TRUE(contains(file, "[stroke=\"" + std::string(lineColor(0)) + "\"]"));
  EXPECT_LT(file.find("<svg"), file.find("<style>"));
  EXPECT_LT(file.find("</style>"), file.find("class=\"page\""));
}

TEST(Smoothing, MeansHaveNoInitializationBias) {
  RunningMean mean(0.9);
  EXPECT_TRUE(std::isnan(mean.value()));
  EXPECT_DOUBLE_EQ(mean.add(6.5), 6.5);
  EXPECT_DOUBLE_EQ(mean.add(4.25), (0.9 * 0.1 * 6.5 + 0.1 * 4.25) / (1 - 0.9 * 0.9));
  RunningMean constant(0.9);
  for (int n = 0; n < 5; ++n)
    EXPECT_DOUBLE_EQ(constant.add(3), 3);
}

TEST(Smoothing, CurvesDoNotLag) {
  std::vector<double> falling;
  for (int n = 0; n < 300; ++n)
    falling.push_back(6 - 0.01 * n);
  const std::vector<double> means = smoothed(falling, 0.9);
  for (int n = 0; n < 200; ++n) // a mean of only earlier values is 0.09 too high
    EXPECT_NEAR(means[n], falling[n], 1e-9) << n;
  EXPECT_NEAR(means.back(), falling.back() + 0.09, 1e-3); // there are no later values
}

TEST(Smoothing, IgnoresNonFiniteValues) {
  const std::vector<double> means = smoothed({1, NAN, 1, INFINITY, 1}, 0.5);
  for (double mean : means)
    EXPECT_DOUBLE_EQ(mean, 1);
  EXPECT_TRUE(std::isnan(smoothed({NAN}, 0.5)[0]));
  EXPECT_TRUE(smoothed({}, 0.5).empty());
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

TEST(LineChart, NonFiniteValuesInterruptTheLine) {
  LineChart chart{.series = {{.name = "a", .points = {{0, 1}, {1, 2}, {2, NAN}, {3, 1}, {4, 3}}}}};
  const std::string path = pathOf(toSvg(chart));
  EXPECT_EQ(count(path, "M"), 2u);
  EXPECT_EQ(count(path, "L"), 2u);
}

TEST(LineChart, MarksClippedLines) {
  LineChart chart{.series = {{.name = "a", .points = {{0, 0}, {1, -10}, {2, -1000}, {3, -2000}}},
                             {.name = "b", .points = {{0, 0}, {3, -5}}}}};
  EXPECT_FALSE(contains(toSvg(chart), "l-4.5 7z"));
  EXPECT_TRUE(contains(toSvg(chart), ">-2000<"));
  chart.yMin = -30;
  const std::string svg = toSvg(chart);
  EXPECT_EQ(count(svg, "l-4.5 7z"), 1u);
  EXPECT_TRUE(contains(svg, ">-30<"));
  EXPECT_FALSE(contains(svg, ">-40<"));
  EXPECT_EQ(count(pathOf(svg), "L"), 3u); // the line continues outside the frame
}

TEST(LineChart, MarksMinusInfinity) {
  LineChart chart{.series = {{.name = "a", .points = {{1, 0}, {2, -1}}}}};
  const auto crosses = [&] { return count(toSvg(chart), "l6 -6m-6 0l6 6"); };
  EXPECT_EQ(crosses(), 0u);
  chart.series[0].points.insert(chart.series[0].points.end(), {{3, -INFINITY}, {800, -INFINITY}});
  EXPECT_EQ(crosses(), 1u);
  EXPECT_TRUE(contains(toSvg(chart), ">800<")); // the axis includes it
  EXPECT_FALSE(contains(toSvg(chart), "inf"));
}

TEST(LineChart, WrapsLongSubtitles) {
  LineChart chart{.width = 400};
  for (int n = 0; n < 30; ++n)
    chart.subtitle += "words ";
  EXPECT_GE(count(toSvg(chart), "class=\"soft\""), 2u);
  EXPECT_TRUE(contains(toSvg(chart), "width=\"400\""));
}

TEST(LineChart, DrawsZeroNextToALogarithmicAxis) {
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

TEST(Heatmap, SignedNumbersHaveColorsAroundZero) {
  Heatmap map{.panels = {{.rows = {{-4, 0, 2}}}}, .colors = HeatmapColors::Signed};
  const std::string svg = toSvg(map);
  for (double share : {-1.0, 0.0, 0.5})
    EXPECT_TRUE(contains(svg, "<path stroke=\"" + hexOf(mapSignedColor(share)))) << share;
  EXPECT_FALSE(contains(svg, hexOf(mapSignedColor(1)))); // the bar ends at the largest value
}

TEST(Heatmap, SignedNumbersFarFromZeroAreSequential) {
  Heatmap map{.panels = {{.rows = {{5.0, 5.25, 5.5}}}}, .colors = HeatmapColors::Signed};
  EXPECT_TRUE(contains(toSvg(map), "<path stroke=\"" + hexOf(mapColor(1))));
  EXPECT_FALSE(contains(toSvg(map), hexOf(mapSignedColor(1))));
}

TEST(Heatmap, NeutralColorsHaveALegend) {
  Heatmap map{.valueLabel = "bias (logits)",
              .panels = {{.rows = {{1, NAN, 2}, {3, 4, -INFINITY}}}}};
  EXPECT_FALSE(contains(toSvg(map), ">masked<"));
  map.emptyLabel = "masked";
  const std::string svg = toSvg(map);
  EXPECT_TRUE(contains(svg, ">masked<"));
  EXPECT_TRUE(contains(svg, ">-inf<"));
  EXPECT_TRUE(contains(svg, ">bias (logits)<"));
  EXPECT_TRUE(contains(svg, "M2 1.5h1")); // the cell of -inf has a separate color
  map.panels[0].rows[1][2] = 5;
  EXPECT_FALSE(contains(toSvg(map), ">-inf<"));
}

TEST(Heatmap, CellsWithOneValueHaveALegendInsteadOfABar) {
  Heatmap map{.valueLabel = "x",
              .panels = {{.rows = {{1, NAN}}}},
              .fullLabel = "seen",
              .emptyLabel = "masked"};
  EXPECT_TRUE(contains(toSvg(map), ">seen<"));
  EXPECT_FALSE(contains(toSvg(map), ">x<"));
}

TEST(Heatmap, PanelsFitTheWidth) {
  Heatmap map{.valueLabel = "x", .size = 240, .width = kPictureWidth};
  for (int n = 0; n < 8; ++n) {
    map.panels.push_back({.rows = {{0.0, 1.0 + n}, {2, 3}}});
    EXPECT_TRUE(contains(toSvg(map), "width=\"700\"")) << n;
  }
  // Ticks match the smaller panels.
  map.panels.resize(3);
  map.panels[0].rows.assign(128, std::vector<double>(128, 1));
  const std::string svg = toSvg(map);
  const double height = std::stod(svg.substr(svg.find(" height=\"") + 9));
  EXPECT_TRUE(contains(svg, ">100<") && height < 250) << height;
  const size_t tick = svg.find(">100<");
  EXPECT_LT(std::stod(svg.substr(svg.rfind(" y=\"", tick) + 4)), height - 30);
  for (int n = 0; n < 5; ++n)
    map.panels.push_back(map.panels[1]);
  map.sharedColors = true; // one bar per row of panels leaves room for four
  EXPECT_EQ(count(toSvg(map), ">x<"), 2u);
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

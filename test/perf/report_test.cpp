// The table and the JSON of results with and without an algorithmic bound.
#include "perf/support/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "perf/support/read_report.h"
#include "support/temporary_folder.h"

namespace mluop::perf {
namespace {

constexpr double kPeak = 1e12;

// Latency 100 ms, stream bound 20 ms, compute bound 50 ms.
Result result() {
  Result measured;
  measured.op = "indice_convolution_forward";
  measured.name = "k311_128x128";
  measured.dtype = "float";
  measured.algorithm = "native";
  measured.size = {"1", 1};
  measured.threads = 2;
  measured.work = {1000, 1000, 50'000'000'000};
  measured.latency = {0.1};
  measured.stream_bound_ordinary = {0.02};
  measured.stream_bound_non_temporal = {0.03};
  measured.first_call = {0.2};
  return measured;
}

Result with_bound(double seconds) {
  Result measured = result();
  measured.algorithmic_bound = {seconds};
  return measured;
}

Report report_of(const std::vector<Result>& results) {
  return {{"0.1.0", "Some CPU", "AVX2", "", {{2, kPeak}, {16, kPeak}}}, results};
}

std::string table(const std::vector<Result>& results) {
  std::ostringstream out;
  write_table(out, report_of(results));
  return out.str();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(PerfReport, ColumnOfTheAlgorithmicBound) {
  const std::string text = table({with_bound(0.08), result()});
  EXPECT_TRUE(has(text, "  stream    algo GFLOP/s")) << text;
  EXPECT_TRUE(has(text, "  20.000  80.000   500.0")) << text;
  EXPECT_TRUE(has(text, "  20.000       -   500.0")) << text;
}

TEST(PerfReport, NoColumnWithoutAlgorithmicBound) {
  const std::string text = table({result()});
  EXPECT_TRUE(has(text, "  stream GFLOP/s")) << text;
  EXPECT_FALSE(has(text, "max bound / latency")) << text;
}

// The largest of stream, compute and algorithmic bound / latency.
TEST(PerfReport, SummaryOfTheLargestBound) {
  EXPECT_TRUE(has(table({with_bound(0.08)}), "max bound / latency: median 0.80\n"));
  EXPECT_TRUE(has(table({with_bound(0.04)}), "max bound / latency: median 0.50\n"));
  EXPECT_TRUE(has(table({with_bound(0.08), with_bound(0.06), result(), with_bound(0.09)}), "median 0.80\n"));
}

// The rest of the latency belongs to the layers between the operators. Only rows of networks have steps.
TEST(PerfReport, StepsOfANetwork) {
  Result network = result();
  network.op = "networks";
  network.name = "net";
  network.latency = {2.5};
  network.steps = {{"a_long_name_of_an_operator", {1.9, 2, 2.1}}, {"short", {0.1}}};
  const std::string text = table({result(), network});
  EXPECT_TRUE(has(text, "\n  net                           2500.0 200.000")) << text;
  EXPECT_TRUE(has(text,
                  "\n    a_long_name_of_an_operator  2000.0\n    short                      100.000\n"
                  "    dense layers               400.000\n"))
      << text;
  EXPECT_EQ(text.find("    dense layers"), text.rfind("    dense layers")) << text;
  const auto json = report_json(report_of({result(), network}));
  EXPECT_FALSE(json["cases"][0].contains("steps"));
  EXPECT_EQ(json["cases"][1]["steps"]["a_long_name_of_an_operator"]["median"].get<double>(), 2);
}

TEST(PerfReport, AtMost100Columns) {
  std::vector<Result> results{with_bound(0.08), with_bound(0.07), with_bound(9.8765)};
  results[1].size = {"1/16", 1.0 / 16};
  results[1].threads = 16;
  results[1].cache = Cache::kCold;
  for (Result& each : results) {
    each.memory = {{1000, 100}, 100};
    each.baselines = {{"gather-sgemm-scatter", {0.5}}, {"serial", {12.5}}};
  }
  std::istringstream lines(table(results));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(PerfReport, JsonOfTheAlgorithmicBound) {
  Result measured = with_bound(0.08);
  measured.algorithmic_bound = {0.07, 0.08, 0.09};
  const auto json = report_json(report_of({measured, result()}));
  EXPECT_EQ(json["cases"][0]["algorithmic_bound"]["samples"].get<Samples>(), measured.algorithmic_bound);
  EXPECT_DOUBLE_EQ(json["cases"][0]["algorithmic_bound"]["median"].get<double>(), 0.08);
  EXPECT_DOUBLE_EQ(json["cases"][0]["max_bound_efficiency"].get<double>(), 0.8);
  EXPECT_FALSE(json["cases"][1].contains("algorithmic_bound"));
  EXPECT_FALSE(json["cases"][1].contains("max_bound_efficiency"));
  const test::TemporaryFolder folder;
  const std::string name = folder.path() / "report.json";
  std::ofstream file(name);
  write_json(file, json);
  file.close();
  EXPECT_EQ(read_report(name), json);
}

}  // namespace
}  // namespace mluop::perf

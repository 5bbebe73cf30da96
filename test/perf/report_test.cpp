// The tables and the JSON of results.
#include "perf/support/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/temporary_folder.h"

namespace mluop::perf {
namespace {

using ::testing::HasSubstr;

constexpr int kThreads = 2;
constexpr double kPeak = 1e12;
const Size kHalf{"1/2", 0.5}, kOne{"1", 1}, kTwo{"2", 2};

Result result_of(const Size& size, double seconds, double stream_seconds, int64_t bytes, int64_t ops = 0) {
  Result measured;
  measured.op = "indice_convolution_forward";
  measured.name = "some_case";
  measured.dtype = "float";
  measured.algorithm = "native";
  measured.size = size;
  measured.threads = kThreads;
  measured.fma_peak = kPeak;
  measured.work = {bytes / 2, bytes - bytes / 2, ops};
  measured.latency = {seconds};
  measured.stream_bound_ordinary = {stream_seconds};
  measured.stream_bound_non_temporal = {2 * stream_seconds};
  return measured;
}

// Latency 100 ms, stream bound 20 ms, compute bound 50 ms.
Result result() {
  Result measured = result_of(kOne, 0.1, 0.02, 2000, 50'000'000'000);
  measured.first_call = {0.2};
  return measured;
}

Result with_bound(double seconds) {
  Result measured = result();
  measured.algorithmic_bound = {seconds};
  return measured;
}

Report report_of(const std::vector<Result>& results) {
  return {{"0.1.0", "Some CPU", "AVX2", "", {{kThreads, kPeak}, {16, kPeak}}}, results};
}

std::string table(const std::vector<Result>& results) {
  std::ostringstream out;
  write_table(out, report_of(results));
  return out.str();
}

TEST(PerfReport, Table) {
  Result failed = result();
  failed.problem = "output differs";
  EXPECT_THAT(
      table({with_bound(0.08), result(), failed}),
      ::testing::StartsWith("mluop-omp 0.1.0 on Some CPU, AVX2\n"
                            "FMA peak: 1000.0 GFLOP/s with 2 threads, 1000.0 GFLOP/s with 16 threads\n"
                            "all cases: 2 threads, network size, warm caches\n\n"
                            "indice_convolution_forward\n"
                            "  case      latency   first  stream    algo GFLOP/s   io compute\n"
                            "  - float, native\n"
                            "  some_case 100.000 200.000  20.000  80.000   500.0 0.20   0.50*\n"
                            "  some_case 100.000 200.000  20.000       -   500.0 0.20   0.50*\n"
                            "  some_case   FAILED\n    output differs\n\n"
                            "summary\n"
                            "indice_convolution_forward          2 of 3 verified; native: efficiency 0.50 to "
                            "0.50, median 0.50\n"
                            "    max bound / latency: median 0.80\n\n"));
  EXPECT_THAT(table({result()}), HasSubstr("  case      latency   first  stream GFLOP/s   io compute\n"));
}

// The summary shows the largest of stream, compute and algorithmic bound, divided by latency.
TEST(PerfReport, SummaryOfTheLargestBound) {
  EXPECT_THAT(table({with_bound(0.04)}), HasSubstr("max bound / latency: median 0.50\n"));
  EXPECT_THAT(table({with_bound(0.08), with_bound(0.06), result(), with_bound(0.09)}), HasSubstr("median 0.80\n"));
}

std::string lines(const std::vector<Result>& results) {
  std::ostringstream out;
  write_lines(out, report_of(results));
  return out.str();
}

// The first result of each family, in words.
TEST(PerfReport, Lines) {
  Result forward = result(), backward = result(), other = with_bound(0.08), network = result();
  forward.baselines = {{"gather-sgemm-scatter", {0.5}}, {"serial", {0.6}}};
  backward.op = "indice_convolution_backward_data";
  other.op = "voxel_pooling_backward";
  other.latency = {0.00012};
  other.stream_bound_ordinary = {0.00009};
  other.algorithmic_bound = {0.00006};
  other.work.ops = 0;
  network.op = kNetworks;
  network.latency = {2.5};
  network.steps = {{"a", {1.5}}, {"b", {0.5}}};
  EXPECT_EQ(lines({backward, forward, other, network}),
            "indice convolution, some_case: 100.0 ms, 0.50 of the FMA peak, 5.0 times as fast as "
            "gather-sgemm-scatter\n"
            "voxel pooling backward, some_case: 120 us, 0.75 of the memory limit\n"
            "some_case: 2.5 s, 80% of it in operators\n\n");
  EXPECT_THAT(lines({with_bound(0.08)}), HasSubstr("100.0 ms, 0.80 of the limit of its steps\n"));
  Result failed = result();
  failed.problem = "output differs";
  EXPECT_THAT(lines({failed}), HasSubstr("indice convolution, some_case: FAILED, see the table\n"));
}

// A case that took longer because other processes ran is marked wherever it is shown.
TEST(PerfReport, DisturbedMeasurements) {
  Result disturbed = result();
  disturbed.other_load = 4000;
  const std::string text = "the machine was busy: other processes used 4000.0 processors";
  EXPECT_THAT(lines({disturbed}), HasSubstr(text));
  EXPECT_THAT(lines({disturbed, result()}), HasSubstr("1 of 2 measurements were disturbed"));
  EXPECT_THAT(table({disturbed}), HasSubstr(text));
  EXPECT_EQ(report_json(report_of({disturbed}))["cases"][0]["other_load"].get<double>(), 4000);
  EXPECT_THAT(table({result()}), ::testing::Not(HasSubstr("busy")));
}

// Without external files; the case that is furthest from its limit comes first; names are escaped.
TEST(PerfReport, Html) {
  Result far = result();
  far.name = "far <&\"";
  far.latency = {1};
  std::ostringstream out;
  write_html(out, report_of({result(), far}));
  const std::string page = out.str();
  EXPECT_LT(page.find("<td>indice_convolution_forward/far &lt;&amp;&quot; float native t2"),
            page.find("<td>indice_convolution_forward/some_case float native t2"));
  EXPECT_THAT(page, HasSubstr("FMA peak: 1000 GFLOP/s"));
  EXPECT_THAT(page, HasSubstr("</svg>"));
  for (const char* external : {"src=", "href=", "url(", "nan", "inf"}) EXPECT_EQ(page.find(external), page.npos);
}

// The rest of the latency belongs to the layers between the operators. Only networks have steps.
TEST(PerfReport, StepsOfANetwork) {
  Result network = result();
  network.op = "networks";
  network.name = "net";
  network.latency = {2.5};
  network.steps = {{"a_long_name_of_an_operator", {1.9, 2, 2.1}}, {"short", {0.1}}};
  const std::string text = table({result(), network});
  EXPECT_THAT(text, HasSubstr("\n  net                           2500.0 200.000"));
  EXPECT_THAT(text, HasSubstr("\n    a_long_name_of_an_operator  2000.0\n    short                      100.000\n"
                              "    dense layers               400.000\n"));
  EXPECT_EQ(text.find("    dense layers"), text.rfind("    dense layers"));
  const auto json = report_json(report_of({result(), network}));
  EXPECT_FALSE(json["cases"][0].contains("steps"));
  EXPECT_EQ(json["cases"][1]["steps"]["a_long_name_of_an_operator"]["median"].get<double>(), 2);
}

// Settings that differ have a column and a legend, baselines have a common column.
TEST(PerfReport, AllColumnsAreAtMost100) {
  std::vector<Result> results{with_bound(0.08), with_bound(0.07), with_bound(9.8765)};
  results[1].size = {"1/16", 1.0 / 16};
  results[1].threads = 16;
  results[1].cache = Cache::kCold;
  for (Result& each : results) {
    each.name = "k311_128x128";
    each.memory = {1000, 100, 100};
    each.baselines = {{"gather-sgemm-scatter", {0.5}}, {"serial", {12.5}}};
  }
  const std::string text = table(results);
  EXPECT_THAT(text, HasSubstr("forward; speed-up over gather-sgemm-scatter, serial\n"
                              "  case         size thr    $ latency   first  stream    algo GFLOP/s   io compute"
                              " memory    speed-up\n"));
  EXPECT_THAT(text, HasSubstr("\n  k311_128x128 1/16  16 cold 100.000 200.000  20.000  70.000   500.0 0.20   0.50*"
                              "  20.0%   5.0 125.0\n"));
  EXPECT_THAT(text, HasSubstr("over gather-sgemm-scatter 5.0, over serial 125.0\n"));
  for (const char* legend : {"\nsize: ", "\nthr: ", "\n$: "}) EXPECT_THAT(text, HasSubstr(legend));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(PerfReport, Json) {
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
  EXPECT_EQ(nlohmann::ordered_json::parse(std::ifstream(name)), json);
  const Report read = read_report(name);
  EXPECT_EQ(read.machine.fma_peak, report_of({}).machine.fma_peak);
  ASSERT_EQ(read.results.size(), 2U);
  EXPECT_EQ(title(read.results[1], true), title(result(), true));
  EXPECT_EQ(read.results[1].latency, result().latency);
}

// The ratios of the only case.
std::string linearity(const std::vector<Result>& results) {
  const std::string text = table(results);
  const size_t begin = text.find("  some_case float native t2 ");
  if (begin == text.npos) return "";
  return text.substr(begin + 28, text.find('\n', begin) - begin - 28);
}

TEST(PerfLinearity, LatencyByWorkAndByStreamBound) {
  constexpr auto kOps = static_cast<int64_t>(kPeak * 0.6);
  const Result one = result_of(kOne, 1, 0.5, 1000);
  const struct {
    const char* what;
    std::vector<Result> results;
    const char* expected;
  } cases[] = {
      {"proportional to the bytes",
       {result_of(kHalf, 0.5, 0.25, 500), one, result_of(kTwo, 2, 1, 2000)},
       "1.00 (1.00)  1.00 (1.00) "},
      {"fixed costs; any order of the sizes",
       {result_of(kTwo, 1.6, 1, 2000), one, result_of(kHalf, 0.7, 0.25, 500)},
       "1.40 (1.40)! 0.80 (0.80)!"},
      {"proportional to the stream bound: out of a cache", {one, result_of(kTwo, 3, 1.5, 2000)}, "1.50 (1.00) "},
      {"proportional to the bytes only", {one, result_of(kTwo, 2, 0.5, 2000)}, "1.00 (2.00) "},
      {"memory-bound for a part of the time", {one, result_of(kTwo, 3, 2.5, 2000)}, "1.50 (0.60) "},
      {"proportional to the operations, whose bound is the larger one",
       {result_of(kOne, 1, 0.5, 1000, kOps), result_of(kTwo, 2, 0.5, 1200, 2 * kOps)},
       "1.00 (2.00) "},
      {"above, within the tolerance", {one, result_of(kTwo, 2.28, 1, 2000)}, "1.14 (1.14) "},
      {"above, beyond the tolerance", {one, result_of(kTwo, 2.32, 1, 2000)}, "1.16 (1.16)!"},
      {"below, within the tolerance", {one, result_of(kTwo, 1.72, 1, 2000)}, "0.86 (0.86) "},
      {"below, beyond the tolerance", {one, result_of(kTwo, 1.68, 1, 2000)}, "0.84 (0.84)!"},
      {"no other size", {one}, ""},
      {"no network size", {result_of(kHalf, 1, 0.5, 1000), result_of(kTwo, 2, 1, 2000)}, ""},
  };
  for (const auto& [what, results, expected] : cases) EXPECT_EQ(linearity(results), expected) << what;
}

// The comparison only covers verified results with the same settings.
TEST(PerfLinearity, NothingToCompare) {
  std::vector<Result> results = {result_of(kOne, 1, 0.5, 1000), result_of(kTwo, 2, 1, 2000)};
  results[1].cache = Cache::kCold;
  EXPECT_EQ(linearity(results), "");
  results[1].cache = Cache::kWarm;
  results[1].problem = "wrong";
  EXPECT_EQ(linearity(results), "");
}

}  // namespace
}  // namespace mluop::perf

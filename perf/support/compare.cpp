#include "perf/support/compare.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>
#include <vector>

#include "perf/support/timing.h"

namespace mluop::perf {
namespace {

using Json = nlohmann::ordered_json;

// Identifies a case and its settings.
struct Key {
  explicit Key(const Json& measured)
      : op(measured.at("operator")),
        text(measured.at("case").get<std::string>() + ' ' + measured.at("dtype").get<std::string>() + ' ' +
             measured.at("algorithm").get<std::string>()) {
    const int threads = measured.at("threads");
    const std::string size = measured.at("size"), cache = measured.at("cache");
    text += " t" + std::to_string(threads);
    if (size != "1") text += " x" + size;
    if (cache != "warm") text += ' ' + cache;
  }

  std::string op, text;
  bool operator<(const Key& other) const { return std::tie(op, text) < std::tie(other.op, other.text); }
};

// Half width of the 95 % confidence interval of the logarithm of the median, from order statistics; makes no
// assumption on the distribution.
double half_width(Samples samples) {
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto low = static_cast<size_t>(std::max((count - 2 * std::sqrt(count)) / 2, 0.0));
  const double middle = median(samples);
  return std::max(std::log(middle / samples[low]), std::log(samples[samples.size() - 1 - low] / middle));
}

double stream_bound_of(const Json& measured) {
  return std::min(measured.at("stream_bound_ordinary").at("median").get<double>(),
                  measured.at("stream_bound_non_temporal").at("median").get<double>());
}

struct Change {
  Change(const Json& from, const Json& to)
      : old_seconds(from.at("latency").at("median")),
        new_seconds(to.at("latency").at("median")),
        stream_ratio(stream_bound_of(to) / stream_bound_of(from)),
        noise(half_width(from.at("latency").at("samples").get<Samples>()) +
              half_width(to.at("latency").at("samples").get<Samples>()) + std::abs(std::log(stream_ratio))) {}

  double ratio() const { return new_seconds / old_seconds; }
  bool is_slower() const { return std::log(ratio()) > noise; }
  bool is_faster() const { return std::log(ratio()) < -noise; }

  double old_seconds, new_seconds, stream_ratio, noise;
};

bool is_verified(const Json& result) { return result.at("verified").get<bool>(); }

void write_machine(std::ostream& out, const char* label, const Json& run) {
  const Json& machine = run.at("machine");
  const auto text = [&](const char* name) { return machine.at(name).get<std::string>(); };
  out << label << ": mluop-omp " << text("library") << " on " << text("cpu") << ", " << text("instruction_set");
  const char* separator = "; GFLOP/s: ";
  for (const auto& [threads, peak] : machine.at("fma_peak_flops").items()) {
    out << separator << std::fixed << std::setprecision(1) << peak.get<double>() / 1e9 << " with t" << threads;
    separator = ", ";
  }
  out << '\n';
}

void write_row(std::ostream& out, int width, const std::string& name, const Change& change) {
  out << "  " << std::left << std::setw(width) << name << std::right << std::fixed << std::setprecision(3)
      << std::setw(10) << change.old_seconds * 1e3 << std::setw(10) << change.new_seconds * 1e3
      << std::setprecision(2) << std::setw(7) << change.ratio() << std::setprecision(0) << std::setw(7)
      << std::expm1(change.noise) * 100 << '%' << std::setprecision(2) << std::setw(7) << change.stream_ratio;
  if (change.is_slower()) out << "  SLOWER";
  if (change.is_faster()) out << "  faster";
  out << '\n';
}

}  // namespace

void write_comparison(std::ostream& out, const Json& old_run, const Json& new_run) {
  std::map<Key, const Json*> old_cases;
  for (const Json& result : old_run.at("cases")) {
    if (is_verified(result)) old_cases.emplace(Key(result), &result);
  }
  struct Row {
    Key key;
    Change change;
  };
  std::vector<Row> rows;
  size_t width = 4, slower = 0, faster = 0;
  for (const Json& result : new_run.at("cases")) {
    const auto old_case = old_cases.find(Key(result));
    if (!is_verified(result) || old_case == old_cases.end()) continue;
    rows.push_back({old_case->first, Change(*old_case->second, result)});
    width = std::max(width, rows.back().key.text.size());
    slower += rows.back().change.is_slower() ? 1 : 0;
    faster += rows.back().change.is_faster() ? 1 : 0;
  }
  write_machine(out, "old", old_run);
  write_machine(out, "new", new_run);
  std::string op;
  for (const Row& row : rows) {
    if (row.key.op != op) {
      op = row.key.op;
      out << '\n'
          << op << "\n  " << std::left << std::setw(static_cast<int>(width)) << "case" << std::right
          << "    old ms    new ms  ratio   noise stream\n";
    }
    write_row(out, static_cast<int>(width), row.key.text, row.change);
  }
  out << '\n'
      << rows.size() << " cases in both: " << slower << " slower, " << faster
      << " faster; not compared: " << old_run.at("cases").size() - rows.size() << " old, "
      << new_run.at("cases").size() - rows.size()
      << " new\n\n"
         "ratio: new / old median latency. noise: largest deviation from 1 explained by noise, from the samples "
         "of\n"
         "both runs and the change of the stream bound. stream: new / old stream bound, the change of the "
         "machine.\n"
         "SLOWER, faster: ratio beyond the noise. t2: 2 threads. x1/2: half the network size.\n";
}

}  // namespace mluop::perf

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "perf/support/report.h"
#include "perf/support/table.h"

namespace mluop::perf {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mluop_perf</title>
<style>
:root { color-scheme: light dark; --text: #1b1f24; --page: #fff; --line: #d0d7de; --soft: #57606a;
  --memory: #0969da; --arithmetic: #bc4c00; --steps: #8250df; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --page: #0d1117; --line: #30363d; --soft: #9198a1; --memory: #58a6ff;
    --arithmetic: #f0883e; --steps: #bc8cff; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  padding: 1rem; max-width: 80rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; } p { color: var(--soft); }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 11rem;
  overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid var(--line); }
td.reached { text-align: left; min-width: 9rem; }
.bar { display: inline-block; height: 0.6rem; border-radius: 3px; margin-right: 0.4rem; }
.memory { --kind: var(--memory); } .arithmetic { --kind: var(--arithmetic); } .steps { --kind: var(--steps); }
.bar { background: var(--kind); } circle { fill: var(--kind); } .up { stroke: var(--kind); }
span.memory, span.arithmetic, span.steps { color: var(--kind); }
svg { display: block; min-width: 44rem; width: 100%; font-size: 13px; }
svg text { fill: var(--text); } .grid { stroke: var(--line); } .roof { stroke: var(--text); fill: none; }
.failed { color: var(--arithmetic); }
</style>
</head>
<body>
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string full_title(const Result& result) {
  return result.op == kNetworks ? title(result, true) : result.op + "/" + title(result, true);
}

double bytes_of(const Result& result) {
  return static_cast<double>(result.work.read_bytes + result.work.write_bytes);
}

// A case with its limit: the time that it cannot fall below.
struct Row {
  explicit Row(const Result& of)
      : result(&of),
        figures(of),
        reached(figures.limit_efficiency()),
        kind(figures.algorithm_bound() ? "steps"
             : figures.io_bound()      ? "memory"
                                       : "arithmetic") {}

  const Result* result;
  Figures figures;
  double reached;  // the limit / latency
  const char* kind;
};

std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  for (const Result& result : report.results) {
    if (result.problem.empty()) rows.emplace_back(result);
  }
  std::ranges::stable_sort(rows, {}, &Row::reached);
  return rows;
}

// The cases with operations, over operations per byte. Both axes are logarithmic.
class Roofline {
 public:
  Roofline(std::ostream& out, const std::vector<Row>& rows) : out_(out) {
    for (const Row& row : rows) {
      if (row.result->work.ops > 0 && bytes_of(*row.result) > 0) rows_.push_back(row);
    }
    for (const Row& row : rows_) {
      peak_ = std::max(peak_, row.result->fma_peak);
      bandwidth_ = std::max(bandwidth_, bytes_of(*row.result) / row.figures.stream_bound);
    }
  }

  bool has_points() const { return !rows_.empty() && peak_ > 0; }

  void draw() {
    for (const Row& row : rows_) {
      left_ = std::min(left_, intensity(row));
      right_ = std::max(right_, intensity(row));
      low_ = std::min(low_, speed(row));
      high_ = std::max(high_, speed(row));
    }
    right_ = std::max(right_, peak_ / bandwidth_) * 2;
    left_ /= 2;
    low_ /= 2;
    high_ = std::max(high_, peak_);
    out_ << "<div class=\"wide\"><svg viewBox=\"0 0 " << kWidth << ' ' << kHeight
         << "\" role=\"img\" aria-label=\""
         << "Roofline: GFLOP/s over operations per byte\">\n";
    for (double power = std::floor(std::log10(left_)); power <= std::log10(right_); ++power) {
      const double value = std::pow(10, power);
      if (value < left_) continue;
      line("grid", x(value), kTop, x(value), kHeight - kBottom);
      text(x(value), kHeight - kBottom + 18, "middle", figure(value, power < 0 ? -static_cast<int>(power) : 0));
    }
    for (double power = std::floor(std::log10(low_)); power <= std::log10(high_); ++power) {
      const double value = std::pow(10, power);
      if (value < low_) continue;
      line("grid", kLeft, y(value), kWidth - kRight, y(value));
      const int digits = power < 9 ? 9 - static_cast<int>(power) : 0;
      text(kLeft - 6, y(value) + 4, "end", figure(value / 1e9, digits));
    }
    const double ridge = std::max(peak_ / bandwidth_, left_);
    out_ << "<polyline class=\"roof\" points=\"" << x(left_) << ',' << y(std::min(left_ * bandwidth_, peak_))
         << ' ' << x(ridge) << ',' << y(peak_) << ' ' << x(right_) << ',' << y(peak_) << "\"/>\n";
    text(kWidth - kRight, y(peak_) - 6, "end", "FMA peak: " + figure(peak_ / 1e9, 0, " GFLOP/s"));
    text((kWidth + kLeft) / 2, kHeight - 6, "middle", "operations per compulsory byte");
    text(4, kTop - 8, "start", "GFLOP/s");
    for (const Row& row : rows_) {
      const double roof =
          std::min(row.result->fma_peak, static_cast<double>(row.result->work.ops) / row.figures.stream_bound);
      out_ << "<g class=\"" << row.kind << "\"><line class=\"up\" x1=\"" << x(intensity(row)) << "\" x2=\""
           << x(intensity(row)) << "\" y1=\"" << y(speed(row)) << "\" y2=\"" << y(std::max(roof, low_))
           << "\"/><circle cx=\"" << x(intensity(row)) << "\" cy=\"" << y(speed(row)) << "\" r=\"4\"><title>"
           << escaped(full_title(*row.result)) << ": " << figure(speed(row) / 1e9, 1, " GFLOP/s, ")
           << figure(row.reached, 2, " of its limit") << "</title></circle></g>\n";
    }
    out_ << "</svg></div>\n";
  }

 private:
  static constexpr double kWidth = 960, kHeight = 480, kLeft = 64, kRight = 16, kTop = 32, kBottom = 44;

  static double intensity(const Row& row) {
    return static_cast<double>(row.result->work.ops) / bytes_of(*row.result);
  }
  static double speed(const Row& row) { return static_cast<double>(row.result->work.ops) / row.figures.latency; }
  double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log(value / left_) / std::log(right_ / left_);
  }
  double y(double value) const {
    return kTop + (kHeight - kTop - kBottom) * std::log(high_ / value) / std::log(high_ / low_);
  }
  void line(const char* kind, double x1, double y1, double x2, double y2) {
    out_ << "<line class=\"" << kind << "\" x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\""
         << y2 << "\"/>\n";
  }
  void text(double x, double y, const char* anchor, const std::string& content) {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << content
         << "</text>\n";
  }

  std::ostream& out_;
  std::vector<Row> rows_;
  double peak_ = 0, bandwidth_ = 0, left_ = INFINITY, right_ = 0, low_ = INFINITY, high_ = 0;
};

void write_rows(std::ostream& out, const std::vector<Row>& rows) {
  out << "<div class=\"wide\"><table>\n<thead><tr><th>case</th><th>latency, ms</th><th>limit, ms</th>"
         "<th>limit / latency</th><th>GB/s</th><th>GFLOP/s</th><th>baseline / latency</th></tr></thead>\n";
  for (const Row& row : rows) {
    const Result& result = *row.result;
    const double ops = static_cast<double>(result.work.ops);
    std::string baselines;
    for (const NamedSamples& baseline : result.baselines) {
      baselines += (baselines.empty() ? "" : ", ") + escaped(baseline.name) + ' ' +
                   figure(speed_up(result, baseline.name), 1);
    }
    out << "<tr><td>" << escaped(full_title(result));
    if (result.is_disturbed()) out << "<br><span class=\"failed\">" << disturbance_text(result) << "</span>";
    out << "</td><td>" << figure(row.figures.latency * 1e3, 3) << "</td><td>"
        << figure(row.reached * row.figures.latency * 1e3, 3) << "</td><td class=\"reached " << row.kind
        << "\"><span class=\"bar\" style=\"width: " << figure(std::clamp(row.reached, 0.0, 1.0) * 100, 0, "px")
        << "\"></span>" << figure(row.reached, 2) << "</td><td>"
        << figure(bytes_of(result) / row.figures.latency / 1e9, 1) << "</td><td>"
        << figure(ops > 0 ? ops / row.figures.latency / 1e9 : NAN, 1) << "</td><td>"
        << (baselines.empty() ? "-" : baselines) << "</td></tr>\n";
  }
  out << "</table></div>\n";
}

}  // namespace

void write_html(std::ostream& out, const Report& report) {
  const Machine& machine = report.machine;
  const std::vector<Row> rows = rows_of(report);
  out << kHead << "<h1>mluop-omp " << escaped(machine.library) << "</h1>\n<p>" << escaped(machine.cpu) << ", "
      << escaped(machine.instruction_set);
  for (const auto& [threads, peak] : machine.fma_peak) {
    out << ", FMA peak " << figure(peak / 1e9, 1) << " GFLOP/s with " << thread_text(threads);
  }
  out << "</p>\n";
  for (const Result& result : report.results) {
    if (result.problem.empty()) continue;
    out << "<p class=\"failed\">FAILED: " << escaped(full_title(result)) << ": " << escaped(result.problem)
        << "</p>\n";
  }
  Roofline roofline(out, rows);
  if (roofline.has_points()) {
    out << "<h2>Roofline</h2>\n<p>Each point is a case, below its own roof: what is lower, the FMA peak or its "
           "operations in the time to stream its bytes. The line between them is what the case loses. Copies "
           "have no operations: they are in the table only.</p>\n";
    roofline.draw();
  }
  out << "<h2>Cases, furthest from their limit first</h2>\n<p>The limit is the longest of: the time to stream "
         "the compulsory bytes (<span class=\"memory\">memory</span>), operations / FMA peak "
         "(<span class=\"arithmetic\">arithmetic</span>), and the time of the steps that the algorithm cannot "
         "avoid (<span class=\"steps\">steps</span>), measured beside the case. A case far from its limit waits "
         "for something else: dependent instructions, scattered accesses, or the start of threads.</p>\n";
  write_rows(out, rows);
  out << "</body>\n</html>\n";
}

}  // namespace mluop::perf

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "perf/support/report.h"

namespace mluop::perf {
namespace {

void write_header(std::ostream& out, const Machine& machine) {
  out << "mluop-omp " << machine.library << " on " << machine.cpu << ", " << machine.instruction_set;
  if (!machine.simd_limit.empty()) out << " (the library: MLUOP_OMP_SIMD=" << machine.simd_limit << ")";
  out << "\nthreads: " << machine.threads << ", FMA peak: " << std::fixed << std::setprecision(1)
      << machine.fma_peak / 1e9 << " GFLOP/s\n";
}

void write_label(std::ostream& out, int name_width, const std::string& name, const std::string& dtype,
                 const std::string& mode) {
  out << "  " << std::left << std::setw(name_width) << name << "  " << std::setw(5) << dtype << "  "
      << std::setw(13) << mode << std::right;
}

void write_row(std::ostream& out, int name_width, const Result& result, double fma_peak) {
  write_label(out, name_width, result.name, result.dtype, result.mode);
  if (!result.problem.empty()) {
    // On a line of its own: it may be long.
    out << "   FAILED\n    " << result.problem << '\n';
    return;
  }
  const Figures f = figures(result, fma_peak);
  out << std::setw(9) << result.threads << std::setprecision(3) << std::setw(10) << f.latency * 1e3
      << std::setw(10) << f.twin * 1e3 << std::setprecision(2) << std::setw(6) << f.io_efficiency << std::setw(9)
      << f.compute_efficiency << "  " << std::left << std::setw(7) << (f.io_bound ? "io" : "compute") << std::right
      << std::setprecision(1) << std::setw(10) << f.speed_up << '\n';
}

}  // namespace

void write_table(std::ostream& out, const Report& report) {
  write_header(out, report.machine);
  size_t longest = 4;
  for (const Result& result : report.results) longest = std::max(longest, result.name.size());
  const auto name_width = static_cast<int>(longest);
  const std::string* op = nullptr;
  for (const Result& result : report.results) {
    if (op == nullptr || *op != result.op) {
      op = &result.op;
      out << '\n' << *op << '\n';
      write_label(out, name_width, "case", "dtype", "mode");
      out << "  threads   time ms   twin ms    io  compute  bound    speed-up\n";
    }
    write_row(out, name_width, result, report.machine.fma_peak);
  }
  out << "\ntime: median of a call. twin: a loop that streams the bytes that the call must read and write.\n"
         "io: efficiency, twin / time. compute: efficiency, operations / time / FMA peak. bound: the side\n"
         "that takes longer at best. speed-up: over the serial loop of the definition.\n";
}

}  // namespace mluop::perf

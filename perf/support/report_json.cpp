#include "perf/support/report.h"

#include <ostream>

#include "perf/support/json.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

std::string timed(const Samples& samples) {
  return json::object({{"median", json::number(median(samples))}, {"samples", json::numbers(samples)}});
}

std::string machine_json(const Machine& machine) {
  return json::object({{"library", json::text(machine.library)},
                       {"cpu", json::text(machine.cpu)},
                       {"instruction_set", json::text(machine.instruction_set)},
                       {"simd_limit", json::text(machine.simd_limit)},
                       {"threads", json::number(int64_t{machine.threads})},
                       {"fma_peak_flops", json::number(machine.fma_peak)}});
}

std::string result_json(const Result& result, double fma_peak) {
  std::vector<std::pair<std::string, std::string>> members = {{"operator", json::text(result.op)},
                                                              {"case", json::text(result.name)},
                                                              {"dtype", json::text(result.dtype)},
                                                              {"mode", json::text(result.mode)},
                                                              {"threads", json::number(int64_t{result.threads})},
                                                              {"verified", json::boolean(result.problem.empty())}};
  if (!result.problem.empty()) {
    members.emplace_back("problem", json::text(result.problem));
    return json::object(members);
  }
  const Figures f = figures(result, fma_peak);
  members.insert(members.end(), {{"checksum", json::text(checksum_text(result.checksum))},
                                 {"theory_io_read_bytes", json::number(result.work.read_bytes)},
                                 {"theory_io_write_bytes", json::number(result.work.write_bytes)},
                                 {"theory_ops", json::number(result.work.ops)},
                                 {"io_efficiency", json::number(f.io_efficiency)},
                                 {"compute_efficiency", json::number(f.compute_efficiency)},
                                 {"bound", json::text(f.io_bound ? "io" : "compute")},
                                 {"speed_up", json::number(f.speed_up)},
                                 {"latency", timed(result.latency)},
                                 {"twin_ordinary", timed(result.twin_ordinary)},
                                 {"twin_non_temporal", timed(result.twin_non_temporal)},
                                 {"serial", timed(result.serial)}});
  return json::object(members);
}

}  // namespace

void write_json(std::ostream& out, const Report& report) {
  std::vector<std::string> results;
  for (const Result& result : report.results) {
    results.push_back(result_json(result, report.machine.fma_peak));
  }
  out << json::object({{"machine", machine_json(report.machine)}, {"cases", json::array(results)}}) << '\n';
}

}  // namespace mluop::perf

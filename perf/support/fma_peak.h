// The machine's peak of arithmetic: fused multiply-adds in registers, in float, at the widest vector it has.
#pragma once

namespace mluop::perf {

// Floating-point operations a second of `threads` threads together; the best of several short runs, as nothing but
// other programs can slow it down. Takes a fraction of a second.
double measure_fma_peak(int threads);

}  // namespace mluop::perf

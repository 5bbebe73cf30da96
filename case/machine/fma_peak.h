// The FMA peak of the machine: fp32 fused multiply-adds in registers, with the widest vectors.
#pragma once

namespace mluop::machine {

// Returns the total floating-point operations per second of `threads` threads, the maximum over several short
// runs. Takes a fraction of a second.
double measure_fma_peak(int threads);

}  // namespace mluop::machine

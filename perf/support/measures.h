// Measurements of the machine (case/machine), under the names of the suite.
#pragma once

#include "case/machine/buffer.h"
#include "case/machine/fma_peak.h"
#include "case/machine/load.h"
#include "case/machine/parallel.h"
#include "case/machine/stream_bound.h"
#include "case/machine/timing.h"

namespace mluop::perf {

using namespace machine;

}  // namespace mluop::perf

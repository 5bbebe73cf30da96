// Indices into stacked clouds: the indices of a group name features of the group's cloud.
#pragma once

#include <cstdint>

#include "core/checks.h"
#include "core/text.h"
#include "primitives/indices/check_indices.h"

namespace mluop {

struct CloudIndices {
  int64_t clouds, samples;
  const int32_t* feature_counts;  // [clouds], features_batch_cnt
  const int32_t* group_counts;    // [clouds]
  const int32_t* indices;         // [groups, samples]
};

// Throws Failure (BAD_PARAM) that names the first index outside the features of its cloud.
inline void check_cloud_indices(Context& context, const CloudIndices& args) {
  int64_t first_group = 0;
  for (int64_t b = 0; b < args.clouds; ++b) {
    const int64_t count = args.group_counts[b] * args.samples, features = args.feature_counts[b];
    const int32_t* const indices = args.indices + first_group * args.samples;
    first_group += args.group_counts[b];
    if (count == 0) continue;
    require(features > 0, MLUOP_STATUS_BAD_PARAM, "features_batch_cnt[", b, "] is 0, expected at least 1");
    const FirstBadItem bad = check_indices(context, {indices, count, features});
    if (!bad.found()) continue;
    const int64_t i = indices - args.indices + bad.item();
    throw Failure(MLUOP_STATUS_BAD_PARAM, text("indices[", i / args.samples, ", ", i % args.samples, "] is ",
                                               args.indices[i], ", expected 0 to ", features - 1));
  }
}

}  // namespace mluop

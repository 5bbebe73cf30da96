#include "primitives/scatter_add.h"

#include "team/atomics.h"

namespace mluop {
namespace {

// Work items: rows.
void add_rows(const ScatterAddArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    if ((args.indices[i] | args.paired_indices[i]) < 0) continue;
    const float* row = args.rows + i * args.row_stride;
    float* sums = args.sums + args.indices[i] * args.columns;
    for (int64_t j = 0; j < args.columns; ++j) atomic_add(sums + j, row[j]);
  }
}

}  // namespace

void scatter_add(Context& context, const ScatterAddArgs& args) {
  const int64_t bytes = 3 * args.count * args.columns * int64_t{sizeof(float)};
  launch(context, "scatter_add", task_dim_of(context, args.count, bytes), Evenly{args.count}, add_rows, args);
}

}  // namespace mluop

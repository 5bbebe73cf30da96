#include "primitives/gather.h"

#include <cstring>

namespace mluop {
namespace {

// Work items: indices.
void gather_rows(const GatherArgs& args, int64_t begin, int64_t end, Task&) {
  const auto bytes = static_cast<size_t>(args.row_bytes);
  for (int64_t i = begin; i < end; ++i) {
    auto* to = static_cast<std::byte*>(args.to) + i * args.row_bytes;
    if ((args.indices[i] | args.paired_indices[i]) < 0) {
      std::memset(to, 0, bytes);
    } else {
      std::memcpy(to, static_cast<const std::byte*>(args.from) + args.indices[i] * args.row_bytes, bytes);
    }
  }
}

}  // namespace

void gather(Context& context, const GatherArgs& args) {
  launch(context, "gather", task_dim_of(context, args.count, 2 * args.count * args.row_bytes), Evenly{args.count},
         gather_rows, args);
}

}  // namespace mluop

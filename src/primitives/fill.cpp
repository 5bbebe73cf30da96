#include "primitives/fill.h"

#include <cstring>

namespace mluop {
namespace {

struct FillArgs {
  std::byte* data;
};

// Items: bytes.
void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  std::memset(args.data + begin, 0, static_cast<size_t>(end - begin));
}

}  // namespace

void fill_zero(Context& context, void* data, int64_t bytes) {
  launch<FillArgs>(context, choose_task_dim(bytes, bytes), Evenly{bytes}, fill, {static_cast<std::byte*>(data)});
}

}  // namespace mluop

#include "primitives/transpose.h"

namespace mluop {
namespace {

// Work items: rows of the copy.
template <class T>
void transpose_rows(const TransposeArgs& args, int64_t begin, int64_t end, Task&) {
  const auto [planes, rows, columns] = args.dims;
  for (int64_t item = begin; item < end; ++item) {
    const T* from =
        static_cast<const T*>(args.from) + item / rows * args.strides[0] + item % rows * args.strides[1];
    T* to = static_cast<T*>(args.to) + item * columns;
    for (int64_t j = 0; j < columns; ++j) to[j] = from[j * args.strides[2]];
  }
}

}  // namespace

void transpose(Context& context, const TransposeArgs& args) {
  const int64_t rows = args.dims[0] * args.dims[1];
  launch(context, "transpose", task_dim_of(context, rows, 2 * rows * args.dims[2] * args.element_bytes),
         Evenly{rows}, args.element_bytes == 2 ? transpose_rows<uint16_t> : transpose_rows<uint32_t>, args);
}

}  // namespace mluop

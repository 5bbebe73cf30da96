#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "team/launch.h"

namespace mluop::elementwise {
namespace {

constexpr size_t kMaxDims = MLUOP_DIM_MAX;
constexpr size_t kMaxElement = 8;
// Elements of a work item: whole cache lines of every type.
constexpr int64_t kChunk = 4096;
// Elements of other than contiguous rows are copied to tiles that stay in L1; so are rows shorter than kMinRow.
constexpr int64_t kTile = 512, kMinRow = 64;

struct Operand {
  std::byte* data;                          // null: absent
  int64_t size;                             // bytes of an element
  std::array<int64_t, kMaxDims> strides{};  // in bytes
};

// The elements in the order of the output's memory: dimensions of descending stride of the output, combined where
// all operands allow it.
struct Loop {
  Map map;
  bool is_streamed;
  int64_t total;
  size_t last;  // the innermost dimension
  std::array<int64_t, kMaxDims> dims;
  std::array<Operand, 3> operands;  // output, a, b
};

// Visits elements in order. Cost: a few instructions for each run along the innermost dimension.
class Cursor {
 public:
  Cursor(const Loop& loop, int64_t first) : loop_(loop) {
    for (size_t dim = loop.last + 1; dim-- > 0;) {
      index_[dim] = first % loop.dims[dim];
      first /= loop.dims[dim];
      move(dim, index_[dim]);
    }
  }

  // Calls visit(done, run) for `count` elements, in runs along the innermost dimension; done: the elements before.
  template <class Visit>
  void advance(int64_t count, const Visit& visit) {
    const size_t last = loop_.last;
    for (int64_t done = 0; done < count;) {
      const int64_t run = std::min(loop_.dims[last] - index_[last], count - done);
      visit(done, run);
      done += run;
      index_[last] += run;
      move(last, run);
      for (size_t dim = last; dim > 0 && index_[dim] == loop_.dims[dim]; --dim) {
        move(dim, -loop_.dims[dim]);
        index_[dim] = 0;
        move(dim - 1, 1);
        ++index_[dim - 1];
      }
    }
  }

  std::byte* place(size_t operand) const {
    std::byte* const data = loop_.operands[operand].data;
    return data == nullptr ? nullptr : data + offsets_[operand];
  }

 private:
  void move(size_t dim, int64_t steps) {
    for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] += steps * loop_.operands[i].strides[dim];
  }

  const Loop& loop_;
  std::array<int64_t, kMaxDims> index_{};
  std::array<int64_t, 3> offsets_{};
};

template <class Word>
void copy_words(const std::byte* from, int64_t from_stride, int64_t count, std::byte* to, int64_t to_stride) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(Word));
}

// Copies `count` elements with strides in bytes.
void copy(int64_t size, const std::byte* from, int64_t from_stride, int64_t count, std::byte* to,
          int64_t to_stride) {
  switch (size) {
    case 2: return copy_words<uint16_t>(from, from_stride, count, to, to_stride);
    case 4: return copy_words<uint32_t>(from, from_stride, count, to, to_stride);
    default: return copy_words<uint64_t>(from, from_stride, count, to, to_stride);
  }
}

// Work items: chunks of elements, in memory as contiguous rows.
void map_rows(const Loop& loop, int64_t begin, int64_t end, Task&) {
  Cursor cursor(loop, begin * kChunk);
  cursor.advance(std::min(end * kChunk, loop.total) - begin * kChunk, [&](int64_t, int64_t run) {
    loop.map(cursor.place(1), cursor.place(2), run, loop.is_streamed, cursor.place(0));
  });
}

// Work items: chunks of elements, copied from and to their places.
void map_tiles(const Loop& loop, int64_t begin, int64_t end, Task&) {
  alignas(kCacheLine) std::byte tiles[3][kTile * kMaxElement];
  Cursor from(loop, begin * kChunk), to(loop, begin * kChunk);
  const int64_t last = std::min(end * kChunk, loop.total);
  for (int64_t first = begin * kChunk; first < last; first += kTile) {
    const int64_t count = std::min(kTile, last - first);
    from.advance(count, [&](int64_t done, int64_t run) {
      for (const size_t i : {size_t{1}, size_t{2}}) {
        const Operand& input = loop.operands[i];
        if (input.data == nullptr) continue;
        copy(input.size, from.place(i), input.strides[loop.last], run, &tiles[i][done * input.size], input.size);
      }
    });
    loop.map(tiles[1], tiles[2], count, false, tiles[0]);
    to.advance(count, [&](int64_t done, int64_t run) {
      const Operand& output = loop.operands[0];
      copy(output.size, &tiles[0][done * output.size], output.size, run, to.place(0), output.strides[loop.last]);
    });
  }
}

// The bytes from one element to the next along a dimension; 0 along a dimension that is broadcast.
int64_t stride_of(const TensorDescriptor* desc, size_t dim) {
  if (desc == nullptr || desc->dims[dim] == 1) return 0;
  return desc->strides[dim] * static_cast<int64_t>(size_of(desc->dtype));
}

// Adds a dimension inside of the others, or extends the last one.
void add_dim(Loop& loop, bool is_first, int64_t extent, const std::array<int64_t, 3>& strides) {
  bool extends = !is_first;
  for (size_t i = 0; i < strides.size(); ++i) {
    extends = extends && loop.operands[i].strides[loop.last] == strides[i] * extent;
  }
  if (!extends && !is_first) ++loop.last;
  loop.dims[loop.last] = extends ? loop.dims[loop.last] * extent : extent;
  for (size_t i = 0; i < strides.size(); ++i) loop.operands[i].strides[loop.last] = strides[i];
}

Loop loop_over(Map map, const Input& a, const Input& b, const Output& to) {
  const auto operand = [](const TensorDescriptor* desc, const void* data) {
    return Operand{static_cast<std::byte*>(const_cast<void*>(data)),
                   desc == nullptr ? 0 : static_cast<int64_t>(size_of(desc->dtype))};
  };
  Loop loop{map, false, element_count(*to.desc),
            0,   {1},   {operand(to.desc, to.data), operand(a.desc, a.data), operand(b.desc, b.data)}};
  // A single element is a row.
  for (Operand& each : loop.operands) each.strides[0] = each.size;
  bool is_first = true;
  const auto order = order_in_memory(*to.desc);
  for (size_t i = 0; i < to.desc->shape().size(); ++i) {
    const size_t dim = order[i];
    if (to.desc->dims[dim] == 1) continue;
    add_dim(loop, is_first, to.desc->dims[dim],
            {stride_of(to.desc, dim), stride_of(a.desc, dim), stride_of(b.desc, dim)});
    is_first = false;
  }
  return loop;
}

bool has_rows(const Loop& loop) {
  for (const Operand& operand : loop.operands) {
    if (operand.strides[loop.last] != operand.size) return false;
  }
  return loop.last == 0 || loop.dims[loop.last] >= kMinRow;
}

}  // namespace

void run(Call& call, const Work& work, const Input& a, const Input& b, const Output& to) {
  Loop loop = loop_over(work.map, a, b, to);
  const auto [output, first, second] = loop.operands;
  const bool is_in_place = output.data == first.data || output.data == second.data;
  const bool is_aligned = reinterpret_cast<uintptr_t>(to.data) % kCacheLine == 0;
  const int64_t bytes = saturated_product({loop.total, output.size + first.size + second.size});
  const bool by_rows = has_rows(loop);
  loop.is_streamed = by_rows && loop.last == 0 && is_aligned && !is_in_place && exceeds_caches(bytes);
  const int64_t items = ceil_div(loop.total, kChunk);
  const int64_t cost = saturated_product({loop.total, output.size + first.size + second.size + work.cost});
  const int task_dim = choose_task_dim(items, cost);
  call.log_detail("native, ", loop.last + 1, "-D, taskDim ", task_dim, by_rows ? "" : ", copied",
                  loop.is_streamed ? ", streamed" : "");
  call.context().reserve(0);
  launch<Loop>(call.context(), "map", task_dim, Evenly{items}, by_rows ? map_rows : map_tiles, loop);
}

void declare_unary(Call& call, const Unary& unary) {
  call.input("x", unary.x.desc, unary.x.data);
  call.output_like("y", unary.y, unary.x.desc, unary.to, kAnyLayout);
  call.allow_strides(unary.strides);
  call.allow_in_place(InPlace::kSameTensor);
  if (has_no_elements(unary.x.desc)) call.reads_nothing();
}

bool check_unary(Call& call, const Unary& unary) {
  require_dimensions("x", unary.x.desc);
  call.check_tensors();
  return element_count(*unary.x.desc) > 0;
}

void require_dimensions(std::string_view name, const TensorDescriptor* desc) {
  require(desc->dim_count > 0, MLUOP_STATUS_BAD_PARAM, name, " has 0 dimensions, expected 1 to ", MLUOP_DIM_MAX);
}

}  // namespace mluop::elementwise

// Transforms of tensors: one task loads a signal as double, transforms, scales, rounds once and stores it.
// Two-dimensional transforms are two passes over a group of items of the batch, with the numbers between them in
// the workspace.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/dtype.h"
#include "core/element.h"
#include "core/fixed_list.h"
#include "core/round_to_odd.h"
#include "core/sizes.h"
#include "ops/fft/fft.h"
#include "team/launch.h"

namespace mluop::fft::native {
namespace {

// Signals whose elements lie between each other's are loaded and stored together: memory is read in cache lines.
constexpr int64_t kMaxBlock = 8;
// Bytes between the passes over a group of items: they stay in the L2 or in the LLC.
constexpr int64_t kGroupBytes = int64_t{8} << 20;

void store_number(double value, double* to) { *to = value; }
void store_number(double value, float* to) { *to = static_cast<float>(value); }
void store_number(double value, Half* to) { *to = f32_to_f16(round_to_odd(value)); }

double load_number(double value) { return value; }
template <class T>
double load_number(T value) {
  return double{to_f32(value)};
}

// The places of the signals of a pass: signal (i, j) has element k at data + i strides[0] + j strides[1] + k
// strides[2], in elements.
struct Places {
  mluOpDataType_t dtype;  // DOUBLE: pairs, between two passes
  std::array<int64_t, 3> strides, extents;

  // The data of the signals (i, 0).
  const void* at(const void* data, int64_t i) const {
    if (i == 0) return data;
    return static_cast<const std::byte*>(data) + i * strides[0] * static_cast<int64_t>(size_of(dtype));
  }
};

// Loads the signals (i, j) to (i, j + count - 1) at intervals of `pitch` numbers, with zeros for missing elements.
// kParts: numbers of an element.
template <class T, int64_t kParts>
void load(const Places& places, const T* from, int64_t i, int64_t j, int64_t count, int64_t length,
          double* numbers, int64_t pitch) {
  const int64_t lines = i < places.extents[0] ? std::clamp<int64_t>(places.extents[1] - j, 0, count) : 0;
  const int64_t elements = std::min(places.extents[2], length);
  if (lines < count || elements < length) std::fill_n(numbers, count * pitch, 0.0);
  // The data of a tensor without elements may be null.
  if (lines == 0 || elements == 0) return;
  const T* const first = from + (i * places.strides[0] + j * places.strides[1]) * kParts;
  const int64_t step = places.strides[2] * kParts, apart = places.strides[1] * kParts;
  const auto load_signal = [&](int64_t l, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t part = 0; part < kParts; ++part) {
        numbers[l * pitch + k * kParts + part] = load_number(first[k * step + l * apart + part]);
      }
    }
  };
  if (lines == 1) return load_signal(0, 0, elements);
  for (int64_t k = 0; k < elements; ++k) {
    for (int64_t l = 0; l < lines; ++l) load_signal(l, k, k + 1);
  }
}

template <class T, int64_t kParts>
void store(const Places& places, T* to, int64_t i, int64_t j, int64_t count, double scale,
           const double* const* results) {
  T* const first = to + (i * places.strides[0] + j * places.strides[1]) * kParts;
  const int64_t step = places.strides[2] * kParts, apart = places.strides[1] * kParts;
  const auto store_signal = [&](int64_t l, int64_t begin, int64_t end) {
    const double* const result = results[l];
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t part = 0; part < kParts; ++part) {
        store_number(result[k * kParts + part] * scale, first + k * step + l * apart + part);
      }
    }
  };
  if (count == 1) return store_signal(0, 0, places.extents[2]);
  for (int64_t k = 0; k < places.extents[2]; ++k) {
    for (int64_t l = 0; l < count; ++l) store_signal(l, k, k + 1);
  }
}

// Calls body(typed data, parts): the numbers of the elements and how many an element has.
template <class Body>
void with_numbers(mluOpDataType_t dtype, const void* data, const Body& body) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return body(static_cast<const Half*>(data), std::integral_constant<int64_t, 1>());
    case MLUOP_DTYPE_FLOAT: return body(static_cast<const float*>(data), std::integral_constant<int64_t, 1>());
    case MLUOP_DTYPE_COMPLEX_HALF:
      return body(static_cast<const Half*>(data), std::integral_constant<int64_t, 2>());
    case MLUOP_DTYPE_COMPLEX_FLOAT:
      return body(static_cast<const float*>(data), std::integral_constant<int64_t, 2>());
    default: return body(static_cast<const double*>(data), std::integral_constant<int64_t, 2>());
  }
}

// Memory of the handle for a transform.
struct Memory {
  Memory(Arena& pool, int64_t tasks, int64_t buffers, int64_t scratches, int64_t copied_bytes)
      : from(pool.take<Complex>("from", {tasks, buffers})),
        to(pool.take<Complex>("to", {tasks, buffers})),
        scratch(pool.take<Complex>("scratch", {tasks, scratches})),
        copy(pool.take<std::byte>("copy", {copied_bytes})),
        buffer_count(buffers),
        scratch_count(scratches) {}
  Complex *from, *to, *scratch;
  std::byte* copy;  // of an input that the output overwrites
  int64_t buffer_count, scratch_count;
};

// The transforms of the signals (i, j), i < from.extents[0].
struct Pass {
  const Signal* signal;
  Places from, to;
  const void* source;
  void* target;
  double scale;
  bool backward;
  const Memory* memory;

  int64_t block() const {
    const bool share = from.strides[1] < from.strides[2] || to.strides[1] < to.strides[2];
    // At least 1 without items, too.
    return share ? std::clamp<int64_t>(to.extents[1], 1, kMaxBlock) : 1;
  }
  int64_t blocks() const { return ceil_div(to.extents[1], block()); }
  int64_t items() const { return to.extents[0] * blocks(); }
};

// Work items: (i, block of j), blocks fastest.
void transform(const Pass& pass, int64_t begin, int64_t end, Task& task) {
  const Memory& memory = *pass.memory;
  Complex* const from = memory.from + task.taskId * memory.buffer_count;
  Complex* const to = memory.to + task.taskId * memory.buffer_count;
  Complex* const scratch = memory.scratch + task.taskId * memory.scratch_count;
  const int64_t block = pass.block(), pitch = pass.signal->buffer_count();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t i = item / pass.blocks(), j = item % pass.blocks() * block;
    const int64_t count = std::min(block, pass.to.extents[1] - j);
    with_numbers(pass.from.dtype, pass.source, [&]<class T, class Parts>(const T* data, Parts) {
      load<T, Parts::value>(pass.from, data, i, j, count, pass.signal->input_count(),
                            reinterpret_cast<double*>(from), 2 * pitch);
    });
    std::array<const double*, kMaxBlock> results{};
    for (int64_t l = 0; l < count; ++l) {
      results[static_cast<size_t>(l)] =
          pass.signal->transform(from + l * pitch, to + l * pitch, scratch, pass.backward);
    }
    with_numbers(pass.to.dtype, pass.target, [&]<class T, class Parts>(const T*, Parts) {
      store<T, Parts::value>(pass.to, static_cast<T*>(pass.target), i, j, count, pass.scale, results.data());
    });
  }
}

int pass_task_dim(const Pass& pass) {
  // An element costs about as much as this memory traffic for each step of the transform.
  constexpr double kStepBytes = 16;
  const auto length = static_cast<double>(pass.signal->buffer_count());
  const double signals = static_cast<double>(pass.to.extents[0]) * static_cast<double>(pass.to.extents[1]);
  return choose_task_dim(pass.items(), saturated(signals * length * std::log2(length) * kStepBytes));
}

// The signals of a tensor along an axis of the transform: of item i of the batch, along the other axis j.
// A one-dimensional transform has i = 0 and item j.
Places places_of(const Plan& plan, const TensorDescriptor& desc, size_t axis) {
  const size_t first = desc.shape().size() - plan.rank;
  Places places{desc.dtype, {0, 0, desc.strides[first + axis]}, {1, 1, desc.dims[first + axis]}};
  const auto set = [&](size_t loop, size_t dim) {
    places.strides[loop] = desc.strides[dim];
    places.extents[loop] = desc.dims[dim];
  };
  if (plan.rank == 2) set(1, first + 1 - axis);
  if (first == 1) set(plan.rank == 2 ? 0 : 1, 0);
  return places;
}

// Complex numbers of an item of the batch between two passes.
std::array<int64_t, 2> middle_shape(const Plan& plan) {
  return {plan.n[0], plan.kind == Kind::kComplex ? plan.n[1] : plan.n[1] / 2 + 1};
}

// Items of the batch between two passes.
int64_t group_of(const Plan& plan) {
  const auto [rows, columns] = middle_shape(plan);
  const int64_t bytes = saturated_product({rows, columns, int64_t{sizeof(Complex)}});
  return std::clamp<int64_t>(kGroupBytes / bytes, 1, std::max<int64_t>(plan.batch(), 1));
}

Places middle_places(const Plan& plan, int64_t items, size_t axis) {
  const auto shape = middle_shape(plan);
  const std::array<int64_t, 2> strides = {shape[1], 1};
  return {MLUOP_DTYPE_DOUBLE,
          {shape[0] * shape[1], strides[1 - axis], strides[axis]},
          {items, shape[1 - axis], shape[axis]}};
}

// Makes neighbours in memory neighbouring signals of a pass.
void order_signals(Pass& pass, const Places& tensor) {
  if (tensor.extents[0] <= 1 || tensor.strides[0] >= tensor.strides[1]) return;
  for (Places* const places : {&pass.from, &pass.to}) {
    std::swap(places->strides[0], places->strides[1]);
    std::swap(places->extents[0], places->extents[1]);
  }
}

using Passes = FixedList<Pass, 2>;

// The passes over the items [first, first + items) of the batch.
Passes passes_of(const Plan& plan, const Data& data, const Memory* memory, Complex* middle, int64_t first,
                 int64_t items) {
  Passes passes;
  // Along the last axis, signals are real before the transform or after it.
  const size_t first_axis = plan.rank == 2 && plan.kind != Kind::kToReal ? 1 : 0;
  const size_t last_axis = plan.rank == 2 ? 1 - first_axis : 0;
  Places from = places_of(plan, plan.input, first_axis), to = places_of(plan, plan.output, last_axis);
  const void* const source = from.at(data.input, first);
  void* const target = const_cast<void*>(to.at(data.output, first));
  const Signal& first_signal = plan.signals[first_axis];
  if (plan.rank == 1) {
    passes.push_back({&first_signal, from, to, source, target, data.scale, data.backward, memory});
    return passes;
  }
  from.extents[0] = to.extents[0] = items;
  const bool backward = plan.kind == Kind::kToReal || (plan.kind == Kind::kComplex && data.backward);
  Pass load_pass{&first_signal, from, middle_places(plan, items, first_axis), source, middle, 1, backward, memory};
  order_signals(load_pass, load_pass.from);
  Pass store_pass{&plan.signals[last_axis],
                  middle_places(plan, items, last_axis),
                  to,
                  middle,
                  target,
                  data.scale,
                  backward,
                  memory};
  order_signals(store_pass, store_pass.to);
  passes.push_back(load_pass);
  passes.push_back(store_pass);
  return passes;
}

struct Middle {
  Middle(Arena& arena, const Plan& plan) {
    const auto shape = middle_shape(plan);
    numbers = arena.take<Complex>("middle", {group_of(plan), shape[0], shape[1]});
  }
  Complex* numbers;
};

Memory reserve(Context& context, const Plan& plan, int64_t copied_bytes) {
  int64_t tasks = 1, buffers = 0, scratches = 0;
  // The last group may be a single item, whose blocks differ: order_signals() keeps the order of its signals.
  for (const int64_t items : {plan.rank == 1 ? int64_t{1} : group_of(plan), int64_t{1}}) {
    const Passes passes = passes_of(plan, {}, nullptr, nullptr, 0, items);
    for (const Pass& pass : passes.elements()) {
      tasks = std::max<int64_t>(tasks, pass_task_dim(pass));
      buffers = std::max(buffers, pass.block() * pass.signal->buffer_count());
      scratches = std::max(scratches, pass.signal->scratch_count());
    }
  }
  Arena pool = context.reserve(bytes_of<Memory>(tasks, buffers, scratches, copied_bytes));
  return {pool, tasks, buffers, scratches, copied_bytes};
}

}  // namespace

size_t workspace_bytes(const Plan& plan) {
  return plan.rank == 1 || plan.batch() == 0 ? 0 : workspace_bytes_of<Middle>(plan);
}

void run(Call& call, const Plan& plan, Data data, Arena workspace) {
  const bool is_in_place = data.input == data.output;
  const int64_t bytes = span_count(plan.input) * static_cast<int64_t>(size_of(plan.input.dtype));
  const Memory memory = reserve(call.context(), plan, is_in_place ? bytes : 0);
  if (is_in_place) data.input = std::memcpy(memory.copy, data.input, static_cast<size_t>(bytes));
  const int64_t batch = plan.rank == 1 ? 1 : plan.batch(), group = plan.rank == 1 ? 1 : group_of(plan);
  Complex* const middle = plan.rank == 1 ? nullptr : Middle(workspace, plan).numbers;
  call.log_detail("native, rank ", plan.rank, ", items ", plan.batch(), ", at a time ",
                  plan.rank == 1 ? plan.batch() : group);
  for (int64_t first = 0; first < batch; first += group) {
    const Passes passes = passes_of(plan, data, &memory, middle, first, std::min(group, batch - first));
    for (const Pass& pass : passes.elements()) {
      launch(call.context(), "transform", pass_task_dim(pass), Evenly{pass.items()}, transform, pass);
    }
  }
}

}  // namespace mluop::fft::native

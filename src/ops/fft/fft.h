// The plan of a Fourier transform: a value that mluOpMakeFFTPlanMany sets and mluOpExecFFT reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor.h"
#include "mlu_op.h"
#include "ops/fft/signal.h"
#include "team/operator_call.h"

namespace mluop::fft {

inline constexpr size_t kMaxRank = 2;

// Row-major tensors: [batch, n..] or [n..].
struct Plan {
  // Numbers are HALF or FLOAT.
  Kind kind = Kind::kComplex;
  TensorDescriptor input, output;
  size_t rank = 0;
  std::array<int32_t, kMaxRank> n{};
  std::vector<Signal> signals;  // of each axis, as n

  int64_t batch() const { return input.shape().size() > rank ? input.dims[0] : 1; }
};

namespace native {

// Bytes of the caller's workspace: the transforms along the first axis of a two-dimensional transform.
size_t workspace_bytes(const Plan& plan);

struct Data {
  const void* input = nullptr;
  void* output = nullptr;
  double scale = 1;
  bool backward = false;
};
// The output may have the data of the input, which is then copied.
void run(Call& call, const Plan& plan, Data data, Arena workspace);

}  // namespace native
}  // namespace mluop::fft

struct mluOpFFTStruct {
  bool is_made = false, has_reserve_area = false;
  mluop::fft::Plan plan;
};

// mluOpCreateFFTPlan, mluOpMakeFFTPlanMany, mluOpSetFFTReserveArea and mluOpDestroyFFTPlan.
#include <algorithm>
#include <span>
#include <utility>

#include "core/checks.h"
#include "core/descriptor.h"
#include "core/dtype.h"
#include "core/float_environment.h"
#include "core/text.h"
#include "ops/fft/fft.h"

namespace mluop::fft {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;
constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr int kMaxLength = 1 << 26;

bool is_half(mluOpDataType_t dtype) { return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_COMPLEX_HALF; }

constexpr struct {
  mluOpDataType_t input, output;
  Kind kind;
} kTypes[] = {{MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_COMPLEX_FLOAT, Kind::kFromReal},
              {MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_FLOAT, Kind::kToReal},
              {MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_COMPLEX_FLOAT, Kind::kComplex},
              {MLUOP_DTYPE_HALF, MLUOP_DTYPE_COMPLEX_HALF, Kind::kFromReal},
              {MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_HALF, Kind::kToReal},
              {MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_HALF, Kind::kComplex}};

Kind kind_of(const TensorDescriptor& input, const TensorDescriptor& output) {
  for (const auto& types : kTypes) {
    if (types.input == input.dtype && types.output == output.dtype) return types.kind;
  }
  throw Failure(kBadParam,
                text("input has data type ", name_of(input.dtype), " and output ", name_of(output.dtype),
                     ", expected FLOAT and COMPLEX_FLOAT in either order, COMPLEX_FLOAT twice, or the "
                     "same of HALF and COMPLEX_HALF"));
}

void check_dims(const TensorDescriptor& input, const TensorDescriptor& output, std::span<const int> n) {
  const size_t dims = input.shape().size(), rank = n.size();
  require(dims == output.shape().size(), kBadParam, "input has ", dims, " dimensions, output ",
          output.shape().size(), ", expected the same number");
  require(dims == rank || dims == rank + 1, kBadParam, "input has ", dims, " dimensions, expected ", rank, " or ",
          rank + 1, " with a rank of ", rank);
  require(dims == rank || input.dims[0] == output.dims[0], kBadParam, "input dim 0 is ", input.dims[0],
          ", output dim 0 is ", output.dims[0], ", expected the same batch");
}

void check_output(const TensorDescriptor& output, Kind kind, std::span<const int> n) {
  const size_t first = output.shape().size() - n.size();
  for (size_t i = 0; i < n.size(); ++i) {
    const bool is_half_spectrum = kind == Kind::kFromReal && i + 1 == n.size();
    const int64_t expected = is_half_spectrum ? n[i] / 2 + 1 : n[i];
    require(output.dims[first + i] == expected, kBadParam, "output dim ", first + i, " is ",
            output.dims[first + i], ", expected ", expected, " with n[", i, "] of ", n[i]);
  }
}

void check_onchip_type(const TensorDescriptor& input) {
  const bool halves = is_half(input.dtype);
  const auto onchip = input.onchip_dtype;
  const bool is_supported = onchip == (halves ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT) ||
                            onchip == (halves ? MLUOP_DTYPE_INT16 : MLUOP_DTYPE_INT31);
  require(is_supported, kBadParam, "the on-chip data type of input is ", name_of(onchip), ", expected ",
          halves ? "HALF or INT16" : "FLOAT or INT31", " by mluOpSetTensorDescriptorOnchipDataType");
}

void check_lengths(const TensorDescriptor& input, std::span<const int> n) {
  require(n.size() <= kMaxRank, kNotSupported, "rank is ", n.size(), ", expected 1 or 2");
  for (size_t i = 0; i < n.size(); ++i) {
    require(n[i] <= kMaxLength, kNotSupported, "n[", i, "] is ", n[i], ", expected at most 2^26");
  }
  const int last = n.back();
  require(!is_half(input.dtype) || (last & (last - 1)) == 0, kNotSupported, "n[", n.size() - 1, "] is ", last,
          ", expected a power of two with half precision");
}

Plan make_plan(const TensorDescriptor& input, const TensorDescriptor& output, int rank, const int n[]) {
  require(1 <= rank && rank <= 3, kBadParam, "rank is ", rank, ", expected 1 to 3");
  const std::span lengths(n, static_cast<size_t>(rank));
  for (size_t i = 0; i < lengths.size(); ++i) {
    require(n[i] > 0, kBadParam, "n[", i, "] is ", n[i], ", expected at least 1");
  }
  check_dims(input, output, lengths);
  Plan plan;
  plan.kind = kind_of(input, output);
  check_output(output, plan.kind, lengths);
  check_onchip_type(input);
  check_lengths(input, lengths);
  plan.input = input;
  plan.output = output;
  plan.rank = lengths.size();
  std::copy(lengths.begin(), lengths.end(), plan.n.begin());
  for (size_t i = 0; i < lengths.size(); ++i) {
    plan.signals.emplace_back(i + 1 == lengths.size() ? plan.kind : Kind::kComplex, n[i]);
  }
  return plan;
}

}  // namespace
}  // namespace mluop::fft

mluOpStatus_t MLUOP_WIN_API mluOpCreateFFTPlan(mluOpFFTPlan_t* fft_plan) {
  return mluop::create_descriptor("mluOpCreateFFTPlan", "fft_plan", fft_plan);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyFFTPlan(mluOpFFTPlan_t fft_plan) {
  return mluop::destroy_descriptor("mluOpDestroyFFTPlan", "fft_plan", fft_plan);
}

mluOpStatus_t MLUOP_WIN_API mluOpMakeFFTPlanMany(mluOpHandle_t handle, mluOpFFTPlan_t fft_plan,
                                                 const mluOpTensorDescriptor_t input_desc,
                                                 const mluOpTensorDescriptor_t output_desc, const int rank,
                                                 const int n[], size_t* reservespace_size,
                                                 size_t* workspace_size) {
  using namespace mluop;
  return run_guarded("mluOpMakeFFTPlanMany", [&] {
    require_not_null("handle", handle);
    require(fft_plan != nullptr, MLUOP_STATUS_NOT_INITIALIZED, "fft_plan is null");
    require_not_null("input_desc", input_desc);
    require_not_null("output_desc", output_desc);
    require_not_null("n", n);
    require_not_null("reservespace_size", reservespace_size);
    require_not_null("workspace_size", workspace_size);
    const ScopedFloatEnvironment default_environment;
    fft::Plan plan = fft::make_plan(*input_desc, *output_desc, rank, n);
    const size_t workspace_bytes = fft::native::workspace_bytes(plan);
    *fft_plan = {.is_made = true, .has_reserve_area = false, .plan = std::move(plan)};
    // The plan owns its constants. Callers allocate this area, because null is refused.
    *reservespace_size = 1;
    *workspace_size = workspace_bytes;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetFFTReserveArea(mluOpHandle_t handle, mluOpFFTPlan_t fft_plan,
                                                   void* reservespace) {
  using namespace mluop;
  return run_guarded("mluOpSetFFTReserveArea", [&] {
    require_not_null("handle", handle);
    require_not_null("fft_plan", fft_plan);
    require_not_null("reservespace", reservespace);
    require(fft_plan->is_made, MLUOP_STATUS_BAD_PARAM,
            "fft_plan is not made, expected mluOpMakeFFTPlanMany before");
    fft_plan->has_reserve_area = true;
  });
}

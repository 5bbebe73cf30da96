// mluOpExecFFT: entry and checks. Start with the entry, then run() in fft_native.cpp, and Signal in signal.h.
// plan.cpp makes the plan.
#include "ops/fft/fft.h"

#include <cmath>
#include <span>

#include "core/checks.h"
#include "core/dtype.h"

namespace mluop::fft {
namespace {

// Elements from an item of the batch to the next.
int64_t distance(const Plan& plan, const TensorDescriptor& desc) {
  return desc.shape().size() > plan.rank && desc.dims[0] != 1 ? desc.strides[0] : element_count(desc);
}

// In place, an item of the result must not reach into the next item of the operand.
void check_distances(const Plan& plan) {
  const int64_t numbers_in = plan.kind == Kind::kFromReal ? 1 : 2,
                numbers_out = plan.kind == Kind::kToReal ? 1 : 2;
  const int64_t in = saturated_product({numbers_in, distance(plan, plan.input)}),
                out = saturated_product({numbers_out, distance(plan, plan.output)});
  const bool fits = plan.kind == Kind::kToReal ? in <= out : in >= out;
  require(fits, MLUOP_STATUS_BAD_PARAM, "items of the batch of input are ", in, " numbers apart, of output ", out,
          ", expected at ", plan.kind == Kind::kToReal ? "least" : "most", " as many of output in place");
}

}  // namespace
}  // namespace mluop::fft

mluOpStatus_t MLUOP_WIN_API mluOpExecFFT(mluOpHandle_t handle, const mluOpFFTPlan_t fft_plan, const void* input,
                                         const float scale_factor, void* workspace, void* output, int direction) {
  using namespace mluop;
  using namespace mluop::fft;
  return run_operator("mluOpExecFFT", handle, [&](Call& call) {
    require_not_null("fft_plan", fft_plan);
    require(fft_plan->is_made, MLUOP_STATUS_BAD_PARAM,
            "fft_plan is not made, expected mluOpMakeFFTPlanMany before");
    require(fft_plan->has_reserve_area, MLUOP_STATUS_BAD_PARAM,
            "fft_plan has no reserve area, expected mluOpSetFFTReserveArea before");
    require(std::isfinite(scale_factor), MLUOP_STATUS_BAD_PARAM, "scale_factor is ", scale_factor,
            ", expected a finite number");
    const Plan& plan = fft_plan->plan;
    require_int32_count("input", element_count(plan.input));
    require_int32_count("output", element_count(plan.output));
    call.parameter("rank", static_cast<int64_t>(plan.rank));
    call.parameter("n", std::span<const int32_t>(plan.n.data(), plan.rank));
    call.parameter("direction", direction);
    call.parameter("scale_factor", scale_factor);
    call.input("input", &plan.input, input);
    call.output_like("output", {&plan.output, output}, &plan.output, plan.output.dtype, kAnyLayout);
    call.allow_strides(Strides::kAny);
    call.allow_in_place(InPlace::kSameData);
    const bool has_batch = plan.batch() > 0;
    if (!has_batch) call.reads_nothing();
    call.check_pointers();
    if (has_batch && element_count(plan.input) > 0 && input == output) check_distances(plan);
    call.check_tensors();
    const size_t workspace_size = native::workspace_bytes(plan);
    const Arena arena = call.workspace(workspace, workspace_size, workspace_size);
    if (!has_batch) return;
    native::run(call, plan, {input, output, double{scale_factor}, direction != 0}, arena);
  });
}

#include "reference/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::fft {
namespace {

using Plan = Owned<mluOpFFTPlan_t, mluOpCreateFFTPlan, mluOpDestroyFFTPlan>;
using reference::FftProblem;
using Kind = FftProblem::Kind;

// The lengths, as many as the rank states; missing ones are 0.
std::vector<int> lengths(const Parameters& parameters) {
  const std::vector<int64_t>& list = parameters.list("n");
  std::vector<int> n(static_cast<size_t>(std::clamp<int64_t>(parameters.integer("rank"), 1, 3)));
  for (size_t i = 0; i < std::min(n.size(), list.size()); ++i) n[i] = static_cast<int>(list[i]);
  return n;
}

// Makes the plan. Writes the bytes of the workspace.
mluOpStatus_t set(const Arguments& a, mluOpFFTPlan_t plan, size_t* workspace_size) {
  const std::vector<int> n = lengths(*a.parameters);
  size_t reserve_size = 0;
  const mluOpStatus_t status = mluOpMakeFFTPlanMany(a.handle, plan, a[0].desc, a[1].desc, a.int32("rank"),
                                                    n.data(), &reserve_size, workspace_size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpSetFFTReserveArea(a.handle, plan, &reserve_size);
}

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  const Plan plan;
  return set(a, plan, bytes);
}

float scale(const Arguments& a) { return static_cast<float>(a.parameters->real("scale_factor")); }

mluOpStatus_t run(const Arguments& a) {
  const Plan plan;
  size_t workspace_size = 0;
  const mluOpStatus_t status = set(a, plan, &workspace_size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpExecFFT(a.handle, plan, a[0].data, scale(a), a.workspace, a[1].data, a.int32("direction"));
}

bool is_real(mluOpDataType_t dtype) { return !is_complex(dtype); }

int64_t product(const Dims& dims, size_t first) {
  int64_t count = 1;
  for (size_t i = first; i < dims.size(); ++i) count *= dims[i];
  return count;
}

void expect(Arguments& a) {
  const std::vector<int> n = lengths(*a.parameters);
  const Dims& dims = a[0].dims;
  const size_t first = dims.size() - n.size();
  const bool is_2d = n.size() == 2, real_input = is_real(a[0].dtype), real_output = is_real(a[1].dtype);
  const FftProblem problem{real_input    ? Kind::kFromReal
                           : real_output ? Kind::kToReal
                                         : Kind::kComplex,
                           a.int32("direction") != 0,
                           a.int32("rank"),
                           {is_2d ? n.front() : 1, n.back()},
                           {is_2d ? dims[first] : 1, dims.back()},
                           double{scale(a)},
                           a.are_magnitudes};
  const int64_t count = product(dims, first), written = product(a[1].dims, first);
  double* to = sums_of(a[1]);
  for (int64_t item = 0; item < (first == 1 ? dims[0] : 1); ++item) {
    std::vector<std::complex<double>> input;
    for (int64_t i = item * count; i < (item + 1) * count; ++i) {
      const auto number = [&](int64_t at) { return number_at(a[0].data, a[0].dtype, static_cast<size_t>(at)); };
      input.push_back(real_input ? std::complex<double>(number(i))
                                 : std::complex(number(2 * i), number(2 * i + 1)));
    }
    const std::vector<std::complex<double>> result = reference::fft(problem, input);
    for (int64_t i = 0; i < written; ++i) {
      *to++ = in_range_of_float(result[static_cast<size_t>(i)].real());
      if (!real_output) *to++ = in_range_of_float(result[static_cast<size_t>(i)].imag());
    }
  }
}

void fit(Case& c) {
  const std::vector<int> n = lengths(c.parameters);
  Dims dims(n.begin(), n.end());
  if (!is_complex(c.inputs[0].dtype)) dims.back() = dims.back() / 2 + 1;
  const Dims& input = c.inputs[0].dims;
  if (input.size() > n.size()) dims.insert(dims.begin(), input[0]);
  set_shape(c.outputs[0], dims);
}

// kind: 0 real to complex, 1 complex to real, 2 complex. shift: extents of the input, 2 as long as the transform.
Case make(const Recipe& r) {
  const bool is_half = r.dtype == MLUOP_DTYPE_HALF, is_2d = r["rank"] == 2;
  const auto complex = is_half ? MLUOP_DTYPE_COMPLEX_HALF : MLUOP_DTYPE_COMPLEX_FLOAT;
  const int64_t w =
      is_half && r["w"] > 0 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(r["w"]))) : r["w"];
  Case c = new_case("fft", r, {"rank", "direction"});
  c.parameters.set("n", is_2d ? std::vector<int64_t>{r["h"], w} : std::vector<int64_t>{w});
  c.parameters.set_real("scale_factor", static_cast<double>(r["quarters"]) / 4);
  const auto shifted = [&](int64_t extent) { return std::max<int64_t>(extent + r["shift"] - 2, 0); };
  const int64_t columns = shifted(r["kind"] == 1 ? w / 2 + 1 : w);
  checked_product({r["b"], is_2d ? std::max(r["h"], shifted(r["h"])) : 1, std::max(w, columns)});
  const Dims dims = is_2d ? Dims{r["b"], shifted(r["h"]), columns} : Dims{r["b"], columns};
  Tensor input = with_uniform(make_tensor("input", r["kind"] == 0 ? r.dtype : complex, dims), r.seed);
  input.onchip_dtype = r.dtype;
  c.inputs = {with_memory(input, r["memory"])};
  c.outputs = {make_tensor("output", r["kind"] == 1 ? r.dtype : complex)};
  fit(c);
  c.outputs[0] = with_memory(c.outputs[0], r["memory"]);
  return c;
}

// Five operations for each number and step, as usual.
Work work(const Arguments& a) {
  const Dims& dims = a[1].dims;
  const std::vector<int> n = lengths(*a.parameters);
  double steps = 0;
  for (const int64_t each : n) steps += std::log2(static_cast<double>(each));
  const auto signals = static_cast<double>(dims.size() > n.size() ? dims[0] : 1);
  const auto numbers = static_cast<double>(n.size() == 2 ? int64_t{n[0]} * n[1] : n[0]);
  const double part = is_real(a[0].dtype) || is_real(a[1].dtype) ? 2.5 : 5;
  return each_once(a, 1, static_cast<int64_t>(part * signals * numbers * steps));
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> axes = {"item", "row", "column"};
  Operator op;
  op.name = "fft";
  op.function = "mluOpExecFFT";
  op.query_function = "mluOpMakeFFTPlanMany";
  op.tensors = {{"input", Role::kInput, axes, kAnyLayout, {1, 2}}, {"output", Role::kOutput, axes, kAnyLayout}};
  // The types of both tensors select the kind.
  for (TensorRule& tensor : op.tensors) tensor.is_any_type = true;
  op.parameter_messages = {"fft_param"};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.work = work;
  op.criteria = sum_criteria;
  // Sums are computed in double and rounded once.
  op.terms = [](const Arguments&) { return int64_t{1}; };
  op.multiplies = true;
  op.has_plan = true;
  op.strides = AllowedStrides::kAny;
  op.in_place = true;
  op.sizes = {{"b", 3, 1, 12},
              {"h", 6, 1, 40},
              {"w", 14, 1, 70},
              {"kind", 2, 0, 2, false},
              {"rank", 1, 1, 2, false},
              {"direction", 0, 0, 1, false},
              {"shift", 2, 0, 4, false},
              {"quarters", 4, 1, 8, false},
              kMemory};
  op.parallel_sizes = {{{"b", 64}, {"w", 1000}},
                       {{"b", 64}, {"w", 1001}, {"kind", 0}, {"memory", 1}},
                       {{"b", 16}, {"h", 70}, {"w", 64}, {"rank", 2}, {"kind", 1}},
                       {{"b", 2}, {"h", 300}, {"w", 70}, {"rank", 2}, {"memory", 1}}};
  // Sizes of the design document of MLU-OPS, and windows of audio.
  op.networks = {{"2048 c2c", {{"b", 32}, {"w", 2048}}},
                 {"2048 r2c", {{"b", 32}, {"w", 2048}, {"kind", 0}}},
                 {"2048 c2r", {{"b", 32}, {"w", 2048}, {"kind", 1}}},
                 {"90x180 r2c", {{"b", 768}, {"h", 90}, {"w", 180}, {"rank", 2}, {"kind", 0}, {"memory", 1}}},
                 {"512x3000 c2c", {{"b", 1}, {"h", 512}, {"w", 3000}, {"rank", 2}}},
                 {"400 r2c", {{"b", 1024}, {"w", 400}, {"kind", 0}}},
                 {"512 c2c", {{"b", 1024}, {"w", 512}}},
                 {"4099 c2c", {{"b", 16}, {"w", 4099}}},
                 {"48000 r2c", {{"b", 16}, {"w", 48000}, {"kind", 0}}}};
  op.dtypes = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};
  op.make = make;
  op.fit = fit;
  Reduction items = axis_reduction("items", {{0, 0}}, {{0, 0}});
  items.count = [](const Case& c) {
    const Dims& dims = c.inputs[0].dims;
    return dims.size() > lengths(c.parameters).size() ? dims[0] : 0;
  };
  op.reductions = {items};
  return {op};
}

}  // namespace mluop::cases::fft

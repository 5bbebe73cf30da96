#include "reference/chamfer_distance.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::chamfer_distance {
namespace {

// Layouts of points: random; on a grid, where many distances are equal; equal except one in 64.
const SizeRule kLayout = {"layout", 0, 0, 2, false};

void expect_forward(Arguments& a) {
  const int64_t B = a[0].dim(0), N = a[0].dim(1), M = a[1].dim(1);
  with_element_type(a[0], [&]<class T>() {
    reference::find_nearest({B, N, M}, a[0].as<T>(), a[1].as<T>(), a[2].as<T>(), a[4].as<int32_t>());
    reference::find_nearest({B, M, N}, a[1].as<T>(), a[0].as<T>(), a[3].as<T>(), a[5].as<int32_t>());
  });
}

// Adds the gradients of the distances of a side to the gradients of both points.
template <class T>
void add_gradients(const Arguments& a, size_t side, double* grad, double* other_grad) {
  const Operand &own = a[side], &other = a[1 - side], &idx = a[2 + side], &grad_dist = a[4 + side];
  if (other.count() == 0) return;
  const auto number = [](const Operand& tensor, int64_t i) {
    return static_cast<double>(reference::to_f32(tensor.as<T>()[i]));
  };
  const double sign = a.are_magnitudes ? 1 : -1;
  for (int64_t i = 0; i < idx.count(); ++i) {
    const int64_t j = i / own.dim(1) * other.dim(1) + idx.as<int32_t>()[i];
    for (int64_t dim = 0; dim < 2; ++dim) {
      const double term =
          2 * number(grad_dist, i) * (number(own, 2 * i + dim) + sign * number(other, 2 * j + dim));
      grad[2 * i + dim] += term;
      other_grad[2 * j + dim] += sign * term;
    }
  }
}

void expect_backward(Arguments& a) {
  double *const grad1 = sums_of(a[6]), *const grad2 = sums_of(a[7]);
  with_element_type(a[0], [&]<class T>() {
    add_gradients<T>(a, 0, grad1, grad2);
    add_gradients<T>(a, 1, grad2, grad1);
  });
}

Tensor with_points(const Recipe& r, Tensor tensor, int32_t seed) {
  if (r["layout"] == 0) return with_uniform(std::move(tensor), seed);
  Integers random(seed);
  std::vector<float> numbers;
  for (int64_t i = 0; i < tensor.dims[0] * tensor.dims[1]; ++i) {
    const bool is_common = r["layout"] == 2 && random.below(64) > 0;
    for (int dim = 0; dim < 2; ++dim)
      numbers.push_back(is_common ? 0.5F : static_cast<float>(random.below(9)) / 4);
  }
  return with_numbers(std::move(tensor), numbers);
}

void fit(Case& c) {
  const bool is_forward = c.inputs.size() == 2;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Dims& points = c.inputs[i % 2].dims;
    set_shape(c.outputs[i], is_forward ? Dims{points[0], points[1]} : points);
  }
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "chamfer_distance_forward" : "chamfer_distance_backward", r);
  const int64_t B = r["b"], N = r["n"], M = r["m"];
  checked_product({B, N + M, 2});
  c.inputs = {with_points(r, make_tensor("xyz1", r.dtype, {B, N, 2}), r.seed),
              with_points(r, make_tensor("xyz2", r.dtype, {B, M, 2}), r.seed + 1)};
  if (kForward) {
    c.outputs = {make_tensor("dist1", r.dtype), make_tensor("dist2", r.dtype),
                 make_tensor("idx1", MLUOP_DTYPE_INT32), make_tensor("idx2", MLUOP_DTYPE_INT32)};
  } else {
    const auto idx = [&](const char* id, int64_t points, int64_t others, int32_t seed) {
      Integers random(seed);
      std::vector<int32_t> values(static_cast<size_t>(B * points));
      // Many distances of a point, if the layout is not random.
      for (int32_t& value : values) value = random.below(r["layout"] == 0 ? others : std::min<int64_t>(others, 2));
      return with_values(make_tensor(id, MLUOP_DTYPE_INT32, {B, points}), values);
    };
    c.inputs.push_back(idx("idx1", N, M, r.seed + 2));
    c.inputs.push_back(idx("idx2", M, N, r.seed + 3));
    c.inputs.push_back(with_uniform(make_tensor("grad_dist1", r.dtype, {B, N}), r.seed + 4));
    c.inputs.push_back(with_uniform(make_tensor("grad_dist2", r.dtype, {B, M}), r.seed + 5));
    c.outputs = {make_tensor("grad_xyz1", r.dtype), make_tensor("grad_xyz2", r.dtype)};
  }
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> points = {"batch", "point", "coordinate"}, distances = {"batch", "point"};
  const auto tensor = [](const char* id, Role role, const std::vector<std::string>& axes) {
    return TensorRule{id, role, axes, kAnyLayout};
  };
  Operator forward;
  forward.name = "chamfer_distance_forward";
  forward.function = "mluOpOmpChamferDistanceForward";
  forward.tensors = {tensor("xyz1", Role::kInput, points),      tensor("xyz2", Role::kInput, points),
                     tensor("dist1", Role::kOutput, distances), tensor("dist2", Role::kOutput, distances),
                     tensor("idx1", Role::kOutput, distances),  tensor("idx2", Role::kOutput, distances)};
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpChamferDistanceForward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5]);
  };
  forward.expect = expect_forward;
  // Five operations and a comparison for each pair and direction.
  forward.work = [](const Arguments& a) { return each_once(a, 2, 12 * a[2].count() * a[1].dim(1)); };
  forward.sizes = {{"b", 2, 1, 4}, {"n", 60, 1, 500}, {"m", 45, 1, 900}, kLayout};
  forward.multiplies = true;
  forward.parallel_sizes = {{{"b", 40}, {"n", 60}, {"m", 70}, {"layout", 1}},
                            {{"b", 2}, {"n", 700}, {"m", 400}},
                            {{"b", 1}, {"n", 500}, {"m", 900}, {"layout", 1}},
                            {{"b", 1}, {"n", 600}, {"m", 600}, {"layout", 2}}};
  // Oriented RepPoints; clouds.
  forward.networks = {{"reppoints 500x40", {{"b", 500}, {"n", 40}, {"m", 40}}},
                      {"4096x4096", {{"b", 1}, {"n", 4096}, {"m", 4096}}},
                      {"16384x16384", {{"b", 1}, {"n", 16384}, {"m", 16384}}}};
  forward.make = make<true>;
  forward.fit = fit;
  forward.reductions = {axis_reduction("points of xyz1", {{0, 1}}, {{0, 1}, {2, 1}}, {3}),
                        axis_reduction("points of xyz2", {{1, 1}}, {{1, 1}, {3, 1}}, {2}),
                        axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}})};
  Operator backward = forward;
  backward.name = "chamfer_distance_backward";
  backward.function = "mluOpOmpChamferDistanceBackward";
  backward.tensors = {tensor("xyz1", Role::kInput, points),          tensor("xyz2", Role::kInput, points),
                      tensor("idx1", Role::kInput, distances),       tensor("idx2", Role::kInput, distances),
                      tensor("grad_dist1", Role::kInput, distances), tensor("grad_dist2", Role::kInput, distances),
                      tensor("grad_xyz1", Role::kOutput, points),    tensor("grad_xyz2", Role::kOutput, points)};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpChamferDistanceBackward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  };
  backward.expect = expect_backward;
  backward.terms = [](const Arguments& a) { return std::max(a[0].dim(1), a[1].dim(1)) + 1; };
  backward.criteria = sum_criteria;
  // Two coordinates of a term for each distance, added to both points.
  backward.work = [](const Arguments& a) { return each_once(a, 6, 12 * (a[4].count() + a[5].count())); };
  backward.parallel_sizes = {{{"b", 2}, {"n", 700}, {"m", 400}}, {{"b", 40}, {"n", 60}, {"m", 70}, {"layout", 1}}};
  backward.make = make<false>;
  backward.reductions = {
      axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}}, {{0, 0}, {1, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::chamfer_distance

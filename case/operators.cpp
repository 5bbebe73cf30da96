#include "case/operators.h"

#include <algorithm>
#include <cstring>

#include "case/operators/support.h"

namespace mluop::cases {

// The tables, one for each file of operators/.
// clang-format off
namespace assign_score_withk { std::vector<Operator> operators(); }
namespace axis_aligned_nms { std::vector<Operator> operators(); }
namespace ball_query { std::vector<Operator> operators(); }
namespace bev_pool { std::vector<Operator> operators(); }
namespace boxes_overlap_bev { std::vector<Operator> operators(); }
namespace dcn { std::vector<Operator> operators(); }
namespace dynamic_scatter { std::vector<Operator> operators(); }
namespace focal_loss_sigmoid { std::vector<Operator> operators(); }
namespace furthest_point_sample { std::vector<Operator> operators(); }
namespace gather_points { std::vector<Operator> operators(); }
namespace get_indice_pairs { std::vector<Operator> operators(); }
namespace indice_convolution { std::vector<Operator> operators(); }
namespace indice_maxpool { std::vector<Operator> operators(); }
namespace knn { std::vector<Operator> operators(); }
namespace masked_convolution { std::vector<Operator> operators(); }
namespace ms_deform_attn { std::vector<Operator> operators(); }
namespace nms { std::vector<Operator> operators(); }
namespace points_in_boxes { std::vector<Operator> operators(); }
namespace roi_align { std::vector<Operator> operators(); }
namespace roi_pooling { std::vector<Operator> operators(); }
namespace rotated_boxes { std::vector<Operator> operators(); }
namespace stack_group_points { std::vector<Operator> operators(); }
namespace three_interpolate { std::vector<Operator> operators(); }
namespace three_nn_forward { std::vector<Operator> operators(); }
namespace voxel_pooling { std::vector<Operator> operators(); }
namespace voxelization { std::vector<Operator> operators(); }
// clang-format on

namespace {

std::vector<std::string> ids_of(const Operator& op, bool outputs) {
  std::vector<std::string> ids;
  for (const TensorRule& rule : op.tensors) {
    if (rule.is_read() != outputs) ids.push_back(rule.id);
  }
  return ids;
}

const TensorRule* rule_of(const Operator& op, const std::string& id) {
  const auto found =
      std::find_if(op.tensors.begin(), op.tensors.end(), [&](const TensorRule& rule) { return rule.id == id; });
  return found == op.tensors.end() ? nullptr : &*found;
}

BoundTensor bound_tensor(const Tensor& tensor, bool is_output) {
  const auto pointer = [](const std::optional<Elements>& elements) { return elements ? &*elements : nullptr; };
  if (!is_output) return {&tensor, &tensor.elements, pointer(tensor.result)};
  const bool stated = tensor.elements.source != Elements::Source::kNone;
  return {&tensor, pointer(tensor.initial), stated ? &tensor.elements : nullptr};
}

int64_t bytes_of(const Case& the_case) {
  size_t bytes = 0;
  for (const auto* list : {&the_case.inputs, &the_case.outputs}) {
    for (const Tensor& tensor : *list) bytes += byte_count(tensor);
  }
  return static_cast<int64_t>(bytes);
}

bool all_ids_are_names(const Case& the_case, const Operator& op) {
  const auto is_name = [&](const Tensor& tensor) { return rule_of(op, tensor.id) != nullptr; };
  return std::all_of(the_case.inputs.begin(), the_case.inputs.end(), is_name) &&
         std::all_of(the_case.outputs.begin(), the_case.outputs.end(), is_name);
}

std::vector<BoundTensor> bind_by_id(const Case& the_case, const Operator& op) {
  static const Tensor kAbsent{.id = "NULL", .dims = {0}};
  std::vector<BoundTensor> bound(op.tensors.size(), BoundTensor{nullptr, nullptr, nullptr});
  const auto bind_one = [&](const Tensor& tensor, bool is_output) {
    const TensorRule* rule = rule_of(op, tensor.id);
    BoundTensor& slot = bound[static_cast<size_t>(rule - op.tensors.data())];
    if (slot.tensor != nullptr) fail(tensor.place, "a second tensor " + tensor.id);
    if (is_output ? !rule->is_written() : !rule->is_read()) {
      fail(tensor.place, tensor.id + (is_output ? " is an input of " : " is an output of ") + op.name);
    }
    slot = bound_tensor(tensor, is_output);
  };
  for (const Tensor& tensor : the_case.inputs) bind_one(tensor, false);
  for (const Tensor& tensor : the_case.outputs) bind_one(tensor, true);
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].tensor != nullptr) continue;
    if (!op.tensors[i].is_optional) fail(the_case.place, op.name + ": tensor " + op.tensors[i].id + " is missing");
    bound[i].tensor = &kAbsent;
  }
  return bound;
}

}  // namespace

int64_t Operand::count() const {
  int64_t product = 1;
  for (const int64_t extent : dims) product *= extent;
  return product;
}

int64_t Operand::bytes() const { return count() * static_cast<int64_t>(element_size(dtype)); }

const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> list;
    for (const auto& table : {assign_score_withk::operators,
                              axis_aligned_nms::operators,
                              ball_query::operators,
                              bev_pool::operators,
                              boxes_overlap_bev::operators,
                              dcn::operators,
                              dynamic_scatter::operators,
                              knn::operators,
                              points_in_boxes::operators,
                              focal_loss_sigmoid::operators,
                              furthest_point_sample::operators,
                              gather_points::operators,
                              get_indice_pairs::operators,
                              indice_convolution::operators,
                              indice_maxpool::operators,
                              masked_convolution::operators,
                              ms_deform_attn::operators,
                              nms::operators,
                              roi_align::operators,
                              roi_pooling::operators,
                              rotated_boxes::operators,
                              stack_group_points::operators,
                              three_interpolate::operators,
                              three_nn_forward::operators,
                              voxel_pooling::operators,
                              voxelization::operators}) {
      for (Operator& op : table()) list.push_back(std::move(op));
    }
    std::sort(list.begin(), list.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

const Operator& operator_of(const std::string& name, const Place& place) {
  for (const Operator& op : operators()) {
    if (op.name == name || std::find(op.aliases.begin(), op.aliases.end(), name) != op.aliases.end()) return op;
  }
  fail(place, "unknown operator '" + name + "'");
}

std::vector<BoundTensor> bind(const Case& the_case, const Operator& op) {
  if (all_ids_are_names(the_case, op)) return bind_by_id(the_case, op);
  const std::vector<std::string> inputs = ids_of(op, false), outputs = ids_of(op, true);
  if (the_case.inputs.size() != inputs.size() || the_case.outputs.size() != outputs.size()) {
    fail(the_case.place, op.name + " has " + std::to_string(inputs.size()) + " inputs and " +
                             std::to_string(outputs.size()) + " outputs (" + joined(inputs) + " -> " +
                             joined(outputs) + "), found " + std::to_string(the_case.inputs.size()) + " and " +
                             std::to_string(the_case.outputs.size()));
  }
  std::vector<BoundTensor> bound;
  auto input = the_case.inputs.begin(), output = the_case.outputs.begin();
  for (const TensorRule& rule : op.tensors) {
    bound.push_back(rule.is_read() ? bound_tensor(*input++, false) : bound_tensor(*output++, true));
  }
  return bound;
}

Recipe default_recipe(const Operator& op, mluOpDataType_t dtype) {
  Recipe recipe;
  recipe.dtype = dtype;
  for (const SizeRule& size : op.sizes) recipe.sizes[size.name] = size.value;
  return recipe;
}

Recipe draw_recipe(const Operator& op, mluOpDataType_t dtype,
                   const std::function<int64_t(int64_t, int64_t)>& number, int64_t max_bytes) {
  constexpr int64_t kSmall = 17;
  Recipe recipe = default_recipe(op, dtype);
  for (const SizeRule& size : op.sizes) {
    const int64_t highest = number(0, 1) == 0 ? std::min(size.highest, kSmall) : size.highest;
    recipe.sizes[size.name] = number(size.lowest, highest);
  }
  recipe.seed = static_cast<int32_t>(number(0, INT16_MAX));
  int64_t bytes = bytes_of(op.make(recipe));
  // Half of the recipes enlarge the size with the widest range until the memory limit is reached.
  if (bytes < max_bytes && bytes > 0 && number(0, 1) == 1) {
    const auto widest = std::max_element(op.sizes.begin(), op.sizes.end(), [](const auto& a, const auto& b) {
      return a.is_extent == b.is_extent ? a.highest < b.highest : b.is_extent;
    });
    int64_t& extent = recipe.sizes[widest->name];
    extent = std::min(extent * max_bytes / bytes, widest->highest);
    bytes = bytes_of(op.make(recipe));
  }
  for (; bytes > max_bytes; bytes = bytes_of(op.make(recipe))) {
    const SizeRule* largest = nullptr;
    for (const SizeRule& size : op.sizes) {
      if (size.is_extent && (largest == nullptr || recipe[size.name] > recipe[largest->name])) largest = &size;
    }
    int64_t& extent = recipe.sizes[largest->name];
    if (extent <= largest->lowest) break;
    extent = std::max((extent + 1) / 2, largest->lowest);
  }
  return recipe;
}

Work work_of_tensors(const Operator& op, const Arguments& arguments) {
  Work work;
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const int64_t bytes = arguments[i].bytes();
    if (op.tensors[i].is_read()) work.read_bytes += bytes;
    if (op.tensors[i].is_written()) work.write_bytes += bytes;
  }
  return work;
}

Tensor slices_of(const Tensor& tensor, size_t dim, const std::vector<int64_t>& kept) {
  Tensor slices = tensor;
  const auto extent = static_cast<size_t>(tensor.dims[dim]);
  size_t inner = element_size(tensor.dtype), outer = 1;
  for (size_t i = 0; i < dim; ++i) outer *= static_cast<size_t>(tensor.dims[i]);
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i) inner *= static_cast<size_t>(tensor.dims[i]);
  slices.dims[dim] = static_cast<int64_t>(kept.size());
  slices.elements.bytes.resize(outer * kept.size() * inner);
  std::byte* to = slices.elements.bytes.data();
  for (size_t o = 0; o < outer; ++o) {
    for (const int64_t index : kept) {
      if (inner > 0)
        std::memcpy(to, tensor.elements.bytes.data() + (o * extent + static_cast<size_t>(index)) * inner, inner);
      to += inner;
    }
  }
  return slices;
}

Reduction axis_reduction(std::string name, std::vector<std::pair<size_t, size_t>> dims,
                         std::vector<std::pair<size_t, int>> result_dims, std::vector<size_t> position_outputs) {
  return {std::move(name), [dims](const Case& c) { return c.inputs[dims[0].first].dims[dims[0].second]; },
          [dims](Case& c, const std::vector<int64_t>& kept) {
            for (const auto& [input, dim] : dims) {
              if (input < c.inputs.size()) c.inputs[input] = slices_of(c.inputs[input], dim, kept);
            }
          },
          std::move(result_dims), std::move(position_outputs)};
}

}  // namespace mluop::cases

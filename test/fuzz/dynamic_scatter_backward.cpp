// Fuzzer of mluOpDynamicScatterBackward, mluOpDynamicPointToVoxelBackward and their workspace queries.
#include "reference/dynamic_scatter_backward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::DynamicScatterBackwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  int64_t points = decoder.number(0, 600), channels = decoder.number(0, 100);
  // Enough for more voxels than buckets.
  if (decoder.one_in(32)) {
    points = decoder.number(4100, 5000);
    channels = 1;
  }
  limit_product({&points, &channels}, decode_max_count(decoder));
  // Without features, any number of voxels is valid.
  const int64_t voxels = decoder.number(0, points == 0 || channels == 0 ? 20 : points);
  const int64_t voxel_num = decoder.one_in(4) ? decoder.number(0, voxels) : voxels;
  return {static_cast<int>(points), static_cast<int>(voxels), static_cast<int>(channels),
          static_cast<int>(voxel_num)};
}

constexpr mluOpReduceMode_t kReduceTypes[] = {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DSUM};
constexpr const char* kNames[] = {"mluOpDynamicScatterBackward", "mluOpDynamicPointToVoxelBackward"};

class Fuzzer : public OperatorFuzzer {
 public:
  Fuzzer(Decoder& bytes, bool later_name)
      : OperatorFuzzer(bytes, kNames[later_name ? 1 : 0], {}),
        later_name_(later_name),
        sizes_(decode_sizes(bytes)),
        valid_type_(bytes.pick(kReduceTypes)),
        grads_(any_layout(MLUOP_DTYPE_FLOAT, {sizes_.voxels, sizes_.channels})),
        feats_(any_layout(MLUOP_DTYPE_FLOAT, {sizes_.points, sizes_.channels})),
        voxel_feats_(any_layout(MLUOP_DTYPE_FLOAT, {sizes_.voxels, sizes_.channels})),
        map_(any_layout(MLUOP_DTYPE_INT32, {sizes_.points})),
        counts_(any_layout(MLUOP_DTYPE_INT32, {sizes_.voxels})),
        voxel_num_(any_layout(MLUOP_DTYPE_INT32, {1})),
        grad_feats_(
            output({.dtype = MLUOP_DTYPE_FLOAT, .dims = {sizes_.points, sizes_.channels}, .any_layout = true})) {
    fill();
  }

 private:
  Tensor& any_layout(mluOpDataType_t dtype, const std::vector<int64_t>& dims) {
    return input({.dtype = dtype, .dims = dims, .any_layout = true});
  }

  mluOpStatus_t execute(mluOpHandle_t handle) override {
    const auto function = [&](auto operation) {
      return operation(handle, reduce_type_, grads_.desc(), grads_.pointer(), feats_.desc(), feats_.pointer(),
                       voxel_feats_.desc(), voxel_feats_.pointer(), map_.desc(), map_.pointer(), counts_.desc(),
                       counts_.pointer(), voxel_num_.desc(), voxel_num_.pointer(), workspace(), workspace_size(),
                       grad_feats_.desc(), grad_feats_.pointer());
    };
    return later_name_ ? function(mluOpDynamicPointToVoxelBackward) : function(mluOpDynamicScatterBackward);
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    if (!later_name_)
      return mluOpGetDynamicScatterBackwardWorkspaceSize(handle, reduce_type_, feats_.desc(), bytes);
    return mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(handle, reduce_type_, grads_.desc(), feats_.desc(),
                                                            voxel_feats_.desc(), map_.desc(), counts_.desc(),
                                                            voxel_num_.desc(), bytes);
  }
  bool query_checks_descs() const override { return false; }
  bool reads_nothing() const override { return sizes_.points == 0 || sizes_.channels == 0; }

  // A value that is no reduction, voxel_num out of range, a point of a voxel out of range, or a count.
  Fault apply_own_fault() override {
    const auto any = static_cast<int32_t>(decoder().flag() ? decoder().any_number() : decoder().number(-2, 700));
    switch (decoder().number(0, 3)) {
      case 0: reduce_type_ = static_cast<mluOpReduceMode_t>(3); return Fault::kHarmful;
      case 1:
        if (0 <= any && any <= sizes_.voxels) return Fault::kNone;
        return replace(voxel_num_.data<int32_t>(), any, !reads_nothing());
      case 2: return replace_count(any);
      default:
        if (sizes_.points == 0 || (-1 <= any && any < sizes_.voxel_num)) return Fault::kNone;
        return replace(map_.data<int32_t>() + decoder().index(map_.count()), any,
                       sizes_.channels > 0 && sizes_.voxel_num > 0);
    }
  }
  // For the mean: the count of a voxel that has points.
  Fault replace_count(int32_t any) {
    if (sizes_.voxel_num == 0 || any > 0) return Fault::kNone;
    const auto voxel = static_cast<int32_t>(decoder().index(static_cast<size_t>(sizes_.voxel_num)));
    const int32_t* const map = map_.data<int32_t>();
    const bool has_points = std::find(map, map + map_.count(), voxel) != map + map_.count();
    return replace(counts_.data<int32_t>() + voxel, any,
                   has_points && valid_type_ == MLUOP_REDUCE_DMEAN && sizes_.channels > 0);
  }
  Fault replace(int32_t* element, int32_t value, bool harmful) {
    replaced_ = element;
    original_ = std::exchange(*element, value);
    return harmful ? Fault::kHarmful : Fault::kHarmless;
  }
  void undo_own_fault() override {
    reduce_type_ = valid_type_;
    if (replaced_ != nullptr) *std::exchange(replaced_, nullptr) = original_;
  }

  void fill() {
    Values values(decoder(), true);
    values.fill(feats_.data<float>(), feats_.count());
    Values(decoder(), true).fill(grads_.data<float>(), grads_.count());
    for (int32_t* voxels : {map_.data<int32_t>(), counts_.data<int32_t>()}) {
      const size_t count = voxels == map_.data<int32_t>() ? map_.count() : counts_.count();
      for (size_t i = 0; i < count; ++i) voxels[i] = static_cast<int32_t>(values.bits());
    }
    for (size_t i = 0; i < counts_.count() && valid_type_ == MLUOP_REDUCE_DMEAN; ++i) {
      counts_.data<int32_t>()[i] = 1 + static_cast<int32_t>(values.below(INT32_MAX));
    }
    *voxel_num_.data<int32_t>() = sizes_.voxel_num;
    if (sizes_.voxel_num > 0) fill_map(values);
    fill_voxel_feats(values);
  }

  void fill_map(Values& values) {
    // In 16 points, `none` have no voxel, and `repeated` have that of the point before.
    const int64_t none = decoder().number(0, 4), repeated = decoder().number(0, 15);
    auto* map = map_.data<int32_t>();
    for (int n = 0; n < sizes_.points; ++n) {
      map[n] = static_cast<int32_t>(values.below(sizes_.voxel_num));
      if (n > 0 && values.below(16) < repeated) map[n] = map[n - 1];
      if (values.below(16) < none) map[n] = -1;
    }
  }

  // The maxima of most channels; those of some are no point's.
  void fill_voxel_feats(Values& values) {
    values.fill(voxel_feats_.data<float>(), voxel_feats_.count());
    if (sizes_.voxel_num == 0) return;
    const int64_t channels = sizes_.channels;
    for (int64_t n = 0; n < sizes_.points; ++n) {
      const int32_t voxel = map_.data<int32_t>()[n];
      for (int64_t c = 0; voxel >= 0 && c < channels; ++c) {
        const float feature = feats_.data<float>()[n * channels + c];
        float& highest = voxel_feats_.data<float>()[voxel * channels + c];
        if (!(feature <= highest) && values.below(16) > 0) highest = feature;
      }
    }
  }

  void check_result() override {
    // Without features the call writes nothing, and there is nothing to compare.
    std::vector<float> expected(grad_feats_.count());
    std::vector<int32_t> reduce_from(voxel_feats_.count());
    if (valid_type_ != MLUOP_REDUCE_DMAX) {
      check_sums(expected);
      return;
    }
    if (sizes_.voxel_num > 0 && !reads_nothing()) {
      reference::dynamic_scatter_backward(sizes_, grads_.data<float>(), feats_.data<float>(),
                                          voxel_feats_.data<float>(), map_.data<int32_t>(), reduce_from.data(),
                                          expected.data());
    }
    check(expected.empty() ||
              std::memcmp(expected.data(), grad_feats_.data<float>(), expected.size() * sizeof(float)) == 0,
          "grad_feats is wrong");
  }

  void check_sums(std::vector<float>& expected) {
    if (reads_nothing()) return;
    const bool is_mean = valid_type_ == MLUOP_REDUCE_DMEAN;
    reference::dynamic_scatter_backward_of_sums(sizes_, grads_.data<float>(), map_.data<int32_t>(),
                                                is_mean ? counts_.data<int32_t>() : nullptr, expected.data());
    const float* const grads = grad_feats_.data<float>();
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool both_nan = is_mean && std::isnan(grads[i]) && std::isnan(expected[i]);
      check(both_nan || std::memcmp(&grads[i], &expected[i], sizeof(float)) == 0, "grad_feats is wrong");
    }
  }

  bool later_name_;
  Sizes sizes_;
  mluOpReduceMode_t valid_type_;  // of the valid call
  mluOpReduceMode_t reduce_type_ = valid_type_;
  Tensor &grads_, &feats_, &voxel_feats_, &map_, &counts_, &voxel_num_, &grad_feats_;
  int32_t* replaced_ = nullptr;
  int32_t original_ = 0;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  const bool later_name = decoder.flag();
  Fuzzer(decoder, later_name).run();
}

}  // namespace mluop::fuzz

// Fuzzer of mluOpVoxelPoolingForward.
#include "reference/voxel_pooling_forward.h"
#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/same_bits.h"
#include "support/sums.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::VoxelPoolingForwardSizes;

Sizes decode_sizes(Decoder& decoder, int64_t element_bytes) {
  int64_t b = decoder.number(1, 4), n = decoder.number(1, 400), c = decoder.number(1, 96);
  int64_t x = decoder.number(1, 24), y = decoder.number(1, 24), z = decoder.number(1, 4);
  // More cells than buckets.
  if (decoder.one_in(32)) {
    c = 1;
    x = y = 80;
  }
  // As many bytes of each type: tasks share a cell only where the features of a call are large.
  const int64_t max_count = decode_max_count(decoder) * int64_t{sizeof(float)} / element_bytes;
  limit_product({&b, &n, &c}, max_count);
  limit_product({&b, &x, &y, &c}, max_count);
  if (decoder.flag()) n = std::max(n, max_count / (b * c));
  const auto narrow = [](int64_t size) { return static_cast<int>(size); };
  return {narrow(b), narrow(n), narrow(c), narrow(x), narrow(y), narrow(z)};
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpVoxelPoolingForward", {MLUOP_STATUS_ARCH_MISMATCH}),
        sizes_(decode_sizes(bytes, sizeof(T))),
        geom_(input({MLUOP_DTYPE_INT32, {sizes_.batch_size, sizes_.num_points, 3}})),
        features_(input({test::kDtype<T>, {sizes_.batch_size, sizes_.num_points, sizes_.num_channels}})),
        sums_(output(
            {test::kDtype<T>, {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x, sizes_.num_channels}})),
        memo_(output({MLUOP_DTYPE_INT32, {sizes_.batch_size, sizes_.num_points, 3}})) {
    fill_geometry();
    Values(decoder(), settings().is_native()).fill(features_.template data<T>(), features_.count());
    for (size_t i = 0; i < 6; ++i) valid_scalars_[i] = scalars_[i];
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpVoxelPoolingForward(handle, scalars_[0], scalars_[1], scalars_[2], scalars_[3], scalars_[4],
                                    scalars_[5], geom_.desc(), geom_.pointer(), features_.desc(),
                                    features_.pointer(), sums_.desc(), sums_.pointer(), memo_.desc(),
                                    memo_.pointer());
  }

  mluOpStatus_t status_of_valid_call() const override {
    return settings().is_200_series() ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_SUCCESS;
  }
  bool device_is_deterministic() const override { return false; }

  // A scalar that its shapes do not have, or a number of layers that is not positive.
  Fault apply_own_fault() override {
    const size_t at = decoder().index(6);
    const auto any = static_cast<int>(decoder().flag() ? decoder().any_number() : decoder().number(-1, 3));
    if (any == scalars_[at] || (at == 5 && any > 0)) return Fault::kNone;
    scalars_[at] = any;
    return Fault::kHarmful;
  }
  void undo_own_fault() override { std::copy(valid_scalars_, valid_scalars_ + 6, scalars_); }

  void fill_geometry() {
    Values values(decoder(), false);
    // In 16 coordinates, `any` are arbitrary numbers, and `repeated` are those of the point before.
    const int64_t any = decoder().number(0, 4), repeated = decoder().number(0, 16);
    const int counts[] = {sizes_.num_voxel_x, sizes_.num_voxel_y, sizes_.num_voxel_z};
    auto* geom = geom_.data<int32_t>();
    for (int64_t point = 0; point < sizes_.points(); ++point) {
      const bool repeats = point > 0 && values.below(16) < repeated;
      for (int64_t axis = 0; axis < 3; ++axis) {
        int32_t& coordinate = geom[point * 3 + axis];
        coordinate = repeats ? geom[(point - 1) * 3 + axis] : static_cast<int32_t>(values.below(counts[axis]));
        if (values.below(16) >= any) continue;
        const bool adjacent = values.below(2) == 0;
        coordinate = adjacent ? static_cast<int32_t>(values.below(2) == 0 ? -1 : counts[axis])
                              : static_cast<int32_t>(values.bits());
      }
    }
  }

  void check_result() override {
    std::vector<int32_t> memo(memo_.count());
    if (expected_.empty()) {
      expected_.resize(sums_.count());
      reference::voxel_pooling_forward(sizes_, geom_.data<int32_t>(), features_.template data<T>(),
                                       expected_.data(), memo.data());
      expected_memo_ = memo;
    }
    check(std::equal(expected_memo_.begin(), expected_memo_.end(), memo_.data<int32_t>()), "pos_memo is wrong");
    if (settings().is_native()) {
      check(same_bits(sums_.template data<T>(), expected_), "output_features is not that of the serial loop");
    } else {
      check_sums(memo);
    }
  }

  // Compares with the serial loop in fp32, whose sums have rounding errors too.
  void check_sums(std::vector<int32_t>& memo) const {
    const T* const features = features_.template data<T>();
    std::vector<float> floats(features_.count()), sums(sums_.count()), magnitudes(sums_.count());
    std::transform(features, features + features_.count(), floats.begin(),
                   [](T feature) { return test::to_f32(feature); });
    reference::voxel_pooling_forward(sizes_, geom_.data<int32_t>(), floats.data(), sums.data(), memo.data());
    floats = magnitudes_of<T>(features_);
    reference::voxel_pooling_forward(sizes_, geom_.data<int32_t>(), floats.data(), magnitudes.data(), memo.data());
    for (size_t i = 0; i < sums.size(); ++i) {
      check(is_sum(test::to_f32(sums_.template data<T>()[i]), {sums[i], magnitudes[i]}, 2 * sizes_.num_points,
                   sizeof(T) == 2),
            "output_features is wrong at ", std::to_string(i));
    }
  }

  Sizes sizes_;
  int scalars_[6] = {sizes_.batch_size,  sizes_.num_points,  sizes_.num_channels,
                     sizes_.num_voxel_x, sizes_.num_voxel_y, sizes_.num_voxel_z};
  int valid_scalars_[6];
  Tensor &geom_, &features_, &sums_, &memo_;
  std::vector<T> expected_;
  std::vector<int32_t> expected_memo_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  if (decoder.flag()) {
    Fuzzer<test::Half>(decoder).run();
  } else {
    Fuzzer<float>(decoder).run();
  }
}

}  // namespace mluop::fuzz

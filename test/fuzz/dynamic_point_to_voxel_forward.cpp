// Fuzzer of mluOpDynamicPointToVoxelForward and its workspace query.
#include "reference/dynamic_point_to_voxel_forward.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using reference::Reduction;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kInt = MLUOP_DTYPE_INT32;

struct Problem {
  int64_t points, channels;
  Reduction reduction;
  std::vector<int32_t> coors;  // [points, 3]
  int32_t voxels;
  int64_t max_voxels;
};

// Coordinates of few or many values along each axis, from any origin on. With one_voxel, of most points the
// origin.
std::vector<int32_t> decode_coors(Decoder& decoder, int64_t points, bool one_voxel) {
  int64_t origins[3], extents[3];
  for (size_t axis = 0; axis < 3; ++axis) {
    extents[axis] = one_voxel || decoder.flag() ? decoder.number(1, 40) : decoder.number(1, INT32_MAX);
    origins[axis] = decoder.one_in(4) ? decoder.number(0, int64_t{INT32_MAX} + 1 - extents[axis]) : 0;
  }
  const int64_t none = decoder.number(0, 4);
  Values values(decoder, false);
  std::vector<int32_t> coors;
  for (int64_t i = 0; i < 3 * points; ++i) {
    if (one_voxel && i / 3 % 64 > 0) {
      coors.push_back(static_cast<int32_t>(origins[i % 3]));
      continue;
    }
    const bool negative = values.below(32) < none;
    const int64_t coor = negative ? -1 - values.below(INT32_MAX) : origins[i % 3] + values.below(extents[i % 3]);
    coors.push_back(static_cast<int32_t>(coor));
  }
  return coors;
}

Problem decode_problem(Decoder& decoder) {
  constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMean, Reduction::kMax};
  Problem problem{decoder.number(0, 600), decoder.number(0, 100), decoder.pick(kReductions), {}, 0, 0};
  limit_product({&problem.points, &problem.channels}, decode_max_count(decoder));
  // One call in 64 has a voxel of more than 4096 points and several cache lines, which the tasks share.
  const bool one_voxel = decoder.one_in(64);
  if (one_voxel) {
    problem.points = decoder.number(4200, 4300);
    problem.channels = decoder.number(15, 20);
  }
  problem.coors = decode_coors(decoder, problem.points, one_voxel);
  problem.voxels = reference::dynamic_point_to_voxel_forward(problem.reduction, problem.points, 0, nullptr,
                                                             problem.coors.data())
                       .voxel_num;
  // Mostly one of the valid numbers of rows.
  problem.max_voxels =
      decoder.one_in(16) ? decoder.number(0, problem.points + 1) : decoder.number(problem.voxels, problem.points);
  return problem;
}

class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpDynamicPointToVoxelForward", {MLUOP_STATUS_ARCH_MISMATCH}),
        problem_(decode_problem(bytes)),
        feats_(input(any_layout(kFloat, {problem_.points, problem_.channels}))),
        // The call writes it too: execute() restores it.
        coors_(input(any_layout(kInt, {problem_.points, 3}))),
        voxel_feats_(output(any_layout(kFloat, {problem_.max_voxels, problem_.channels}))),
        voxel_coors_(output(any_layout(kInt, {problem_.max_voxels, 3}))),
        map_(output(any_layout(kInt, {problem_.points}))),
        counts_(output(any_layout(kInt, {problem_.max_voxels}))),
        voxel_num_(output(any_layout(kInt, {1}))) {
    // If there are many rows, the first are repeated.
    const size_t distinct = std::min(feats_.count(), size_t{1} << 13);
    Values(bytes, true).fill(feats_.data<float>(), distinct);
    for (size_t i = distinct; i < feats_.count(); ++i)
      feats_.data<float>()[i] = feats_.data<float>()[i - distinct];
    std::copy(problem_.coors.begin(), problem_.coors.end(), coors_.data<int32_t>());
    undo_own_fault();
  }

 private:
  static TensorFormat any_layout(mluOpDataType_t dtype, std::vector<int64_t> dims) {
    return {.dtype = dtype, .dims = std::move(dims), .any_layout = true};
  }

  mluOpStatus_t execute(mluOpHandle_t handle) override {
    const mluOpStatus_t status = mluOpDynamicPointToVoxelForward(
        handle, reduce_type_, feats_.desc(), feats_.pointer(), coors_.desc(), coors_.pointer(), workspace(),
        workspace_size(), voxel_feats_.desc(), voxel_feats_.pointer(), voxel_coors_.desc(), voxel_coors_.pointer(),
        map_.desc(), map_.pointer(), counts_.desc(), counts_.pointer(), voxel_num_.desc(), voxel_num_.pointer());
    auto* const coors = coors_.data<int32_t>();
    for (int64_t n = 0; n < problem_.points; ++n) {
      const int32_t* const coor = problem_.coors.data() + 3 * n;
      const bool rewritten = status == MLUOP_STATUS_SUCCESS && std::min({coor[0], coor[1], coor[2]}) < 0;
      for (int axis = 0; axis < 3; ++axis) {
        check(coors[3 * n + axis] == (rewritten ? -1 : coor[axis]), "coors is wrong");
      }
    }
    std::copy(problem_.coors.begin(), problem_.coors.end(), coors);
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle, feats_.desc(), coors_.desc(), bytes);
  }
  bool query_checks_descs() const override { return false; }
  bool reads_nothing() const override { return problem_.points == 0; }
  mluOpStatus_t status_of_valid_call() const override {
    if (settings().is_200_series()) return MLUOP_STATUS_ARCH_MISMATCH;
    const bool valid = problem_.voxels <= problem_.max_voxels && problem_.max_voxels <= problem_.points;
    return valid || reads_nothing() ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM;
  }

  // A value that is no reduction.
  Fault apply_own_fault() override {
    reduce_type_ = static_cast<mluOpReduceMode_t>(3);
    return Fault::kHarmful;
  }
  void undo_own_fault() override {
    constexpr mluOpReduceMode_t kTypes[] = {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX};
    reduce_type_ = kTypes[static_cast<int>(problem_.reduction)];
  }

  // The first rows are the expected ones, the others unchanged.
  template <class T>
  static void check_rows(const Tensor& tensor, const std::vector<T>& expected, const char* message) {
    const T* const values = tensor.data<T>();
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool both_nan = values[i] != values[i] && expected[i] != expected[i];
      check(both_nan || std::memcmp(&values[i], &expected[i], sizeof(T)) == 0, message);
    }
    constexpr uint32_t kUnwritten = 0xA5A5A5A5;
    for (size_t i = expected.size(); i < tensor.count(); ++i) {
      check(std::memcmp(&values[i], &kUnwritten, sizeof(T)) == 0, message);
    }
  }

  void check_result() override {
    const auto expected = reference::dynamic_point_to_voxel_forward(
        problem_.reduction, problem_.points, problem_.channels, feats_.data<float>(), problem_.coors.data());
    check(*voxel_num_.data<int32_t>() == expected.voxel_num, "voxel_num is wrong");
    check_rows(voxel_feats_, expected.voxel_feats, "voxel_feats is wrong");
    check_rows(voxel_coors_, expected.voxel_coors, "voxel_coors is wrong");
    check_rows(map_, expected.point2voxel_map, "point2voxel_map is wrong");
    check_rows(counts_, expected.voxel_points_count, "voxel_points_count is wrong");
  }

  Problem problem_;
  mluOpReduceMode_t reduce_type_ = MLUOP_REDUCE_DMAX;
  Tensor &feats_, &coors_, &voxel_feats_, &voxel_coors_, &map_, &counts_, &voxel_num_;
};

}  // namespace

void fuzz_one(Decoder& decoder) { Fuzzer(decoder).run(); }

}  // namespace mluop::fuzz

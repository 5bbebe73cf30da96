// Fuzzer of mluOpGetIndicePairs, its workspace query and the sparse convolution descriptor.
#include "reference/get_indice_pairs.h"

#include <algorithm>
#include <utility>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Problem = reference::IndicePairsProblem;
using Site = Problem::Site;

constexpr auto kInt = MLUOP_DTYPE_INT32;
constexpr int64_t kMaxOffsets = 4096;  // so that an execution is fast

// The number of cells of a space, at most `limit`.
int64_t cells_of(int64_t batch_size, const Problem::Extent& space, int64_t limit) {
  int64_t cells = std::min(batch_size, limit);
  for (const int64_t extent : space) cells = cells > limit / extent ? limit : cells * extent;
  return cells;
}

struct Convolution {
  // dimNb = 4: the depth is that of one cell.
  bool two_dimensions;
  Problem problem;

  int64_t columns() const { return two_dimensions ? 3 : 4; }
  // Sets a descriptor to a problem of the same dimensions.
  mluOpStatus_t set(mluOpSparseConvolutionDescriptor_t desc, const Problem& p) const {
    const size_t skip = two_dimensions ? 1 : 0;
    return mluOpSetSparseConvolutionDescriptor(desc, two_dimensions ? 4 : 5, p.batch_size, p.pad.data() + skip,
                                               p.stride.data() + skip, p.dilation.data() + skip,
                                               p.input_space.data() + skip, p.kernel.data() + skip,
                                               p.output_space.data() + skip, p.sub_m ? 1 : 0, 0, 0);
  }
};

// Small spaces, whose cells are direct, and spaces of any size.
void decode_axis(Decoder& decoder, Problem& p, size_t axis) {
  const auto number = [&](int64_t low, int64_t high) { return static_cast<int32_t>(decoder.number(low, high)); };
  const auto mostly_small = [&](int64_t low, int64_t high) {
    return decoder.one_in(8) ? number(low, INT32_MAX) : number(low, high);
  };
  p.input_space[axis] = decoder.one_in(4) ? number(1, INT32_MAX) : number(1, 70);
  p.kernel[axis] = decoder.one_in(16) ? number(1, 80) : number(1, 3);
  p.pad[axis] = mostly_small(0, 3);
  if (p.sub_m) {
    p.output_space[axis] = p.input_space[axis];
    return;
  }
  (decoder.flag() ? p.stride : p.dilation)[axis] = mostly_small(1, 4);
  const int64_t span =
      int64_t{p.input_space[axis]} + 2 * int64_t{p.pad[axis]} - int64_t{p.dilation[axis]} * (p.kernel[axis] - 1);
  const int64_t usual = (std::max<int64_t>(span, 1) - 1) / p.stride[axis] + 1;
  p.output_space[axis] =
      decoder.one_in(4) ? mostly_small(1, 70) : static_cast<int32_t>(std::min<int64_t>(usual, INT32_MAX));
}

Convolution decode_convolution(Decoder& decoder) {
  Convolution convolution{
      decoder.one_in(4),
      {.batch_size = 1, .input_space = {1, 1, 1}, .output_space = {1, 1, 1}, .kernel = {1, 1, 1}, .sites = {}}};
  Problem& p = convolution.problem;
  p.sub_m = decoder.flag();
  p.batch_size = static_cast<int32_t>(decoder.one_in(8) ? decoder.number(1, INT32_MAX) : decoder.number(1, 3));
  for (size_t axis = convolution.two_dimensions ? 1 : 0; axis < 3; ++axis) decode_axis(decoder, p, axis);
  int64_t depth = p.kernel[0], height = p.kernel[1], width = p.kernel[2];
  // One call in 32 has several chunks, of 2048 sites.
  const bool chunks = decoder.one_in(32);
  int64_t sites = chunks ? decoder.number(2050, 2700) : decoder.number(0, 300);
  if (chunks) limit_product({&depth, &height, &width}, 3);
  limit_product({&depth, &height, &width}, kMaxOffsets);
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&depth, &height, &width, &sites}, chunks ? 1 << 13 : max_count);
  p.kernel = {static_cast<int32_t>(depth), static_cast<int32_t>(height), static_cast<int32_t>(width)};
  p.sites.resize(static_cast<size_t>(sites));
  return convolution;
}

class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpGetIndicePairs", {MLUOP_STATUS_ARCH_MISMATCH}),
        convolution_(decode_convolution(bytes)),
        expected_(decode_sites(bytes)),
        capacity_(decode_capacity(bytes)),
        indices_(input({.dtype = kInt, .dims = {site_count(), convolution_.columns()}, .any_layout = true})),
        pairs_(output({.dtype = kInt, .dims = {offsets(), 2, site_count()}, .any_layout = true})),
        // Another capacity is a fault of this class.
        out_(output(
            {.dtype = kInt, .dims = {capacity_, convolution_.columns()}, .any_layout = true, .free_dims = 1})),
        num_(output({.dtype = kInt, .dims = {offsets()}, .any_layout = true})),
        small_out_desc_(kInt, {1, convolution_.columns()}) {
    int32_t* to = indices_.data<int32_t>();
    for (const Site& site : problem().sites) to = append(to, site);
    undo_own_fault();
  }

 private:
  Problem& problem() { return convolution_.problem; }
  const Problem& problem() const { return convolution_.problem; }
  int64_t site_count() const { return static_cast<int64_t>(problem().sites.size()); }
  int64_t offsets() const { return problem().offset_count(); }
  int64_t outputs() const { return static_cast<int64_t>(expected_.outputs.size()); }

  // Writes a row of indices. Returns its end.
  int32_t* append(int32_t* row, const Site& site) const {
    *row++ = site[0];
    return std::copy(site.begin() + (convolution_.two_dimensions ? 2 : 1), site.end(), row);
  }

  // Sites in a part of the space, so that a large space has neighbours, and the result of the valid call.
  reference::IndicePairsResult decode_sites(Decoder& bytes) {
    Values values(bytes, false);
    const int64_t part = bytes.number(1, 20);
    const bool at_end = bytes.flag(), sorted = bytes.flag();
    for (Site& site : problem().sites) {
      for (size_t i = 0; i < site.size(); ++i) {
        const int64_t extent = i == 0 ? problem().batch_size : problem().input_space[i - 1];
        const int64_t coordinate = values.below(std::min(extent, part));
        site[i] = static_cast<int32_t>(at_end ? extent - 1 - coordinate : coordinate);
      }
    }
    if (sorted) std::sort(problem().sites.begin(), problem().sites.end());
    return fits() ? reference::get_indice_pairs(problem()) : reference::IndicePairsResult();
  }

  int64_t decode_capacity(Decoder& bytes) const {
    const int64_t least = problem().sub_m ? site_count() : outputs();
    return least + bytes.number(0, 3);
  }

  // Whether the numbers of cells are within the limit of the operator.
  bool fits() const {
    constexpr int64_t kMaxCells = int64_t{1} << 62;
    return cells_of(problem().batch_size, problem().output_space, kMaxCells + 1) <= kMaxCells;
  }

  mluOpTensorDescriptor_t out_desc() const { return has_small_out_ ? small_out_desc_ : out_.desc(); }
  // With one row of out_indices, the rest of its buffer is not an argument: a workspace there is valid and
  // changes.
  void* workspace_apart() const {
    const std::byte* out = out_.buffer().data();
    const bool in_out = out <= workspace() && workspace() < out + out_.buffer().byte_count();
    return has_small_out_ && in_out ? nullptr : workspace();
  }
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    const mluOpStatus_t status = mluOpGetIndicePairs(
        handle, sparse_conv_desc_, indices_.desc(), indices_.pointer(), workspace_apart(), workspace_size(),
        pairs_.desc(), pairs_.pointer(), out_desc(), out_.pointer(), num_.desc(), num_.pointer());
    if (status == MLUOP_STATUS_SUCCESS) check_num_act_out();
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetIndicePairsWorkspaceSize(handle, sparse_conv_desc_, indices_.desc(), pairs_.desc(), out_desc(),
                                            num_.desc(), bytes);
  }
  mluOpStatus_t status_of_valid_call() const override {
    if (settings().is_200_series()) return MLUOP_STATUS_ARCH_MISMATCH;
    return fits() ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_NOT_SUPPORTED;
  }

  Fault apply_own_fault() override {
    switch (decoder().number(0, 5)) {
      case 0: sparse_conv_desc_ = nullptr; return Fault::kHarmful;
      case 1: sparse_conv_desc_ = unset_desc_; return Fault::kHarmful;
      case 2: has_small_out_ = outputs() > 1; return has_small_out_ ? Fault::kHarmful : Fault::kNone;
      case 3: return refuse_convolution();
      case 4: return change_convolution();
      default: return apply_bad_coordinate();
    }
  }
  void undo_own_fault() override {
    check_success(convolution_.set(valid_desc_, problem()), "mluOpSetSparseConvolutionDescriptor");
    sparse_conv_desc_ = valid_desc_;
    has_small_out_ = false;
    if (bad_coordinate_ != nullptr) *std::exchange(bad_coordinate_, nullptr) = original_;
  }

  // A member of the convolution, of an axis that the descriptor reads.
  int32_t& decode_member(Problem& changed) {
    Problem::Extent* const extents[] = {&changed.pad,          &changed.stride, &changed.dilation,
                                        &changed.output_space, &changed.kernel, &changed.input_space};
    return (*decoder().pick(extents))[convolution_.two_dimensions ? 1 + decoder().index(2) : decoder().index(3)];
  }

  // The descriptor refuses an invalid convolution and keeps the present one.
  Fault refuse_convolution() {
    Problem changed = problem();
    decode_member(changed) = -static_cast<int32_t>(decoder().number(1, INT32_MAX));
    check(convolution_.set(valid_desc_, changed) == MLUOP_STATUS_BAD_PARAM, "an invalid convolution is set");
    return Fault::kHarmless;
  }

  // A convolution that the operator refuses: of a strided and dilated axis, or of more offsets than indice_pairs.
  Fault change_convolution() {
    Problem changed = problem();
    const size_t axis = 1 + decoder().index(2);
    if (decoder().flag()) {
      changed.stride[axis] = changed.dilation[axis] = static_cast<int32_t>(decoder().number(2, INT32_MAX));
    } else {
      changed.kernel[axis] = static_cast<int32_t>(decoder().number(kMaxOffsets + 1, INT32_MAX));
    }
    check_success(convolution_.set(valid_desc_, changed), "mluOpSetSparseConvolutionDescriptor");
    return Fault::kHarmful;
  }

  Fault apply_bad_coordinate() {
    if (site_count() == 0 || !fits()) return Fault::kNone;
    const auto any = static_cast<int32_t>(decoder().flag() ? decoder().any_number() : decoder().number(-1, 80));
    const size_t at = decoder().index(indices_.count()), columns = static_cast<size_t>(convolution_.columns());
    const size_t column = at % columns;
    const int32_t extent = column == 0 ? problem().batch_size : problem().input_space[3 - columns + column];
    if (0 <= any && any < extent) return Fault::kNone;
    bad_coordinate_ = indices_.data<int32_t>() + at;
    original_ = std::exchange(*bad_coordinate_, any);
    return Fault::kHarmful;
  }

  void check_result() override {
    const auto equals = [](const Tensor& tensor, const std::vector<int32_t>& expected) {
      return std::equal(expected.begin(), expected.end(), tensor.data<int32_t>());
    };
    check(equals(pairs_, expected_.indice_pairs), "indice_pairs is wrong");
    check(equals(num_, expected_.indice_num), "indice_num is wrong");
    constexpr auto kUnwritten = static_cast<int32_t>(0xA5A5A5A5);
    std::vector<int32_t> out(out_.count(), kUnwritten);
    int32_t* row = out.data();
    for (const Site& site : expected_.outputs) row = append(row, site);
    check(equals(out_, out), "out_indices is wrong");
  }

  void check_num_act_out() const {
    int num_act_out = -1;
    check_success(mluOpGetSparseConvolutionNumActOut(valid_desc_, &num_act_out),
                  "mluOpGetSparseConvolutionNumActOut");
    check(num_act_out == outputs(), "the number of output sites is wrong");
  }

  Convolution convolution_;
  reference::IndicePairsResult expected_;
  int64_t capacity_;
  Tensor &indices_, &pairs_, &out_, &num_;
  test::Descriptor small_out_desc_;
  test::SparseConvolutionDescriptor valid_desc_, unset_desc_;
  mluOpSparseConvolutionDescriptor_t sparse_conv_desc_ = valid_desc_;
  bool has_small_out_ = false;
  int32_t* bad_coordinate_ = nullptr;
  int32_t original_ = 0;
};

}  // namespace

void fuzz_one(Decoder& decoder) { Fuzzer(decoder).run(); }

}  // namespace mluop::fuzz

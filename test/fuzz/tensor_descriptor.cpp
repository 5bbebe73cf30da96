// Fuzzer of the functions of tensor descriptors: a sequence of calls, compared with a model.
#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>

#include "fuzz/check.h"
#include "fuzz/descriptor_model.h"
#include "fuzz/fuzzer.h"
#include "fuzz/handle_fuzzer.h"

namespace mluop::fuzz {
namespace {

constexpr auto kSuccess = MLUOP_STATUS_SUCCESS;
constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// Exactly `values` on the heap, as Int.
template <class Int>
std::unique_ptr<Int[]> array_of(const std::vector<int64_t>& values) {
  auto array = std::make_unique<Int[]>(values.size());
  std::transform(values.begin(), values.end(), array.get(), [](int64_t value) { return static_cast<Int>(value); });
  return array;
}

class Descriptor {
 public:
  Descriptor() { check_success(mluOpCreateTensorDescriptor(&desc_), "mluOpCreateTensorDescriptor"); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { check_success(mluOpDestroyTensorDescriptor(desc_), "mluOpDestroyTensorDescriptor"); }

  void call(Decoder& decoder) {
    switch (decoder.number(0, 9)) {
      case 0: reset(); break;
      case 1: set<int>(decoder); break;
      case 2:
      case 3: set<int64_t>(decoder); break;
      case 4: set_dims<int>(decoder); break;
      case 5: set_dims<int64_t>(decoder); break;
      case 6: get<int>(decoder); break;
      case 7: get<int64_t>(decoder); break;
      case 8: check(mluOpGetTensorElementNum(desc_) == model_.element_count(), "wrong number of elements"); break;
      default: call_without_descriptor(decoder);
    }
    check_unchanged();
  }

 private:
  void reset() {
    check_success(mluOpResetTensorDescriptor(desc_), "mluOpResetTensorDescriptor");
    model_ = {};
  }

  // Numbers for an array of dimensions or strides of `count`; small ones unless decoded otherwise.
  template <class Int>
  static std::vector<int64_t> decode_numbers(Decoder& decoder, int count) {
    std::vector<int64_t> numbers(static_cast<size_t>(std::clamp(count, 0, MLUOP_DIM_MAX)));
    for (int64_t& number : numbers) {
      const int64_t magnitude = decoder.number(0, 63);
      number = magnitude < 16 ? magnitude - (magnitude == 15 ? 16 : 0)
                              : static_cast<int64_t>((uint64_t{1} << magnitude) - (magnitude % 3 == 0 ? 1 : 0));
      if (std::is_same_v<Int, int>) number = static_cast<int>(number);
    }
    return numbers;
  }

  static bool has_negative(const std::vector<int64_t>& numbers) {
    return std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number < 0; });
  }
  static int decode_dim_count(Decoder& decoder) {
    return static_cast<int>(decoder.one_in(16) ? decoder.any_number() : decoder.number(0, MLUOP_DIM_MAX + 1));
  }

  // mluOpSetTensorDescriptor, with and without strides.
  template <class Int>
  void set(Decoder& decoder) {
    const int layout = static_cast<int>(decoder.number(-1, 16)), dtype = static_cast<int>(decoder.number(-1, 32));
    const int count = decode_dim_count(decoder);
    const bool with_strides = decoder.flag();
    const auto dims = decode_numbers<Int>(decoder, count);
    const auto strides = with_strides ? decode_numbers<Int>(decoder, count) : std::vector<int64_t>();
    const bool null_dims = decoder.one_in(16), null_strides = decoder.one_in(16), null_desc = decoder.one_in(32);

    DescriptorModel changed{layout, dtype, dims, strides};
    const bool has_format = 0 <= layout && layout <= MLUOP_LAYOUT_NCL && element_bytes(dtype) > 0;
    const bool has_arrays = !null_dims && !(with_strides && null_strides) && !null_desc;
    const bool valid = has_format && has_arrays && is_valid(changed, count);
    const auto desc = null_desc ? nullptr : desc_;
    const auto dim_array = array_of<Int>(dims);
    const auto stride_array = array_of<Int>(strides);
    const Int* given_dims = null_dims ? nullptr : dim_array.get();
    const Int* given_strides = null_strides ? nullptr : stride_array.get();
    const auto status =
        call_setter(desc, static_cast<mluOpTensorLayout_t>(layout), static_cast<mluOpDataType_t>(dtype), count,
                    given_dims, given_strides, with_strides);
    check(status == (valid ? kSuccess : kBadParam), "setting a descriptor returns ", mluOpGetErrorString(status));
    if (!valid) return;
    if (!with_strides) changed.set_contiguous();
    model_ = changed;
  }

  static mluOpStatus_t call_setter(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                   int count, const int* dims, const int* strides, bool with_strides) {
    return with_strides ? mluOpSetTensorDescriptorEx(desc, layout, dtype, count, dims, strides)
                        : mluOpSetTensorDescriptor(desc, layout, dtype, count, dims);
  }
  static mluOpStatus_t call_setter(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                   int count, const int64_t* dims, const int64_t* strides, bool with_strides) {
    return with_strides ? mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, count, dims, strides)
                        : mluOpSetTensorDescriptor_v2(desc, layout, dtype, count, dims);
  }

  static bool is_valid(const DescriptorModel& model, int count) {
    return 1 <= count && count <= MLUOP_DIM_MAX && !has_negative(model.dims) && !has_negative(model.strides) &&
           model.fits();
  }

  template <class Int>
  void set_dims(Decoder& decoder) {
    const int count = decode_dim_count(decoder);
    DescriptorModel changed = model_;
    changed.dims = decode_numbers<Int>(decoder, count);
    changed.strides.clear();
    const bool null_dims = decoder.one_in(16), null_desc = decoder.one_in(32);
    const bool valid = !null_dims && !null_desc && is_valid(changed, count);
    const auto array = array_of<Int>(changed.dims);
    const auto desc = null_desc ? nullptr : desc_;
    const Int* given = null_dims ? nullptr : array.get();
    mluOpStatus_t status{};
    if constexpr (std::is_same_v<Int, int>) {
      status = mluOpSetTensorDescriptorDim(desc, count, given);
    } else {
      status = mluOpSetTensorDescriptorDim_v2(desc, count, given);
    }
    check(status == (valid ? kSuccess : kBadParam), "setting dimensions returns ", mluOpGetErrorString(status));
    if (!valid) return;
    changed.set_contiguous();
    model_ = changed;
  }

  // mluOpGetTensorDescriptor or, with strides, mluOpGetTensorDescriptorEx. Null outputs are skipped.
  template <class Int>
  void get(Decoder& decoder) const {
    const bool with_strides = decoder.flag();
    const bool null_dims = decoder.flag(), null_strides = decoder.flag(), null_scalars = decoder.flag();
    const bool null_desc = decoder.one_in(16);
    constexpr Int kUnwritten = -7;
    const size_t count = model_.dims.size();
    const auto dims = array_of<Int>(std::vector<int64_t>(count, kUnwritten));
    const auto strides = array_of<Int>(std::vector<int64_t>(count, kUnwritten));
    mluOpTensorLayout_t layout = MLUOP_LAYOUT_TNC;
    mluOpDataType_t dtype = MLUOP_DTYPE_BOOL;
    int dim_count = kUnwritten;
    const auto status =
        call_getter(null_desc ? nullptr : desc_, null_scalars ? nullptr : &layout, null_scalars ? nullptr : &dtype,
                    null_scalars ? nullptr : &dim_count, null_dims ? nullptr : dims.get(),
                    null_strides ? nullptr : strides.get(), with_strides);
    const bool overflows = std::is_same_v<Int, int> &&
                           ((!null_dims && DescriptorModel::exceeds_int(model_.dims)) ||
                            (with_strides && !null_strides && DescriptorModel::exceeds_int(model_.strides)));
    const auto expected = null_desc ? kBadParam : overflows ? MLUOP_STATUS_NUMERICAL_OVERFLOW : kSuccess;
    check(status == expected, "reading a descriptor returns ", mluOpGetErrorString(status));
    const bool success = expected == kSuccess;
    check(layout == (success && !null_scalars ? model_.layout : MLUOP_LAYOUT_TNC), "wrong layout");
    check(dtype == (success && !null_scalars ? model_.dtype : MLUOP_DTYPE_BOOL), "wrong data type");
    check(dim_count == (success && !null_scalars ? static_cast<int>(count) : kUnwritten), "wrong dimNb");
    for (size_t i = 0; i < count; ++i) {
      check(dims[i] == (success && !null_dims ? model_.dims[i] : kUnwritten), "wrong dimension");
      check(strides[i] == (success && with_strides && !null_strides ? model_.strides[i] : kUnwritten),
            "wrong stride");
    }
  }

  static mluOpStatus_t call_getter(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t* layout,
                                   mluOpDataType_t* dtype, int* count, int* dims, int* strides,
                                   bool with_strides) {
    return with_strides ? mluOpGetTensorDescriptorEx(desc, layout, dtype, count, dims, strides)
                        : mluOpGetTensorDescriptor(desc, layout, dtype, count, dims);
  }
  static mluOpStatus_t call_getter(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t* layout,
                                   mluOpDataType_t* dtype, int* count, int64_t* dims, int64_t* strides,
                                   bool with_strides) {
    return with_strides ? mluOpGetTensorDescriptorEx_v2(desc, layout, dtype, count, dims, strides)
                        : mluOpGetTensorDescriptor_v2(desc, layout, dtype, count, dims);
  }

  static void call_without_descriptor(Decoder& decoder) {
    const int dtype = static_cast<int>(decoder.number(-1, 32));
    size_t bytes = 99;
    const auto status = mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(dtype), &bytes);
    const auto expected = static_cast<size_t>(element_bytes(dtype));
    check(status == (expected > 0 ? kSuccess : kBadParam), "mluOpGetSizeOfDataType returns another status");
    check(bytes == (expected > 0 ? expected : 99), "wrong size of an element");
    check(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr) == kBadParam, "null is accepted");
    check(mluOpCreateTensorDescriptor(nullptr) == kBadParam, "null is accepted");
    check(mluOpDestroyTensorDescriptor(nullptr) == kBadParam, "null is accepted");
    check(mluOpResetTensorDescriptor(nullptr) == kBadParam, "null is accepted");
    check(mluOpGetTensorElementNum(nullptr) == 0, "null has elements");
    check(mluOpGetErrorString(static_cast<mluOpStatus_t>(decoder.number(-1, 16))) != nullptr, "no text");
  }

  // Every call leaves what the model holds.
  void check_unchanged() const {
    mluOpTensorLayout_t layout{};
    mluOpDataType_t dtype{};
    int count = 0;
    std::array<int64_t, MLUOP_DIM_MAX> dims{}, strides{};
    check_success(mluOpGetTensorDescriptorEx_v2(desc_, &layout, &dtype, &count, dims.data(), strides.data()),
                  "mluOpGetTensorDescriptorEx_v2");
    check(layout == model_.layout && dtype == model_.dtype && count == static_cast<int>(model_.dims.size()) &&
              std::equal(model_.dims.begin(), model_.dims.end(), dims.begin()) &&
              std::equal(model_.strides.begin(), model_.strides.end(), strides.begin()),
          "the descriptor differs from the model");
  }

  mluOpTensorDescriptor_t desc_ = nullptr;
  DescriptorModel model_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  if (decoder.one_in(4)) return fuzz_handle(decoder);
  Descriptor descriptors[2];
  do descriptors[decoder.index(2)].call(decoder);
  while (!decoder.used_up());
}

}  // namespace mluop::fuzz

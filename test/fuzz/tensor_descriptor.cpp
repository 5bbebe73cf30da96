// Fuzzer of the setters of tensor descriptors that take int64_t or no dimensions, a sequence of calls compared
// with a model, and of the environment that handles read.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/fuzzer.h"
#include "support/api.h"

namespace mluop::fuzz {
namespace {

constexpr auto kSuccess = MLUOP_STATUS_SUCCESS;
constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

using Numbers = std::vector<int64_t>;

// Bytes of an element; 0 for MLUOP_DTYPE_INVALID and for numbers that name no data type.
int64_t element_bytes(int dtype) {
  constexpr int64_t kBytes[] = {0, 2, 4, 1, 2, 4, 4, 1, 1, 8, 0, 4, 8, 2, 8, 4, 8, 2};
  return 0 <= dtype && dtype < static_cast<int>(std::size(kBytes)) ? kBytes[dtype] : 0;
}

bool has_negative(const Numbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number < 0; });
}

// A model of a tensor descriptor by its documentation: the values that the functions of the API must store and
// return.
struct Model {
  // The product of the dimensions, each at least `least`; -1 if it exceeds int64_t.
  int64_t product(int64_t least) const {
    int64_t result = 1;
    bool overflows = false;
    for (const int64_t dim : dims) {
      overflows = __builtin_mul_overflow(result, std::max(dim, least), &result) || overflows;
    }
    return overflows ? -1 : result;
  }

  uint64_t element_count() const { return dims.empty() ? (is_scalar ? 1 : 0) : static_cast<uint64_t>(product(0)); }
  bool has_format() const { return 0 <= layout && layout <= MLUOP_LAYOUT_NCL && element_bytes(dtype) > 0; }
  bool has_shape(int count) const {
    return (pointer_mode == MLUOP_POINTER_MODE_HOST ? 0 : 1) <= count && count <= MLUOP_DIM_MAX &&
           !has_negative(dims) && !has_negative(strides) && fits();
  }

  // Whether sizes in bytes fit int64_t: of the elements, and of the span of the strides.
  bool fits() const {
    const int64_t bytes = std::max<int64_t>(element_bytes(dtype), 1);
    int64_t unused = 0;
    if (product(1) < 0 || __builtin_mul_overflow(product(1), bytes, &unused)) return false;
    __int128 span = 1;
    for (size_t i = 0; i < strides.size(); ++i) {
      span += static_cast<__int128>(std::max<int64_t>(dims[i] - 1, 0)) * strides[i];
    }
    return span * bytes <= INT64_MAX;
  }

  void set_contiguous() {
    strides.assign(dims.size(), 1);
    for (size_t i = strides.size(); i > 1; --i)
      strides[i - 2] = strides[i - 1] * std::max<int64_t>(dims[i - 1], 1);
  }

  int layout = MLUOP_LAYOUT_ARRAY;
  int dtype = MLUOP_DTYPE_INVALID;
  Numbers dims, strides;
  bool is_scalar = false;
  int onchip_dtype = MLUOP_DTYPE_INVALID, pointer_mode = MLUOP_POINTER_MODE_DEVICE;
  int position = 0, offset = 0;
  float scale = 1;
};

// Values of dimensions or strides, `count` in all; small values unless decoded otherwise.
Numbers decode_numbers(Decoder& decoder, int count) {
  Numbers numbers(static_cast<size_t>(std::clamp(count, 0, MLUOP_DIM_MAX)));
  for (int64_t& number : numbers) {
    const int64_t magnitude = decoder.number(0, 63);
    number = magnitude < 16 ? magnitude - (magnitude == 15 ? 16 : 0)
                            : static_cast<int64_t>((uint64_t{1} << magnitude) - (magnitude % 3 == 0 ? 1 : 0));
  }
  return numbers;
}

class DescriptorFuzzer {
 public:
  void call(Decoder& decoder) {
    const int64_t setter = decoder.number(0, 6);
    if (setter == 0) {
      check_success(mluOpResetTensorDescriptor(desc_), "mluOpResetTensorDescriptor");
      model_ = {};
    } else if (setter == 5) {
      set_modes(decoder);
    } else if (setter == 6) {
      set_factors(decoder);
    } else {
      set(decoder, setter == 1);
    }
    check_unchanged();
    check(mluOpGetTensorElementNum(desc_) == model_.element_count(), "wrong number of elements");
  }

 private:
  void set_modes(Decoder& decoder) {
    const auto mode = static_cast<int>(decoder.number(-1, 3)), onchip = static_cast<int>(decoder.number(-1, 32));
    const bool has_mode = mode == MLUOP_POINTER_MODE_HOST || mode == MLUOP_POINTER_MODE_DEVICE;
    check(mluOpSetTensorDescriptorPointerMode(desc_, static_cast<mluOpPointerMode_t>(mode)) ==
              (has_mode ? kSuccess : kBadParam),
          "wrong status of a pointer mode");
    if (has_mode) model_.pointer_mode = mode;
    const bool has_onchip = onchip == MLUOP_DTYPE_INVALID || element_bytes(onchip) > 0;
    check(mluOpSetTensorDescriptorOnchipDataType(desc_, static_cast<mluOpDataType_t>(onchip)) ==
              (has_onchip ? kSuccess : kBadParam),
          "wrong status of an on-chip data type");
    if (has_onchip) model_.onchip_dtype = onchip;
  }

  void set_factors(Decoder& decoder) {
    const int64_t count = decoder.number(1, 3);
    model_.position = static_cast<int>(decoder.any_number());
    if (count > 1) model_.scale = static_cast<float>(decoder.any_number());
    if (count > 2) model_.offset = static_cast<int>(decoder.any_number());
    check_success(count == 1   ? mluOpSetTensorDescriptorPosition(desc_, model_.position)
                  : count == 2 ? mluOpSetTensorDescriptorPositionAndScale(desc_, model_.position, model_.scale)
                               : mluOpSetTensorDescriptorPositionScaleAndOffset(desc_, model_.position,
                                                                                model_.scale, model_.offset),
                  "mluOpSetTensorDescriptorPosition...");
  }

  // Sets the dimensions alone, or all values with or without strides.
  void set(Decoder& decoder, bool dims_alone) {
    Model changed = model_;
    if (!dims_alone) {
      changed.layout = static_cast<int>(decoder.number(-1, 16));
      changed.dtype = static_cast<int>(decoder.number(-1, 32));
    }
    const auto count =
        static_cast<int>(decoder.one_in(16) ? decoder.any_number() : decoder.number(0, MLUOP_DIM_MAX + 1));
    const bool with_strides = !dims_alone && decoder.flag();
    changed.dims = decode_numbers(decoder, count);
    changed.strides = with_strides ? decode_numbers(decoder, count) : Numbers();
    const bool null_dims = decoder.one_in(16), null_strides = !dims_alone && decoder.one_in(16),
               null_desc = decoder.one_in(32);

    const auto desc = null_desc ? nullptr : mluOpTensorDescriptor_t{desc_};
    const auto layout = static_cast<mluOpTensorLayout_t>(changed.layout);
    const auto dtype = static_cast<mluOpDataType_t>(changed.dtype);
    const int64_t* dims = null_dims ? nullptr : changed.dims.data();
    const int64_t* strides = null_strides ? nullptr : changed.strides.data();
    const mluOpStatus_t status = dims_alone ? mluOpSetTensorDescriptorDim_v2(desc, count, dims)
                                 : with_strides
                                     ? mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, count, dims, strides)
                                     : mluOpSetTensorDescriptor_v2(desc, layout, dtype, count, dims);
    const bool has_pointers = !null_desc && (count == 0 || (!null_dims && !(with_strides && null_strides)));
    const bool valid = has_pointers && (dims_alone || changed.has_format()) && changed.has_shape(count);
    check(status == (valid ? kSuccess : kBadParam), "setting a descriptor returns ", mluOpGetErrorString(status));
    if (!valid) return;
    if (!with_strides) changed.set_contiguous();
    changed.is_scalar = count == 0;
    model_ = changed;
  }

  // Every call leaves the descriptor equal to the model.
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
    mluOpDataType_t onchip_dtype{};
    mluOpPointerMode_t pointer_mode{};
    int position = 0, offset = 0;
    float scale = 0;
    check_success(mluOpGetTensorDescriptorOnchipDataType(desc_, &onchip_dtype), "the on-chip data type");
    check_success(mluOpGetTensorDescriptorPointerMode(desc_, &pointer_mode), "the pointer mode");
    check_success(mluOpGetTensorDescriptorPositionScaleAndOffset(desc_, &position, &scale, &offset),
                  "the factors");
    check(onchip_dtype == model_.onchip_dtype && pointer_mode == model_.pointer_mode &&
              position == model_.position && scale == model_.scale && offset == model_.offset,
          "a field of the descriptor differs from the model");
  }

  const test::Descriptor desc_;
  Model model_;
};

// Sets a variable to any text: creating a handle succeeds, or the error names the variable. ApiEnvironment tests
// which texts are valid.
void fuzz_environment(Decoder& decoder) {
  constexpr const char* kNames[] = {"MLUOP_OMP_DEVICE", "MLUOP_OMP_NRAM_KB", "MLUOP_OMP_MAX_THREADS",
                                    "MLUOP_OMP_ALGORITHM", "MLUOP_GEN_CASE_OP_NAME"};
  constexpr const char* kTexts[] = {"",       "1",      "1048577",     "18446744073709551617",
                                    "mlu370", "native", "-ball_query;"};
  const std::string name = decoder.pick(kNames);
  std::string text = decoder.pick(kTexts);
  while (!decoder.used_up()) text += static_cast<char>(decoder.number(1, 127));
  setenv(name.c_str(), text.c_str(), 1);
  mluOpHandle_t handle = nullptr;
  if (mluOpCreate(&handle) == kSuccess) {
    check_success(mluOpUpdateContextInformation(handle), "mluOpUpdateContextInformation");
    check_success(mluOpDestroy(handle), "mluOpDestroy");
  } else {
    check(std::string(mluOpOmpGetLastError())
              .starts_with("[mluOpCreate] " + name + " is \"" + text + "\", expected "),
          "no error of the variable");
    check(handle == nullptr, "a failing mluOpCreate writes its output");
  }
  unsetenv(name.c_str());
}

}  // namespace

void fuzz_one(Decoder& decoder) {
  if (decoder.one_in(4)) return fuzz_environment(decoder);
  DescriptorFuzzer descriptors[2];
  do descriptors[decoder.index(2)].call(decoder);
  while (!decoder.used_up());
}

}  // namespace mluop::fuzz

// Descriptors of tensors and of sparse convolutions: getters return what setters store, in int and in int64_t;
// each rule is checked. A setter that fails does not change the descriptor.
#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/tensor.h"
#include "support/api.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

constexpr auto kOk = MLUOP_STATUS_SUCCESS;

template <class Int>
struct DescriptorFunctions;

template <>
struct DescriptorFunctions<int> {
  static constexpr auto set = mluOpSetTensorDescriptor;
  static constexpr auto set_ex = mluOpSetTensorDescriptorEx;
  static constexpr auto set_dim = mluOpSetTensorDescriptorDim;
  static constexpr auto get = mluOpGetTensorDescriptor;
  static constexpr auto get_ex = mluOpGetTensorDescriptorEx;
  static constexpr const char* suffix = "";
};

template <>
struct DescriptorFunctions<int64_t> {
  static constexpr auto set = mluOpSetTensorDescriptor_v2;
  static constexpr auto set_ex = mluOpSetTensorDescriptorEx_v2;
  static constexpr auto set_dim = mluOpSetTensorDescriptorDim_v2;
  static constexpr auto get = mluOpGetTensorDescriptor_v2;
  static constexpr auto get_ex = mluOpGetTensorDescriptorEx_v2;
  static constexpr const char* suffix = "_v2";
};

// Suffixes of the names of typed tests: ApiTensorDescriptor/int.
struct DescriptorIntNames {
  template <class Int>
  static std::string GetName(int) {
    return sizeof(Int) == sizeof(int) ? "int" : "int64";
  }
};

bool same(mluOpTensorDescriptor_t a, const TensorDescriptor& b) {
  return std::tie(a->layout, a->dtype, a->dim_count, a->dims, a->strides) ==
         std::tie(b.layout, b.dtype, b.dim_count, b.dims, b.strides);
}

template <class Int>
class ApiTensorDescriptor : public ::testing::Test {
 protected:
  using Functions = DescriptorFunctions<Int>;
  using Ints = std::vector<Int>;

  // Reads all values in one call, then each value alone, and compares.
  void expect(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const Ints& dims, const Ints& strides) const {
    constexpr Functions f;
    for (const bool at_once : {true, false}) {
      Ints found_dims(dims.size(), -7), found_strides(strides.size(), -7);
      auto found_layout = layout == MLUOP_LAYOUT_NCL ? MLUOP_LAYOUT_NLC : MLUOP_LAYOUT_NCL;
      auto found_dtype = dtype == MLUOP_DTYPE_BFLOAT16 ? MLUOP_DTYPE_DOUBLE : MLUOP_DTYPE_BFLOAT16;
      int count = -7;
      if (at_once) {
        EXPECT_EQ(f.get_ex(desc, &found_layout, &found_dtype, &count, found_dims.data(), found_strides.data()),
                  kOk);
      } else {
        EXPECT_EQ(f.get(desc, &found_layout, nullptr, nullptr, nullptr), kOk);
        EXPECT_EQ(f.get(desc, nullptr, &found_dtype, nullptr, nullptr), kOk);
        EXPECT_EQ(f.get(desc, nullptr, nullptr, &count, nullptr), kOk);
        EXPECT_EQ(f.get(desc, nullptr, nullptr, nullptr, found_dims.data()), kOk);
        EXPECT_EQ(f.get_ex(desc, nullptr, nullptr, nullptr, nullptr, found_strides.data()), kOk);
      }
      EXPECT_EQ(found_layout, layout);
      EXPECT_EQ(found_dtype, dtype);
      EXPECT_EQ(count, static_cast<int>(dims.size()));
      EXPECT_EQ(found_dims, dims);
      EXPECT_EQ(found_strides, strides);
    }
  }

  void set(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const Ints& dims) const {
    ASSERT_EQ(Functions::set(desc, layout, dtype, static_cast<int>(dims.size()), dims.data()), kOk);
  }
  void set(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const Ints& dims, const Ints& strides) const {
    ASSERT_EQ(Functions::set_ex(desc, layout, dtype, static_cast<int>(dims.size()), dims.data(), strides.data()),
              kOk);
  }

  const Descriptor desc;
};
using DescriptorInts = ::testing::Types<int, int64_t>;
TYPED_TEST_SUITE(ApiTensorDescriptor, DescriptorInts, DescriptorIntNames);

// Each row replaces all values of the previous row.
TYPED_TEST(ApiTensorDescriptor, SetAndGet) {
  constexpr auto kMax = std::numeric_limits<TypeParam>::max();
  const struct {
    mluOpTensorLayout_t layout;
    mluOpDataType_t dtype;
    std::vector<TypeParam> dims, strides;
    uint64_t elements;
    bool is_given = false;  // the strides
  } kTable[] = {
      {MLUOP_LAYOUT_NDHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7, 9}, {945, 315, 63, 9, 1}, 1890},
      {MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, {4, 6}, {6, 1}, 24},
      {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {2, 1, 3, 2, 1, 2, 3, 2}, {72, 72, 24, 12, 12, 6, 2, 1}, 144},
      {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT8, {1, kMax}, {kMax, 1}, kMax},
      // For the strides of outer dimensions, a dimension of size 0 counts as 1.
      {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {4, 0, 3}, {3, 3, 1}, 0},
      {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {0}, {1}, 0},
      // Transposed, broadcast, with gaps.
      {MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, {2, 3}, {1, 2}, 6, true},
      {MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, {2, 3}, {0, 0}, 6, true},
      {MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, {2, 3}, {1000, 10}, 6, true},
      {MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, {2, 3}, {INT_MAX / 4, 1}, 6, true},
      // Strides of dimensions of size 0 or 1 do not affect the size in bytes.
      {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_DOUBLE, {1, 0, 1}, {kMax, kMax, kMax}, 0, true},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(&row - kTable);
    if (row.is_given) {
      this->set(row.layout, row.dtype, row.dims, row.strides);
    } else {
      this->set(row.layout, row.dtype, row.dims);
      const Descriptor fresh(row.dtype, {row.dims.begin(), row.dims.end()}, row.layout);
      EXPECT_TRUE(same(this->desc, *mluOpTensorDescriptor_t{fresh}));
    }
    this->expect(row.layout, row.dtype, row.dims, row.strides);
    EXPECT_EQ(mluOpGetTensorElementNum(this->desc), row.elements);
  }
}

TYPED_TEST(ApiTensorDescriptor, EveryLayoutAndDataTypeWithAnyShape) {
  for (int layout = MLUOP_LAYOUT_NCHW; layout <= MLUOP_LAYOUT_NCL; ++layout) {
    for (int dtype = MLUOP_DTYPE_HALF; dtype <= MLUOP_DTYPE_BFLOAT16; ++dtype) {
      if (dtype == 10) continue;  // the gap in the enumeration
      this->set(static_cast<mluOpTensorLayout_t>(layout), static_cast<mluOpDataType_t>(dtype), {6});
      this->expect(static_cast<mluOpTensorLayout_t>(layout), static_cast<mluOpDataType_t>(dtype), {6}, {1});
    }
  }
}

TYPED_TEST(ApiTensorDescriptor, SetDimKeepsLayoutAndType) {
  const TypeParam dims[] = {6, 5};
  ASSERT_EQ(TestFixture::Functions::set_dim(this->desc, 2, dims), kOk);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, {6, 5}, {5, 1});
  this->set(MLUOP_LAYOUT_NLC, MLUOP_DTYPE_UINT8, {2, 3, 4}, {100, 10, 2});
  ASSERT_EQ(TestFixture::Functions::set_dim(this->desc, 2, dims), kOk);
  this->expect(MLUOP_LAYOUT_NLC, MLUOP_DTYPE_UINT8, {6, 5}, {5, 1});
}

TYPED_TEST(ApiTensorDescriptor, IsEmptyAtFirstAndAfterReset) {
  for (int times = 0; times < 2; ++times) {
    this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, {}, {});
    EXPECT_EQ(mluOpGetTensorElementNum(this->desc), 0U);
    EXPECT_TRUE(same(this->desc, TensorDescriptor()));
    this->set(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7});
    ASSERT_EQ(mluOpResetTensorDescriptor(this->desc), kOk);
  }
}

// Valid arguments of a setter, for rows to change.
template <class Int>
struct SetterArguments {
  using Functions = DescriptorFunctions<Int>;
  mluOpStatus_t set() const { return Functions::set(desc, layout, dtype, count, dims_pointer); }
  mluOpStatus_t set_ex() const {
    return Functions::set_ex(desc, layout, dtype, count, dims_pointer, strides_pointer);
  }
  mluOpStatus_t set_dim() const { return Functions::set_dim(desc, count, dims_pointer); }

  template <class... Dims>
  void set_shape(Dims... wanted) {
    count = 0;
    ((dims[count++] = wanted), ...);
  }

  mluOpTensorDescriptor_t desc;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NC;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int count = 2;
  Int dims[MLUOP_DIM_MAX + 1] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  Int strides[MLUOP_DIM_MAX + 1] = {3, 1, 1, 1, 1, 1, 1, 1, 1};
  const Int* dims_pointer = dims;
  const Int* strides_pointer = strides;
};

TYPED_TEST(ApiTensorDescriptor, SetterErrors) {
  using Arguments = SetterArguments<TypeParam>;
  struct Row {
    std::function<void(Arguments&)> change;
    std::string message;
  };
  const std::string dim_count = ", expected 1 to 8", exceeds = " exceeds 2^63 - 1", size = "the size in bytes of ";
  const std::vector<Row> shapes = {
      {[](auto& a) { a.desc = nullptr; }, "desc is null"},
      {[](auto& a) { a.count = 0; }, "dimNb is 0" + dim_count},
      {[](auto& a) { a.count = 9; }, "dimNb is 9" + dim_count},
      {[](auto& a) { a.count = -1; }, "dimNb is -1" + dim_count},
      {[](auto& a) { a.count = INT_MIN; }, "dimNb is -2147483648" + dim_count},
      {[](auto& a) { a.dims_pointer = nullptr; }, "dimSize is null"},
      {[](auto& a) { a.dims[0] = -1; }, "dimSize[0] is -1, expected 0 or more"},
      {[](auto& a) { a.dims[1] = INT_MIN; }, "dimSize[1] is -2147483648, expected 0 or more"},
      {[](auto& a) { a.set_shape(1 << 30, 1 << 30, 2); }, size + "shape [1073741824, 1073741824, 2]" + exceeds},
      {[](auto& a) { a.set_shape(INT_MAX, INT_MAX, INT_MAX, 2); },
       size + "shape [2147483647, 2147483647, 2147483647, 2]" + exceeds},
      {[](auto& a) { a.set_shape(0, INT_MAX, INT_MAX, INT_MAX); },
       size + "shape [0, 2147483647, 2147483647, 2147483647]" + exceeds},
  };
  const std::string layouts = ", expected a value of mluOpTensorLayout_t";
  const std::string dtypes = ", expected a data type other than MLUOP_DTYPE_INVALID";
  const std::vector<Row> formats = {
      {[](auto& a) { a.layout = static_cast<mluOpTensorLayout_t>(11); }, "layout is 11" + layouts},
      {[](auto& a) { a.layout = static_cast<mluOpTensorLayout_t>(15); }, "layout is 15" + layouts},
      {[](auto& a) { a.dtype = MLUOP_DTYPE_INVALID; }, "dtype is 0" + dtypes},
      {[](auto& a) { a.dtype = static_cast<mluOpDataType_t>(10); }, "dtype is 10" + dtypes},
      {[](auto& a) { a.dtype = static_cast<mluOpDataType_t>(18); }, "dtype is 18" + dtypes},
  };
  const std::vector<Row> strides = {
      {[](auto& a) { a.strides_pointer = nullptr; }, "dimStride is null"},
      {[](auto& a) { a.strides[0] = -1; }, "dimStride[0] is -1, expected 0 or more"},
      {[](auto& a) { a.strides[1] = INT_MIN; }, "dimStride[1] is -2147483648, expected 0 or more"},
      {[](auto& a) {
         a.set_shape(INT_MAX);
         a.strides[0] = INT_MAX;
       },
       size + "shape [2147483647]" + exceeds},
  };
  const struct {
    const char* name;
    mluOpStatus_t (Arguments::*set)() const;
    std::vector<std::vector<Row>> rows;
  } kSetters[] = {
      {"mluOpSetTensorDescriptor", &Arguments::set, {shapes, formats}},
      {"mluOpSetTensorDescriptorEx", &Arguments::set_ex, {shapes, formats, strides}},
      {"mluOpSetTensorDescriptorDim", &Arguments::set_dim, {shapes}},
  };
  for (const auto& setter : kSetters) {
    const std::string function = std::string("[") + setter.name + TestFixture::Functions::suffix + "] ";
    EXPECT_EQ((Arguments{this->desc}.*setter.set)(), kOk);
    for (const auto& rows : setter.rows) {
      for (const Row& row : rows) {
        SCOPED_TRACE(function + row.message);
        const Descriptor changed(MLUOP_DTYPE_FLOAT, {5, 6, 7}, MLUOP_LAYOUT_NLC);
        const TensorDescriptor before = *mluOpTensorDescriptor_t{changed};
        Arguments arguments{changed};
        row.change(arguments);
        expect_failure([&] { return (arguments.*setter.set)(); }, MLUOP_STATUS_BAD_PARAM, function + row.message);
        EXPECT_TRUE(same(changed, before));
      }
    }
  }
}

TYPED_TEST(ApiTensorDescriptor, NullDescriptor) {
  const std::string suffix = std::string(TestFixture::Functions::suffix) + "] desc is null";
  const auto get = TestFixture::Functions::get;
  const auto get_ex = TestFixture::Functions::get_ex;
  expect_errors({
      {[get] { return get(nullptr, nullptr, nullptr, nullptr, nullptr); }, "[mluOpGetTensorDescriptor" + suffix},
      {[get_ex] { return get_ex(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); },
       "[mluOpGetTensorDescriptorEx" + suffix},
      {[] { return mluOpCreateTensorDescriptor(nullptr); }, "[mluOpCreateTensorDescriptor] desc is null"},
      {[] { return mluOpDestroyTensorDescriptor(nullptr); }, "[mluOpDestroyTensorDescriptor] desc is null"},
      {[] { return mluOpResetTensorDescriptor(nullptr); }, "[mluOpResetTensorDescriptor] desc is null"},
  });
  EXPECT_EQ(mluOpGetTensorElementNum(nullptr), 0U);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpGetTensorElementNum] desc is null");
}

// Sizes that exceed int: the largest whose number of bytes is valid, and larger ones.
TEST(ApiTensorDescriptorLarge, Bytes) {
  constexpr int64_t kHalf = int64_t{1} << 62;
  const struct {
    mluOpDataType_t dtype;
    std::vector<int64_t> dims, strides;
    const char* shape;  // in the message; "": the size is valid
  } kTable[] = {
      {MLUOP_DTYPE_HALF, {2, int64_t{1} << 40}, {int64_t{1} << 40, 1}, ""},
      {MLUOP_DTYPE_INT8, {INT64_MAX}, {1}, ""},
      {MLUOP_DTYPE_FLOAT, {INT64_MAX / 4}, {1}, ""},
      {MLUOP_DTYPE_INT8, {2, 2}, {INT64_MAX - 2, 1}, ""},
      {MLUOP_DTYPE_HALF, {kHalf}, {1}, "[4611686018427387904]"},
      // The extent of one dimension overflows, then the sum of both, then the element past the last.
      {MLUOP_DTYPE_INT8, {3, 2}, {kHalf, 1}, "[3, 2]"},
      {MLUOP_DTYPE_INT8, {2, 2}, {kHalf, kHalf}, "[2, 2]"},
      {MLUOP_DTYPE_INT8, {2, 2}, {INT64_MAX - 1, 1}, "[2, 2]"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(&row - kTable);
    const Descriptor desc;
    const auto set = [&] {
      return mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, row.dtype, static_cast<int>(row.dims.size()),
                                           row.dims.data(), row.strides.data());
    };
    if (*row.shape == '\0') {
      EXPECT_EQ(set(), kOk) << mluOpOmpGetLastError();
      EXPECT_EQ(mluOpGetTensorElementNum(desc),
                static_cast<uint64_t>(row.dims[0] * (row.dims.size() == 1 ? 1 : row.dims[1])));
    } else {
      expect_failure(set, MLUOP_STATUS_BAD_PARAM,
                     std::string("[mluOpSetTensorDescriptorEx_v2] the size in bytes of shape ") + row.shape +
                         " exceeds 2^63 - 1");
      EXPECT_TRUE(same(desc, TensorDescriptor()));
    }
  }
}

// Values that int cannot represent: the getter fails if the caller requests them, and writes nothing.
TEST(ApiTensorDescriptorLarge, IntGettersOverflow) {
  using Ints = std::array<int, 3>;
  const Descriptor long_dim(MLUOP_DTYPE_INT8, {3, int64_t{1} << 31}),
      long_stride(MLUOP_DTYPE_INT8, {2, INT_MAX, 2}), fits(MLUOP_DTYPE_INT8, {2, INT_MAX});
  auto layout = MLUOP_LAYOUT_NCL;
  auto dtype = MLUOP_DTYPE_BFLOAT16;
  int count = -7;
  constexpr Ints kUnchanged = {-7, -7, -7};
  Ints dims = kUnchanged, strides = kUnchanged;
  const auto kOverflow = MLUOP_STATUS_NUMERICAL_OVERFLOW;
  expect_errors({
      {[&] { return mluOpGetTensorDescriptor(long_dim, &layout, &dtype, &count, dims.data()); },
       "[mluOpGetTensorDescriptor] dimSize[1] is 2147483648, which int cannot hold: use the _v2 function",
       kOverflow},
      {[&] { return mluOpGetTensorDescriptorEx(long_dim, &layout, &dtype, &count, dims.data(), nullptr); },
       "[mluOpGetTensorDescriptorEx] dimSize[1] is 2147483648, which int cannot hold: use the _v2 function",
       kOverflow},
      {[&] {
         return mluOpGetTensorDescriptorEx(long_stride, &layout, &dtype, &count, dims.data(), strides.data());
       },
       "[mluOpGetTensorDescriptorEx] dimStride[0] is 4294967294, which int cannot hold: use the _v2 function",
       kOverflow},
  });
  EXPECT_EQ(std::tuple(layout, dtype, count), std::tuple(MLUOP_LAYOUT_NCL, MLUOP_DTYPE_BFLOAT16, -7));
  EXPECT_EQ(dims, kUnchanged);
  EXPECT_EQ(strides, kUnchanged);
  // Not requested, or equal to INT_MAX.
  EXPECT_EQ(mluOpGetTensorDescriptor(long_dim, nullptr, nullptr, &count, nullptr), kOk);
  EXPECT_EQ(mluOpGetTensorDescriptor(long_stride, nullptr, nullptr, nullptr, dims.data()), kOk);
  EXPECT_EQ(mluOpGetTensorDescriptorEx(fits, nullptr, nullptr, nullptr, dims.data(), strides.data()), kOk);
  EXPECT_EQ(dims[1], INT_MAX);
  EXPECT_EQ(strides[0], INT_MAX);
}

// The arguments of mluOpSetSparseConvolutionDescriptor.
struct Parameters {
  int dimNb = 5, batch_size = 2;
  std::vector<int> pad = {1, 0, 1}, stride = {2, 2, 1}, dilation = {1, 1, 3}, input_space = {5, 6, 7},
                   filter_space = {3, 3, 1}, output_space = {3, 2, 7};
  int sub_m = 0, transpose = 0, inverse = 0;

  mluOpStatus_t set(mluOpSparseConvolutionDescriptor_t desc) const {
    const auto data = [](const std::vector<int>& values) { return values.empty() ? nullptr : values.data(); };
    return mluOpSetSparseConvolutionDescriptor(desc, dimNb, batch_size, data(pad), data(stride), data(dilation),
                                               data(input_space), data(filter_space), data(output_space), sub_m,
                                               transpose, inverse);
  }
};

TEST(ApiSparseConvolutionDescriptor, NullPointers) {
  SparseConvolutionDescriptor desc;
  int count = 5;
  expect_errors({
      {[] { return mluOpCreateSparseConvolutionDescriptor(nullptr); },
       "[mluOpCreateSparseConvolutionDescriptor] sparse_conv_desc is null"},
      {[] { return mluOpDestroySparseConvolutionDescriptor(nullptr); },
       "[mluOpDestroySparseConvolutionDescriptor] sparse_conv_desc is null", MLUOP_STATUS_EXECUTION_FAILED},
      {[&] { return mluOpGetSparseConvolutionNumActOut(nullptr, &count); },
       "[mluOpGetSparseConvolutionNumActOut] sparse_conv_desc is null", MLUOP_STATUS_NOT_INITIALIZED},
      {[&] { return mluOpGetSparseConvolutionNumActOut(desc, nullptr); },
       "[mluOpGetSparseConvolutionNumActOut] num_act_out is null", MLUOP_STATUS_NOT_INITIALIZED},
      {[] { return Parameters().set(nullptr); }, "[mluOpSetSparseConvolutionDescriptor] sparse_conv_desc is null"},
  });
  EXPECT_EQ(count, 5);
}

constexpr struct {
  const char* name;
  std::vector<int> Parameters::*array;
  int least;
} kArrays[] = {
    {"pad", &Parameters::pad, 0},
    {"stride", &Parameters::stride, 1},
    {"dilation", &Parameters::dilation, 1},
    {"input_space", &Parameters::input_space, 1},
    {"filter_space", &Parameters::filter_space, 1},
    {"output_space", &Parameters::output_space, 1},
};

TEST(ApiSparseConvolutionDescriptor, Values) {
  SparseConvolutionDescriptor desc;
  const auto expect = [&](const std::string& message, const auto& change) {
    SCOPED_TRACE(message);
    Parameters values;
    change(values);
    expect_failure([&] { return values.set(desc); }, MLUOP_STATUS_BAD_PARAM,
                   "[mluOpSetSparseConvolutionDescriptor] " + message);
  };
  expect("dimNb is 3, expected 4 or 5", [](auto& v) { v.dimNb = 3; });
  expect("dimNb is 6, expected 4 or 5", [](auto& v) { v.dimNb = 6; });
  expect("batch_size is 0, expected at least 1", [](auto& v) { v.batch_size = 0; });
  expect("batch_size is -2147483648, expected at least 1", [](auto& v) { v.batch_size = INT_MIN; });
  expect("transpose is 1, expected 0", [](auto& v) { v.transpose = 1; });
  expect("inverse is -1, expected 0", [](auto& v) { v.inverse = -1; });
  for (const auto& row : kArrays) {
    const std::string name = row.name, least = std::to_string(row.least);
    expect(name + " is null", [&](auto& v) { (v.*row.array).clear(); });
    for (const size_t i : {0, 1, 2}) {
      expect(name + '[' + std::to_string(i) + "] is " + std::to_string(row.least - 1) + ", expected at least " +
                 least,
             [&](auto& v) { (v.*row.array)[i] = row.least - 1; });
    }
  }
}

TEST(ApiSparseConvolutionDescriptor, ValidValues) {
  SparseConvolutionDescriptor desc;
  int count = 5;
  ASSERT_EQ(mluOpGetSparseConvolutionNumActOut(desc, &count), kOk);
  EXPECT_EQ(count, 0);
  // Any value of sub_m other than 0 is submanifold. With two spatial dimensions the arrays have two values.
  for (const int dim_count : {5, 4}) {
    for (const int sub_m : {0, -7}) {
      Parameters values;
      values.dimNb = dim_count;
      values.sub_m = sub_m;
      for (const auto& row : kArrays) (values.*row.array).resize(static_cast<size_t>(dim_count - 2));
      EXPECT_EQ(values.set(desc), kOk) << mluOpOmpGetLastError();
    }
  }
}

}  // namespace
}  // namespace mluop::test

// Groups of tensor descriptors, tensor sets and sequence data: values, and rules of each argument. A call that
// fails writes nothing.
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

constexpr auto kArray = MLUOP_LAYOUT_ARRAY;
constexpr auto kFloat = MLUOP_DTYPE_FLOAT;

using IntList = std::vector<int>;
using Longs = std::vector<int64_t>;

Longs shape_of(mluOpTensorDescriptor_t desc) { return {desc->shape().begin(), desc->shape().end()}; }

// Arguments of the functions of a group of two tensors, for rows to change.
struct Group {
  mluOpStatus_t create() { return mluOpCreateGroupTensorDescriptors(variables, count); }
  mluOpStatus_t destroy() { return mluOpDestroyGroupTensorDescriptors(variables, count); }
  mluOpStatus_t set() {
    return mluOpSetGroupTensorDescriptors(variables, layouts, dtypes, dim_counts, dims, count);
  }

  mluOpTensorDescriptor_t descs[2] = {};
  mluOpTensorDescriptor_t* pointers[2] = {&descs[0], &descs[1]};
  mluOpTensorLayout_t layout_values[2] = {MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_ARRAY};
  mluOpDataType_t dtype_values[2] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32};
  int dim_count_values[2] = {4, 3};
  int dim_values[7] = {3, 4, 5, 6, 9, 7, 8};
  mluOpTensorDescriptor_t** variables = pointers;
  const mluOpTensorLayout_t* layouts = layout_values;
  const mluOpDataType_t* dtypes = dtype_values;
  const int* dim_counts = dim_count_values;
  const int* dims = dim_values;
  int count = 2;
};

TEST(ApiTensorDescriptorGroup, CreateSetDestroy) {
  Group group;
  require(group.create());
  for (const auto desc : group.descs) {
    EXPECT_EQ(mluOpGetTensorElementNum(desc), 0U);
    EXPECT_EQ(desc->dtype, MLUOP_DTYPE_INVALID);
    EXPECT_EQ(desc->scale, 1);
  }
  require(mluOpSetTensorDescriptorPosition(group.descs[1], 5));
  require(group.set());
  EXPECT_EQ(shape_of(group.descs[0]), Longs({3, 4, 5, 6}));
  EXPECT_EQ(shape_of(group.descs[1]), Longs({9, 7, 8}));
  EXPECT_EQ(group.descs[0]->layout, MLUOP_LAYOUT_NHWC);
  EXPECT_EQ(group.descs[1]->dtype, MLUOP_DTYPE_INT32);
  EXPECT_EQ(group.descs[1]->position, 5);
  require(group.destroy());
}

TEST(ApiTensorDescriptorGroup, Errors) {
  Group created;
  require(created.create());
  require(created.set());
  const struct {
    std::function<void(Group&)> change;
    std::string message;
    bool of_all = false;  // functions, not only of Set
  } kTable[] = {
      {[](Group& g) { g.variables = nullptr; }, "group_desc is null", true},
      {[](Group& g) { g.count = 0; }, "desc_num is 0, expected at least 1", true},
      {[](Group& g) { g.count = INT_MIN; }, "desc_num is -2147483648, expected at least 1", true},
      {[](Group& g) { g.pointers[1] = nullptr; }, "group_desc[1] is null", true},
      {[](Group& g) { g.descs[1] = nullptr; }, "*group_desc[1] is null"},
      {[](Group& g) { g.layouts = nullptr; }, "group_layout is null"},
      {[](Group& g) { g.dtypes = nullptr; }, "group_dtype is null"},
      {[](Group& g) { g.dim_counts = nullptr; }, "group_dimNb is null"},
      {[](Group& g) { g.dims = nullptr; }, "group_dimSize is null"},
      {[](Group& g) { g.dim_count_values[1] = 9; }, "tensor 1: dimNb is 9, expected 1 to 8"},
      {[](Group& g) { g.dim_count_values[0] = 0; }, "tensor 0: dimNb is 0, expected 1 to 8"},
      {[](Group& g) { g.dim_values[4] = -1; }, "tensor 1: dimSize[0] is -1, expected 0 or more"},
      {[](Group& g) { g.dtype_values[1] = MLUOP_DTYPE_INVALID; },
       "tensor 1: dtype is 0, expected a data type other than MLUOP_DTYPE_INVALID"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    Group group;
    std::copy(std::begin(created.descs), std::end(created.descs), group.descs);
    group.dim_values[0] = 1;
    row.change(group);
    expect_failure([&] { return group.set(); }, MLUOP_STATUS_BAD_PARAM,
                   "[mluOpSetGroupTensorDescriptors] " + row.message);
    EXPECT_EQ(shape_of(created.descs[0]), Longs({3, 4, 5, 6}));
    EXPECT_EQ(shape_of(created.descs[1]), Longs({9, 7, 8}));
    if (!row.of_all) continue;
    expect_failure([&] { return group.destroy(); }, MLUOP_STATUS_BAD_PARAM,
                   "[mluOpDestroyGroupTensorDescriptors] " + row.message);
    expect_failure([&] { return group.create(); }, MLUOP_STATUS_BAD_PARAM,
                   "[mluOpCreateGroupTensorDescriptors] " + row.message);
    EXPECT_EQ(group.descs[0], created.descs[0]);
  }
  Group half = created;
  half.pointers[0] = &half.descs[0];
  half.pointers[1] = &half.descs[1];
  half.variables = half.pointers;
  half.descs[1] = nullptr;
  expect_failure([&] { return half.destroy(); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpDestroyGroupTensorDescriptors] *group_desc[1] is null");
  require(created.destroy());
}

class ApiTensorSet : public ::testing::Test {
 protected:
  ApiTensorSet() {
    const int sizes[] = {2, 3};
    require(mluOpCreateTensorSetDescriptor(&set_, 2, sizes));
  }
  ~ApiTensorSet() override { mluOpDestroyTensorSetDescriptor(set_); }

  mluOpStatus_t init(int i, int j, mluOpDataType_t dtype, const IntList& dims) const {
    const int index[] = {i, j};
    return mluOpInitTensorSetMemberDescriptor(set_, 2, index, kArray, dtype, static_cast<int>(dims.size()),
                                              dims.data());
  }

  mluOpTensorSetDescriptor_t set_ = nullptr;
};

TEST_F(ApiTensorSet, MembersAreConsecutive) {
  int dim_count = -7, sizes[] = {-7, -7}, bytes = -7;
  require(mluOpGetTensorSetDescriptor(set_, &dim_count, sizes));
  EXPECT_EQ(std::tuple(dim_count, sizes[0], sizes[1]), std::tuple(2, 2, 3));
  require(mluOpGetTensorSetDescriptorSize(set_, &bytes));
  EXPECT_EQ(bytes, 0);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) require(init(i, j, kFloat, {2, 2}));
  }
  const int index[] = {1, 1};
  require(mluOpInitTensorSetMemberDescriptorPositionAndScale(set_, 2, index, 4, 0.5F));
  std::array<char, 96> buffer{};
  mluOpTensorDescriptor_t desc = nullptr;
  void* data = nullptr;
  require(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, buffer.data(), &desc, &data));
  EXPECT_EQ(data, buffer.data() + 64);
  EXPECT_EQ(shape_of(desc), Longs({2, 2}));
  EXPECT_EQ(std::tuple(desc->position, desc->scale), std::tuple(4, 0.5F));
  require(mluOpGetTensorSetDescriptorSize(set_, &bytes));
  EXPECT_EQ(bytes, 96);
  // Members of different sizes.
  require(init(0, 2, MLUOP_DTYPE_HALF, {5}));
  require(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, buffer.data(), &desc, &data));
  EXPECT_EQ(data, buffer.data() + 58);
}

// The size exceeds int, then the offset exceeds int64_t.
TEST_F(ApiTensorSet, LargeMembers) {
  int bytes = -7;
  require(init(0, 0, kFloat, {INT_MAX / 4}));
  require(mluOpGetTensorSetDescriptorSize(set_, &bytes));
  EXPECT_EQ(bytes, INT_MAX - 3);
  require(init(0, 1, MLUOP_DTYPE_INT8, {4}));
  expect_failure([&] { return mluOpGetTensorSetDescriptorSize(set_, &bytes); }, MLUOP_STATUS_NOT_SUPPORTED,
                 "[mluOpGetTensorSetDescriptorSize] the members up to number 1 have more than 2147483647 bytes");
  EXPECT_EQ(bytes, INT_MAX - 3);
  for (int j = 0; j < 3; ++j) require(init(0, j, MLUOP_DTYPE_INT8, {INT_MAX, INT_MAX}));
  const int index[] = {1, 0};
  char buffer = 0;
  mluOpTensorDescriptor_t desc = nullptr;
  void* data = nullptr;
  expect_failure([&] { return mluOpGetTensorAndDataFromTensorSet(set_, 2, index, &buffer, &desc, &data); },
                 MLUOP_STATUS_NOT_SUPPORTED,
                 "[mluOpGetTensorAndDataFromTensorSet] the members up to number 2 have more than "
                 "9223372036854775807 bytes");
  EXPECT_EQ(std::tuple(desc, data), std::tuple(nullptr, nullptr));
}

TEST_F(ApiTensorSet, Errors) {
  require(init(1, 2, kFloat, {5}));
  mluOpTensorSetDescriptor_t made = nullptr;
  mluOpTensorDescriptor_t desc = nullptr;
  void* place = nullptr;
  char buffer = 0;
  int number = -7, sizes[] = {1 << 16, 1 << 15}, none[] = {3, 0}, dims[] = {5}, least[] = {0, 0}, far[] = {1, 3},
      before[] = {-1, 0};
  const auto create = [&](auto* to, int count, const int* values) {
    return mluOpCreateTensorSetDescriptor(to, count, values);
  };
  const auto init_at = [&](auto set, int count, const int* index) {
    return mluOpInitTensorSetMemberDescriptor(set, count, index, kArray, kFloat, 1, dims);
  };
  const auto scale_at = [&](auto set, int count, const int* index) {
    return mluOpInitTensorSetMemberDescriptorPositionAndScale(set, count, index, 1, 1);
  };
  const auto get_at = [&](auto set, int count, const int* index, void* data, auto* to_desc, void** to_data) {
    return mluOpGetTensorAndDataFromTensorSet(set, count, index, data, to_desc, to_data);
  };
  const mluOpTensorSetDescriptor_t null = nullptr;
  mluOpTensorSetDescriptor_t* const no_set = nullptr;
  mluOpTensorDescriptor_t* const no_desc = nullptr;
  const std::string c = "[mluOpCreateTensorSetDescriptor] ", g = "[mluOpGetTensorSetDescriptor] ",
                    i = "[mluOpInitTensorSetMemberDescriptor] ",
                    p = "[mluOpInitTensorSetMemberDescriptorPositionAndScale] ",
                    s = "[mluOpGetTensorSetDescriptorSize] ", t = "[mluOpGetTensorAndDataFromTensorSet] ";
  expect_errors({
      {[&] { return create(no_set, 2, dims); }, c + "tensorSetDesc is null"},
      {[&] { return create(&made, 0, dims); }, c + "setDimNb is 0, expected at least 1"},
      {[&] { return create(&made, 1, nullptr); }, c + "setDimSize is null"},
      {[&] { return create(&made, 2, none); }, c + "setDimSize[1] is 0, expected at least 1"},
      {[&] { return create(&made, 2, sizes); }, c + "the set has 2^31 members or more"},
      {[&] { return mluOpGetTensorSetDescriptor(nullptr, &number, sizes); }, g + "tensorSetDesc is null"},
      {[&] { return mluOpGetTensorSetDescriptor(set_, nullptr, sizes); }, g + "setDimNb is null"},
      {[&] { return mluOpGetTensorSetDescriptor(set_, &number, nullptr); }, g + "setDimSize is null"},
      {[&] { return mluOpDestroyTensorSetDescriptor(nullptr); },
       "[mluOpDestroyTensorSetDescriptor] tensorSetDesc is null"},
      {[&] { return init_at(null, 2, least); }, i + "tensorSetDesc is null"},
      {[&] { return init_at(set_, 2, nullptr); }, i + "tensorIndex is null"},
      {[&] { return init_at(set_, 1, least); }, i + "setDimNb is 1, expected 2 as created"},
      {[&] { return init_at(set_, 2, far); }, i + "tensorIndex[1] is 3, expected 0 to 2"},
      {[&] { return init_at(set_, 2, before); }, i + "tensorIndex[0] is -1, expected 0 to 1"},
      {[&] { return init(1, 2, MLUOP_DTYPE_INVALID, {3}); },
       i + "dtype is 0, expected a data type other than MLUOP_DTYPE_INVALID"},
      {[&] { return init(1, 2, kFloat, {}); }, i + "dimNb is 0, expected 1 to 8"},
      {[&] { return init(1, 2, kFloat, {-1}); }, i + "dimSize[0] is -1, expected 0 or more"},
      {[&] { return scale_at(null, 2, least); }, p + "tensorSetDesc is null"},
      {[&] { return scale_at(set_, 2, nullptr); }, p + "tensorIndex is null"},
      {[&] { return scale_at(set_, 3, least); }, p + "setDimNb is 3, expected 2 as created"},
      {[&] { return mluOpGetTensorSetDescriptorSize(nullptr, &number); }, s + "tensorSetDesc is null"},
      {[&] { return mluOpGetTensorSetDescriptorSize(set_, nullptr); }, s + "sizeInBytes is null"},
      {[&] { return get_at(null, 2, least, &buffer, &desc, &place); }, t + "tensorSetDesc is null"},
      {[&] { return get_at(set_, 2, least, nullptr, &desc, &place); }, t + "data is null"},
      {[&] { return get_at(set_, 2, least, &buffer, no_desc, &place); }, t + "tensorDesc is null"},
      {[&] { return get_at(set_, 2, least, &buffer, &desc, nullptr); }, t + "dataAddrInDevice is null"},
      {[&] { return get_at(set_, 2, nullptr, &buffer, &desc, &place); }, t + "tensorIndex is null"},
      {[&] { return get_at(set_, 0, least, &buffer, &desc, &place); }, t + "setDimNb is 0, expected 2 as created"},
      {[&] { return get_at(set_, 2, far, &buffer, &desc, &place); }, t + "tensorIndex[1] is 3, expected 0 to 2"},
  });
  EXPECT_EQ(std::tuple(made, desc, place, number), std::tuple(nullptr, nullptr, nullptr, -7));
  require(mluOpGetTensorSetDescriptorSize(set_, &number));
  EXPECT_EQ(number, 20);
}

// The values of a sequence data descriptor that can be read.
struct SeqData {
  bool operator==(const SeqData&) const = default;

  mluOpSeqDataLayout_t layout = MLUOP_SEQDATA_NBTC;
  mluOpDataType_t dtype = kFloat;
  int dim_count = 0;
  Longs dims = Longs(10, -7);
  int64_t length_count = 0;
  Longs lengths = Longs(10, -7);
  double padding = -7;
};

class ApiSeqData : public ::testing::Test {
 protected:
  ApiSeqData() { require(mluOpCreateSeqDataDescriptor(&desc_)); }
  ~ApiSeqData() override { mluOpDestroySeqDataDescriptor(desc_); }

  SeqData get() const {
    SeqData found{MLUOP_SEQDATA_NT, MLUOP_DTYPE_INT31, -7};
    found.length_count = -7;
    require(mluOpGetSeqDataDescriptor_v2(desc_, &found.layout, &found.dtype, &found.dim_count, found.dims.data(),
                                         &found.length_count, found.lengths.data(), &found.padding));
    return found;
  }

  mluOpSeqDataDescriptor_t desc_ = nullptr;
};

TEST_F(ApiSeqData, SetAndGet) {
  SeqData expected;
  EXPECT_EQ(get(), expected);
  const int64_t dims[] = {2, 1, 5, int64_t{1} << 33, 1, 1, 1, 1, 1};
  const int lengths[] = {5, 3};
  {
    double padding = 0.25;  // The descriptor copies the value.
    require(mluOpSetSeqDataDescriptor_v2(desc_, MLUOP_SEQDATA_BNTC, MLUOP_DTYPE_DOUBLE, 4, dims, 2, lengths,
                                         &padding));
  }
  require(mluOpSetSeqDataDescriptorPositionAndScale(desc_, -129, 2.5F));
  expected.layout = MLUOP_SEQDATA_BNTC;
  expected.dtype = MLUOP_DTYPE_DOUBLE;
  expected.dim_count = 4;
  std::copy_n(dims, 4, expected.dims.begin());
  expected.length_count = 2;
  std::copy_n(lengths, 2, expected.lengths.begin());
  expected.padding = 0.25;
  EXPECT_EQ(get(), expected);
  // Each output may be null.
  require(mluOpGetSeqDataDescriptor_v2(desc_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  double padding = 0;
  require(mluOpGetSeqDataDescriptor_v2(desc_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &padding));
  EXPECT_EQ(padding, 0.25);
  // Lengths and padding that are absent are not written. More dimensions than a tensor has are valid.
  require(mluOpSetSeqDataDescriptor_v2(desc_, MLUOP_SEQDATA_TNC, kFloat, 9, dims, 3, nullptr, nullptr));
  expected = {MLUOP_SEQDATA_TNC, kFloat, 9};
  std::copy_n(dims, 9, expected.dims.begin());
  expected.length_count = 3;
  EXPECT_EQ(get(), expected);
}

TEST_F(ApiSeqData, Errors) {
  struct Arguments {
    mluOpSeqDataDescriptor_t desc;
    mluOpSeqDataLayout_t layout = MLUOP_SEQDATA_NTC;
    mluOpDataType_t dtype = kFloat;
    int dim_count = 3;
    int64_t dims[3] = {2, 3, 4};
    int length_count = 2;
    int lengths[2] = {3, 3};
    bool has_dims = true;
  };
  const std::string layouts = ", expected a value of mluOpSeqDataLayout_t";
  const std::string dtypes = ", expected a data type other than MLUOP_DTYPE_INVALID";
  const struct {
    std::function<void(Arguments&)> change;
    std::string message;
  } kTable[] = {
      {[](Arguments& a) { a.desc = nullptr; }, "seq_data_desc is null"},
      {[](Arguments& a) { a.layout = static_cast<mluOpSeqDataLayout_t>(12); }, "layout is 12" + layouts},
      {[](Arguments& a) { a.dtype = MLUOP_DTYPE_INVALID; }, "dtype is 0" + dtypes},
      {[](Arguments& a) { a.dtype = static_cast<mluOpDataType_t>(10); }, "dtype is 10" + dtypes},
      {[](Arguments& a) { a.dim_count = 0; }, "dimNb is 0, expected at least 1"},
      {[](Arguments& a) { a.has_dims = false; }, "dimSize is null"},
      {[](Arguments& a) { a.dims[2] = -1; }, "dimSize[2] is -1, expected 0 or more"},
      {[](Arguments& a) { a.dims[0] = INT64_MAX / 4; }, "the size in bytes of dimSize exceeds 2^63 - 1"},
      {[](Arguments& a) {
         a.dims[0] = 0;
         a.dims[1] = a.dims[2] = int64_t{1} << 32;
       },
       "the size in bytes of dimSize exceeds 2^63 - 1"},
      {[](Arguments& a) { a.length_count = -1; }, "seqLengthArraySize is -1, expected 0 or more"},
      {[](Arguments& a) { a.lengths[1] = 0; }, "seqLengthArray[1] is 0, expected at least 1"},
  };
  const SeqData before = get();
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    Arguments a{desc_};
    row.change(a);
    expect_failure(
        [&] {
          return mluOpSetSeqDataDescriptor_v2(a.desc, a.layout, a.dtype, a.dim_count,
                                              a.has_dims ? a.dims : nullptr, a.length_count, a.lengths, nullptr);
        },
        MLUOP_STATUS_BAD_PARAM, "[mluOpSetSeqDataDescriptor_v2] " + row.message);
    EXPECT_EQ(get(), before);
  }
  expect_errors({
      {[] { return mluOpCreateSeqDataDescriptor(nullptr); },
       "[mluOpCreateSeqDataDescriptor] seq_data_desc is null"},
      {[] { return mluOpDestroySeqDataDescriptor(nullptr); },
       "[mluOpDestroySeqDataDescriptor] seq_data_desc is null"},
      {[] {
         return mluOpGetSeqDataDescriptor_v2(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                             nullptr);
       },
       "[mluOpGetSeqDataDescriptor_v2] seq_data_desc is null"},
      {[] { return mluOpSetSeqDataDescriptorPositionAndScale(nullptr, 0, 1); },
       "[mluOpSetSeqDataDescriptorPositionAndScale] seq_data_desc is null"},
  });
}

}  // namespace
}  // namespace mluop::test

#include "core/dtype.h"

namespace mluop {
namespace {

struct DtypeInfo {
  mluOpDataType_t dtype;
  size_t size;
  std::string_view name;
};

constexpr DtypeInfo kDtypes[] = {
    {MLUOP_DTYPE_HALF, 2, "HALF"},
    {MLUOP_DTYPE_FLOAT, 4, "FLOAT"},
    {MLUOP_DTYPE_INT8, 1, "INT8"},
    {MLUOP_DTYPE_INT16, 2, "INT16"},
    {MLUOP_DTYPE_INT31, 4, "INT31"},
    {MLUOP_DTYPE_INT32, 4, "INT32"},
    {MLUOP_DTYPE_UINT8, 1, "UINT8"},
    {MLUOP_DTYPE_BOOL, 1, "BOOL"},
    {MLUOP_DTYPE_INT64, 8, "INT64"},
    {MLUOP_DTYPE_UINT32, 4, "UINT32"},
    {MLUOP_DTYPE_UINT64, 8, "UINT64"},
    {MLUOP_DTYPE_UINT16, 2, "UINT16"},
    {MLUOP_DTYPE_DOUBLE, 8, "DOUBLE"},
    {MLUOP_DTYPE_COMPLEX_HALF, 4, "COMPLEX_HALF"},
    {MLUOP_DTYPE_COMPLEX_FLOAT, 8, "COMPLEX_FLOAT"},
    {MLUOP_DTYPE_BFLOAT16, 2, "BFLOAT16"},
};

constexpr DtypeInfo kInvalid = {MLUOP_DTYPE_INVALID, 0, "INVALID"};

const DtypeInfo& find(mluOpDataType_t dtype) {
  for (const DtypeInfo& info : kDtypes) {
    if (info.dtype == dtype) return info;
  }
  return kInvalid;
}

constexpr std::string_view kLayouts[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                         "TNC",  "NTC",  "NC",   "NLC",   "NCL"};

}  // namespace

size_t size_of(mluOpDataType_t dtype) { return find(dtype).size; }

std::string_view name_of(mluOpDataType_t dtype) { return find(dtype).name; }

std::string_view name_of(mluOpTensorLayout_t layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index] : std::string_view{};
}

}  // namespace mluop

// Descriptors of tensors of sequences.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/checks.h"
#include "core/descriptor.h"
#include "core/dtype.h"
#include "core/sizes.h"

struct mluOpSeqDataStruct {
  mluOpSeqDataLayout_t layout = MLUOP_SEQDATA_NBTC;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  std::vector<int64_t> dims;
  int64_t length_count = 0;
  std::vector<int64_t> lengths;  // empty if the caller gave only their number
  bool has_padding = false;
  std::array<std::byte, sizeof(double)> padding{};  // an element of dtype
  int position = 0;
  float scale = 1;
};

namespace mluop {
namespace {

void check_seq_data(mluOpSeqDataLayout_t layout, mluOpDataType_t dtype, int dim_count, const int64_t dims[],
                    int length_count, const int lengths[]) {
  const auto layout_number = static_cast<int>(layout);
  require(layout_number >= MLUOP_SEQDATA_TNC && layout_number <= MLUOP_SEQDATA_NT, MLUOP_STATUS_BAD_PARAM,
          "layout is ", layout_number, ", expected a value of mluOpSeqDataLayout_t");
  require(size_of(dtype) > 0, MLUOP_STATUS_BAD_PARAM, "dtype is ", static_cast<int>(dtype),
          ", expected a data type other than MLUOP_DTYPE_INVALID");
  require_positive("dimNb", dim_count);
  require_not_null("dimSize", dims);
  auto bytes = std::optional(static_cast<int64_t>(size_of(dtype)));
  for (int i = 0; i < dim_count; ++i) {
    require(dims[i] >= 0, MLUOP_STATUS_BAD_PARAM, "dimSize[", i, "] is ", dims[i], ", expected 0 or more");
    if (bytes) bytes = checked_product(*bytes, std::max<int64_t>(dims[i], 1));
  }
  require(bytes.has_value(), MLUOP_STATUS_BAD_PARAM, "the size in bytes of dimSize exceeds 2^63 - 1");
  require(length_count >= 0, MLUOP_STATUS_BAD_PARAM, "seqLengthArraySize is ", length_count,
          ", expected 0 or more");
  for (int i = 0; lengths != nullptr && i < length_count; ++i) {
    require(lengths[i] > 0, MLUOP_STATUS_BAD_PARAM, "seqLengthArray[", i, "] is ", lengths[i],
            ", expected at least 1");
  }
}

}  // namespace
}  // namespace mluop

using mluop::require_not_null;
using mluop::run_guarded;

mluOpStatus_t MLUOP_WIN_API mluOpCreateSeqDataDescriptor(mluOpSeqDataDescriptor_t* seq_data_desc) {
  return mluop::create_descriptor("mluOpCreateSeqDataDescriptor", "seq_data_desc", seq_data_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroySeqDataDescriptor(mluOpSeqDataDescriptor_t seq_data_desc) {
  return mluop::destroy_descriptor("mluOpDestroySeqDataDescriptor", "seq_data_desc", seq_data_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetSeqDataDescriptor_v2(mluOpSeqDataDescriptor_t seq_data_desc,
                                                         mluOpSeqDataLayout_t layout, mluOpDataType_t dtype,
                                                         int dimNb, const int64_t dimSize[],
                                                         int seqLengthArraySize, const int seqLengthArray[],
                                                         void* paddingFill) {
  return run_guarded("mluOpSetSeqDataDescriptor_v2", [&] {
    require_not_null("seq_data_desc", seq_data_desc);
    mluop::check_seq_data(layout, dtype, dimNb, dimSize, seqLengthArraySize, seqLengthArray);
    mluOpSeqDataStruct requested;
    requested.layout = layout;
    requested.dtype = dtype;
    requested.dims.assign(dimSize, dimSize + dimNb);
    requested.length_count = seqLengthArraySize;
    if (seqLengthArray != nullptr) requested.lengths.assign(seqLengthArray, seqLengthArray + seqLengthArraySize);
    requested.has_padding = paddingFill != nullptr;
    if (requested.has_padding) std::memcpy(requested.padding.data(), paddingFill, mluop::size_of(dtype));
    requested.position = seq_data_desc->position;
    requested.scale = seq_data_desc->scale;
    *seq_data_desc = std::move(requested);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetSeqDataDescriptor_v2(const mluOpSeqDataDescriptor_t seq_data_desc,
                                                         mluOpSeqDataLayout_t* layout, mluOpDataType_t* dtype,
                                                         int* dimNb, int64_t dimSize[],
                                                         int64_t* seqLengthArraySize, int64_t seqLengthArray[],
                                                         void* paddingFill) {
  return run_guarded("mluOpGetSeqDataDescriptor_v2", [&] {
    require_not_null("seq_data_desc", seq_data_desc);
    const mluOpSeqDataStruct& desc = *seq_data_desc;
    if (layout != nullptr) *layout = desc.layout;
    if (dtype != nullptr) *dtype = desc.dtype;
    if (dimNb != nullptr) *dimNb = static_cast<int>(desc.dims.size());
    if (dimSize != nullptr) std::ranges::copy(desc.dims, dimSize);
    if (seqLengthArraySize != nullptr) *seqLengthArraySize = desc.length_count;
    if (seqLengthArray != nullptr) std::ranges::copy(desc.lengths, seqLengthArray);
    if (paddingFill != nullptr && desc.has_padding) {
      std::memcpy(paddingFill, desc.padding.data(), mluop::size_of(desc.dtype));
    }
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetSeqDataDescriptorPositionAndScale(mluOpSeqDataDescriptor_t seq_data_desc,
                                                                      int position, float scale) {
  return run_guarded("mluOpSetSeqDataDescriptorPositionAndScale", [&] {
    require_not_null("seq_data_desc", seq_data_desc);
    seq_data_desc->position = position;
    seq_data_desc->scale = scale;
  });
}

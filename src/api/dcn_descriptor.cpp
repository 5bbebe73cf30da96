#include "core/checks.h"
#include "core/dcn.h"
#include "core/descriptor.h"

namespace mluop {
namespace {

template <size_t kCount>
std::array<int32_t, kCount> read_values(std::string_view name, const int* values, int32_t min) {
  require_not_null(name, values);
  std::array<int32_t, kCount> read{};
  for (size_t i = 0; i < kCount; ++i) {
    require(values[i] >= min, MLUOP_STATUS_BAD_PARAM, name, "[", i, "] is ", values[i], ", expected at least ",
            min);
    read[i] = values[i];
  }
  return read;
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpCreateDCNDescriptor(mluOpDCNDescriptor_t* dcn_desc) {
  return mluop::create_descriptor("mluOpCreateDCNDescriptor", "dcn_desc", dcn_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyDCNDescriptor(mluOpDCNDescriptor_t dcn_desc) {
  return mluop::destroy_descriptor("mluOpDestroyDCNDescriptor", "dcn_desc", dcn_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetDCNDescriptor(mluOpDCNDescriptor_t dcn_desc, int dimNb, const int pad[],
                                                  const int stride[], const int dilation[], int deformable_group,
                                                  int conv_group, int im2col_step,
                                                  const mluOpDataType_t compute_type) {
  using namespace mluop;
  return run_guarded("mluOpSetDCNDescriptor", [&] {
    require_not_null("dcn_desc", dcn_desc);
    require(dimNb == 4, MLUOP_STATUS_BAD_PARAM, "dimNb is ", dimNb, ", expected 4");
    DcnDescriptor requested;
    requested.is_set = true;
    requested.dim_count = dimNb;
    requested.pad = read_values<4>("pad", pad, 0);
    requested.stride = read_values<2>("stride", stride, 1);
    requested.dilation = read_values<2>("dilation", dilation, 1);
    require_positive("deformable_group", deformable_group);
    require_positive("conv_group", conv_group);
    require_positive("im2col_step", im2col_step);
    requested.deformable_group = deformable_group;
    requested.conv_group = conv_group;
    requested.im2col_step = im2col_step;
    require(compute_type == MLUOP_DTYPE_FLOAT, MLUOP_STATUS_BAD_PARAM, "compute_type is ", name_of(compute_type),
            ", expected FLOAT");
    *dcn_desc = requested;
  });
}

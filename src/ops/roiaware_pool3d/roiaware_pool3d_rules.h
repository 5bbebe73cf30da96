// RoI-aware pooling: declarations and rules shared by both operators.
#pragma once

#include <string_view>

#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "team/operator_call.h"

namespace mluop::roiaware_pool3d {

// The scalar parameters of both operators.
struct Parameters {
  Sizes sizes(int64_t N) const { return {boxes_num, N, channels, max_pts_each_voxel, out_x, out_y, out_z}; }
  PoolMethod method() const { return static_cast<PoolMethod>(pool_method); }

  int pool_method, boxes_num, channels, max_pts_each_voxel, out_x, out_y, out_z;
};

inline void declare(Call& call, const Parameters& p) {
  call.parameter("pool_method", p.pool_method);
  call.parameter("boxes_num", p.boxes_num, AtLeast{1});
  call.parameter("channels", p.channels, AtLeast{1});
  call.parameter("max_pts_each_voxel", p.max_pts_each_voxel, AtLeast{1});
  call.parameter("out_x", p.out_x, AtLeast{1});
  call.parameter("out_y", p.out_y, AtLeast{1});
  call.parameter("out_z", p.out_z, AtLeast{1});
}

// Call it after all arguments are declared. `dtype`: the data type of the tensor `name`.
inline void check_parameters(const Call& call, const Parameters& p, std::string_view name, mluOpDataType_t dtype) {
  call.check_pointers();
  call.check_not_200_series();
  require_element_type(name, dtype);
  require_flag("pool_method", p.pool_method);
  call.check_parameters();
}

}  // namespace mluop::roiaware_pool3d

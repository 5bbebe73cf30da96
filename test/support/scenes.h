// Generators of realistic inputs, case/scenes, under the names of the tests.
#pragma once

#include "case/scenes/camera_rig.h"
#include "case/scenes/center_point.h"
#include "case/scenes/indice_pairs.h"
#include "case/scenes/lidar_map.h"
#include "case/scenes/lidar_scan.h"
#include "case/scenes/site_set.h"

namespace mluop::test {

using namespace scenes;

}  // namespace mluop::test

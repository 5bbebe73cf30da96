// Voxel pooling forward: how the cells of the output grid are numbered.
#pragma once

#include <cstdint>

namespace mluop::voxel_pooling_forward {

// Cells are numbered tile by tile, tiles of 2^shift_y x 2^shift_x cells in the order of the output; so the number
// of a cell is its tile and its place in the tile. With shifts of 0, cells have the numbers of the output's rows.
struct Grid {
  Grid(int32_t batches, int32_t y, int32_t x, int tile_shift_y, int tile_shift_x)
      : shift_y(tile_shift_y),
        shift_x(tile_shift_x),
        tiles_y(((y - 1) >> tile_shift_y) + 1),
        tiles_x(((x - 1) >> tile_shift_x) + 1),
        tile_count(batches * tiles_y * tiles_x) {}

  int shift() const { return shift_y + shift_x; }
  int32_t cells_of_tile() const { return 1 << shift(); }

  int shift_y, shift_x;
  int32_t tiles_y, tiles_x;
  int32_t tile_count;
};

}  // namespace mluop::voxel_pooling_forward

// The tile registers of AMX: eight, with 16 rows of 64 bytes, all rows configured. The tile state of a thread
// lasts as long as its AmxTiles. has_bf16_tiles() tells whether the machine has them.
#pragma once

#include <cstdint>

namespace mluop {

inline constexpr int64_t kAmxRows = 16;
inline constexpr int64_t kAmxRowBytes = 64;
// Elements of bfloat16 in a row, and sums in fp32.
inline constexpr int64_t kAmxStep = kAmxRowBytes / 2;
inline constexpr int64_t kAmxColumns = kAmxRowBytes / 4;
inline constexpr int kAmxTileCount = 8;

#if defined(__x86_64__)

// Inline assembly: the intrinsics of GCC are macros that take the register as a number, and in GCC 12 they do not
// declare that they read memory.
class AmxTiles {
 public:
  AmxTiles() {
    struct {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    static_assert(sizeof(config) == 64);
    for (int tile = 0; tile < kAmxTileCount; ++tile) {
      config.row_bytes[tile] = kAmxRowBytes;
      config.rows[tile] = kAmxRows;
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() { asm volatile("tilerelease"); }

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows are `stride` bytes apart.
  template <int kTile>
  void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* to, int64_t stride) const {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }

  // sums[r][j] += the products a[r][2 i] * b[i][2 j] for i = 0, 1, ... in order, plus the products a[r][2 i + 1] *
  // b[i][2 j + 1] in order, both starting at 0. Subnormal elements count as 0, and subnormal sums become 0.
  template <int kSums, int kA, int kB>
  void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
};

#endif

}  // namespace mluop

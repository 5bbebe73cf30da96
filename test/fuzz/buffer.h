// Buffers for fuzzers, exactly as large as requested: AddressSanitizer reports each outside access of instrumented
// code, an inaccessible page on either side stops other code, and intact() detects a write next to the data. The
// pages are mapped once, so that a buffer costs less than a microsecond.
#pragma once

#include <cstddef>
#include <vector>

#include "fuzz/decoder.h"

namespace mluop::fuzz {

// The position of the data between the inaccessible pages.
struct Place {
  bool against_end;  // the inaccessible page follows the last byte; false: the data follow `offset` elements
  int offset;
};

Place decode_place(Decoder& decoder);

class Buffer {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 23;

  // The data are filled with a pattern.
  Buffer(size_t byte_count, size_t element_size, Place place);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() const { return data_; }
  size_t byte_count() const { return byte_count_; }

  // Fills the data with the pattern again.
  void reset();
  // store() saves the data; is_as_stored() tells whether the data equal the saved data.
  void store();
  bool is_as_stored() const;
  // Whether the bytes around the data are unchanged.
  bool intact() const;

 private:
  size_t slot_;
  size_t byte_count_;
  std::byte *data_, *zone_begin_, *zone_end_;
  std::vector<std::byte> stored_;
};

}  // namespace mluop::fuzz

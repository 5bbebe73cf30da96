// The index pairs of a fuzzed indice convolution: valid ones, and faults of them.
#pragma once

#include <cstdint>
#include <utility>

#include "fuzz/buffer.h"
#include "fuzz/check.h"
#include "fuzz/decoder.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/tensor.h"
#include "fuzz/values.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::fuzz {

class IndexPairs {
 public:
  using Sizes = reference::IndiceConvolutionForwardSizes;

  // `pairs`: [K, 2, num_act_in]; an offset has at most `max_count` pairs.
  IndexPairs(Decoder& decoder, const Sizes& sizes, Tensor& pairs, int64_t max_count)
      : decoder_(decoder),
        sizes_(sizes),
        pairs_(pairs),
        max_count_(max_count),
        counts_(static_cast<size_t>(sizes.K()) * sizeof(int64_t), sizeof(int64_t), decode_place(decoder)) {}

  void fill(Values& values) {
    const int64_t N = sizes_.num_act_in, M = sizes_.num_act_out;
    // `negative` in 16 indices are negative; `full` in 16 offsets have the largest number of pairs.
    const int64_t negative = decoder_.number(0, 4), full = decoder_.number(0, 16);
    for (int64_t k = 0; k < sizes_.K(); ++k) {
      const int64_t count = values.below(16) < full ? max_count_ : values.between(0, max_count_);
      counts()[k] = count;
      int32_t* inputs = pairs_.data<int32_t>() + k * 2 * N;
      for (int64_t l = 0; l < 2 * N; ++l) {
        const int64_t rows = l < N ? N : M;
        // Indices past the last pair are not read.
        const bool any = l % N >= count || rows == 0 || values.below(16) < negative;
        inputs[l] =
            static_cast<int32_t>(any ? values.bits() | 1U << 31 : static_cast<uint64_t>(values.below(rows)));
        if (l % N >= count) inputs[l] = static_cast<int32_t>(values.bits());
      }
    }
    undo();
  }

  int64_t* counts() const { return counts_.as<int64_t>(); }
  // The argument of the call.
  const int64_t* indice_num() const { return indice_num_; }

  Fault remove_counts() {
    indice_num_ = nullptr;
    return Fault::kHarmful;
  }

  Fault change_count(int64_t count) {
    if (0 <= count && count <= max_count_) return Fault::kNone;
    bad_count_ = counts() + decoder_.index(static_cast<size_t>(sizes_.K()));
    original_count_ = std::exchange(*bad_count_, count);
    return Fault::kHarmful;
  }

  // An index that is too large, of a pair whose other index is not negative.
  Fault change_index(int32_t index) {
    const auto k = static_cast<int64_t>(decoder_.index(static_cast<size_t>(sizes_.K())));
    const int64_t count = counts()[k];
    if (sizes_.num_act_in == 0 || sizes_.num_act_out == 0 || count == 0) return Fault::kNone;
    const bool is_output = decoder_.flag();
    const int64_t at = decoder_.number(0, count - 1) + k * 2 * sizes_.num_act_in;
    int32_t* pairs = pairs_.data<int32_t>();
    int32_t& bad = pairs[is_output ? at + sizes_.num_act_in : at];
    const int32_t other = pairs[is_output ? at : at + sizes_.num_act_in];
    if (other < 0 || index < (is_output ? sizes_.num_act_out : sizes_.num_act_in)) return Fault::kNone;
    bad_index_ = &bad;
    original_index_ = std::exchange(bad, index);
    return Fault::kHarmful;
  }

  // Undoes the changes.
  void undo() {
    indice_num_ = counts();
    if (bad_count_ != nullptr) *std::exchange(bad_count_, nullptr) = original_count_;
    if (bad_index_ != nullptr) *std::exchange(bad_index_, nullptr) = original_index_;
  }

  // Before and after a call.
  void store() { counts_.store(); }
  void check_unchanged() const { check(counts_.intact() && counts_.is_as_stored(), "indice_num has changed"); }

 private:
  Decoder& decoder_;
  const Sizes& sizes_;
  Tensor& pairs_;
  int64_t max_count_;
  Buffer counts_;
  const int64_t* indice_num_ = nullptr;
  int64_t* bad_count_ = nullptr;
  int64_t original_count_ = 0;
  int32_t* bad_index_ = nullptr;
  int32_t original_index_ = 0;
};

// The sizes of a problem, limited so that an execution is fast.
inline IndexPairs::Sizes decode_convolution_sizes(Decoder& decoder) {
  IndexPairs::Sizes s{decoder.number(0, 200), decoder.number(0, 200), decoder.number(1, 64), decoder.number(1, 96),
                      decoder.number(1, 3),   decoder.number(1, 3),   decoder.number(1, 3)};
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&s.Ci, &s.Co, &s.D, &s.H, &s.W}, max_count);
  limit_product({&s.num_act_in, &s.Ci}, max_count / 2);
  limit_product({&s.num_act_out, &s.Co}, max_count / 2);
  // Limits the multiplications.
  limit_product({&s.num_act_in, &s.Ci, &s.Co, &s.D, &s.H, &s.W}, 8 * max_count);
  return s;
}

}  // namespace mluop::fuzz

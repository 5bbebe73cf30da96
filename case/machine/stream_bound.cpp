#include "case/machine/stream_bound.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "case/machine/stream_bound.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "case/machine/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::machine {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Granularity at which reads and writes alternate, in lines of the larger side.
constexpr int64_t kStepLines = 4096 / kLineBytes;

// The reads and writes of one thread.
template <bool kNonTemporal>
HWY_INLINE uint64_t stream(const uint64_t* source, int64_t read_lines, uint64_t* target, int64_t written_lines) {
  const hn::CappedTag<uint64_t, kLineWords> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t steps = (std::max(read_lines, written_lines) + kStepLines - 1) / kStepLines;
  // An AMD EPYC writes lines of zeros to memory 1.8 times as fast as other lines, so the sum written is not 0.
  auto sum0 = hn::Set(d, 1), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t read = 0, written = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const int64_t read_end = read_lines * step / steps * kLineWords;
    for (; read + 4 * lanes <= read_end; read += 4 * lanes) {
      const uint64_t* from = source + read;
      sum0 = hn::Add(sum0, hn::Load(d, from));
      sum1 = hn::Add(sum1, hn::Load(d, from + lanes));
      sum2 = hn::Add(sum2, hn::Load(d, from + 2 * lanes));
      sum3 = hn::Add(sum3, hn::Load(d, from + 3 * lanes));
    }
    for (; read < read_end; read += lanes) sum0 = hn::Add(sum0, hn::Load(d, source + read));
    const int64_t written_end = written_lines * step / steps * kLineWords;
    for (; written < written_end; written += lanes) {
      if constexpr (kNonTemporal) {
        hn::Stream(sum0, d, target + written);
      } else {
        hn::Store(sum0, d, target + written);
      }
    }
  }
  hwy::FlushStream();
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

uint64_t stream_range(const uint64_t* source, int64_t read_lines, uint64_t* target, int64_t written_lines,
                      Stores stores) {
  const auto stream_with = stores == Stores::kNonTemporal ? stream<true> : stream<false>;
  return stream_with(source, read_lines, target, written_lines);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::machine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::machine {
namespace {

HWY_EXPORT(stream_range);

int64_t words(int64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineWords; }

bool is_usable(std::span<const std::byte> source, int64_t read_words) {
  return source.size() / sizeof(uint64_t) >= static_cast<size_t>(read_words) &&
         reinterpret_cast<uintptr_t>(source.data()) % static_cast<size_t>(kLineBytes) == 0;
}

}  // namespace

StreamBound::StreamBound(int64_t read_bytes, int64_t write_bytes, int threads, std::span<const std::byte> source)
    : threads_(threads),
      read_words_(words(read_bytes)),
      own_source_(is_usable(source, read_words_) ? 0 : read_words_),
      source_(is_usable(source, read_words_) ? reinterpret_cast<const uint64_t*>(source.data())
                                             : own_source_.data()),
      target_(words(write_bytes)),
      sums_(threads) {}

void StreamBound::run(Stores stores) {
  const int64_t read_lines = read_words_ / kLineWords;
  const auto written_lines = static_cast<int64_t>(target_.values().size()) / kLineWords;
  parallel(threads_, [&](int id) {
    const int64_t read = share(read_lines, threads_, id);
    const int64_t written = share(written_lines, threads_, id);
    sums_.data()[id] = HWY_DYNAMIC_DISPATCH(stream_range)(
        source_ + read * kLineWords, share(read_lines, threads_, id + 1) - read,
        target_.data() + written * kLineWords, share(written_lines, threads_, id + 1) - written, stores);
  });
}

}  // namespace mluop::machine
#endif

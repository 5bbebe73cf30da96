#include "fuzz/buffer.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "fuzz/check.h"

namespace mluop::fuzz {
namespace {

constexpr auto kPattern = std::byte{0xA5};
constexpr size_t kSlots = 24;
// The number of bytes before and after the data that intact() compares.
constexpr size_t kZone = 64;

class Slots {
 public:
  static Slots& instance() {
    static Slots slots;
    return slots;
  }

  size_t take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    check(free != taken_.end(), "all slots are in use");
    *free = true;
    return static_cast<size_t>(free - taken_.begin());
  }
  void give_back(size_t slot) { taken_[slot] = false; }
  std::byte* first(size_t slot) const { return first_ + slot * stride_; }

 private:
  Slots() : stride_(Buffer::kMaxBytes + 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t page = (stride_ - Buffer::kMaxBytes) / 2;
    void* mapping = mmap(nullptr, stride_ * kSlots, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(mapping != MAP_FAILED, "mmap fails");
    first_ = static_cast<std::byte*>(mapping) + page;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      check(mprotect(first(slot), Buffer::kMaxBytes, PROT_READ | PROT_WRITE) == 0, "mprotect fails");
      ASAN_POISON_MEMORY_REGION(first(slot), Buffer::kMaxBytes);
    }
  }

  size_t stride_;
  std::byte* first_;
  std::array<bool, kSlots> taken_{};
};

// The zones are poisoned.
__attribute__((no_sanitize("address"))) void fill_zone(std::byte* begin, const std::byte* end) {
  for (volatile std::byte* byte = begin; byte < end; ++byte) *byte = kPattern;
}
__attribute__((no_sanitize("address"))) bool zone_is_filled(const std::byte* begin, const std::byte* end) {
  for (const volatile std::byte* byte = begin; byte < end; ++byte) {
    if (*byte != kPattern) return false;
  }
  return true;
}

}  // namespace

Place decode_place(Decoder& decoder) {
  const bool against_end = decoder.flag();
  return {against_end, static_cast<int>(decoder.number(0, 16))};
}

Buffer::Buffer(size_t byte_count, size_t element_size, Place place)
    : slot_(Slots::instance().take()), byte_count_(byte_count) {
  check(byte_count + 16 * element_size <= kMaxBytes, "a buffer exceeds its slot");
  std::byte* first = Slots::instance().first(slot_);
  data_ = place.against_end ? first + kMaxBytes - byte_count
                            : first + static_cast<size_t>(place.offset) * element_size;
  zone_begin_ = data_ - std::min(kZone, static_cast<size_t>(data_ - first));
  zone_end_ = data_ + byte_count + std::min(kZone, static_cast<size_t>(first + kMaxBytes - data_) - byte_count);
  fill_zone(zone_begin_, data_);
  fill_zone(data_ + byte_count, zone_end_);
  ASAN_UNPOISON_MEMORY_REGION(data_, byte_count_);
  reset();
}

Buffer::~Buffer() {
  // Whole granules of 8 bytes.
  std::byte* first = Slots::instance().first(slot_);
  const size_t begin = static_cast<size_t>(data_ - first) / 8 * 8;
  const size_t end = std::min(kMaxBytes, (static_cast<size_t>(data_ - first) + byte_count_ + 7) / 8 * 8);
  ASAN_POISON_MEMORY_REGION(first + begin, end - begin);
  Slots::instance().give_back(slot_);
}

void Buffer::reset() {
  if (byte_count_ > 0) std::memset(data_, static_cast<int>(kPattern), byte_count_);
}

void Buffer::store() { stored_.assign(data_, data_ + byte_count_); }

bool Buffer::is_as_stored() const {
  return stored_.size() == byte_count_ &&
         (byte_count_ == 0 || std::memcmp(stored_.data(), data_, byte_count_) == 0);
}

bool Buffer::intact() const {
  return zone_is_filled(zone_begin_, data_) && zone_is_filled(data_ + byte_count_, zone_end_);
}

}  // namespace mluop::fuzz

// The floating-point environment of a thread: rounding mode, subnormals, exception masks and flags. Operators run
// in the default environment in all threads, so that results do not depend on the caller's environment.
//
// Registers: control and status word of the x87 unit and MXCSR on x86-64, FPCR and FPSR on aarch64. Cost: reading
// takes about a nanosecond, writing several.
#pragma once

#include <fpu_control.h>

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mluop {

class FloatEnvironment {
 public:
  // The environment of the calling thread.
  static FloatEnvironment current() noexcept {
    FloatEnvironment read;
    _FPU_GETCW(read.control_);
#if defined(__x86_64__)
    read.status_ = _mm_getcsr();
    read.x87_flags_ = x87_flags();
#else
    _FPU_GETFPSR(read.status_);
#endif
    return read;
  }

  // Round to nearest even, keep subnormals, mask exceptions; keeps the flags of this environment.
  FloatEnvironment with_default_control() const noexcept {
    FloatEnvironment changed = *this;
    changed.control_ = _FPU_DEFAULT;
#if defined(__x86_64__)
    constexpr unsigned kFlags = 0x3F, kDefaultControl = 0x1F80;
    changed.status_ = (status_ & kFlags) | kDefaultControl;
#endif
    return changed;
  }

  // Makes this the environment of the calling thread. Writes only registers that differ.
  void apply() const noexcept {
    const FloatEnvironment before = current();
#if defined(__x86_64__)
    // Functions of the C library such as lgamma_r() set flags of the x87 unit, which trap unless they are masked.
    if (before.x87_flags_ != x87_flags_) set_x87_flags();
#endif
    if (before.control_ != control_) _FPU_SETCW(control_);
    if (before.status_ == status_) return;
#if defined(__x86_64__)
    _mm_setcsr(status_);
#else
    _FPU_SETFPSR(status_);
#endif
  }

 private:
  FloatEnvironment() = default;

#if defined(__x86_64__)
  static uint16_t x87_flags() noexcept {
    constexpr uint16_t kFlags = 0x3F;
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=am"(status));
    return status & kFlags;
  }

  void set_x87_flags() const noexcept {
    struct {
      uint16_t control, reserved_0, status, reserved_1;
      uint32_t others[5];
    } registers;
    constexpr uint16_t kFlagsAndSummary = 0x80BF;
    __asm__ volatile("fnstenv %0" : "=m"(registers));
    registers.status = static_cast<uint16_t>((registers.status & ~kFlagsAndSummary) | x87_flags_);
    __asm__ volatile("fldenv %0" : : "m"(registers));
  }

  uint16_t x87_flags_ = 0;
#endif
  fpu_control_t control_ = _FPU_DEFAULT;
#if defined(__x86_64__)
  unsigned status_ = 0;
#else
  fpu_fpsr_t status_ = 0;
#endif
};

// Applies an environment until the end of the scope, then restores the previous one, flags included.
class ScopedFloatEnvironment {
 public:
  explicit ScopedFloatEnvironment(const FloatEnvironment& environment) noexcept { environment.apply(); }
  // The default environment.
  ScopedFloatEnvironment() noexcept { before_.with_default_control().apply(); }
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;
  ~ScopedFloatEnvironment() { before_.apply(); }

  const FloatEnvironment& before() const { return before_; }

 private:
  FloatEnvironment before_ = FloatEnvironment::current();
};

}  // namespace mluop

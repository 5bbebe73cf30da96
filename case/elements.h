// The elements of a tensor from the fields of a message, Tensor or Contents of the schema.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "case/model.h"
#include "case/values.h"

namespace mluop::cases {

// Collects the elements of one representation.
class ElementsReader {
 public:
  ElementsReader(const Tensor& tensor, const Place& place) : tensor_(tensor), place_(place) {}

  void resize(int64_t count) {
    const int64_t expected = element_count(tensor_);
    if (count != expected) {
      fail(place_, std::to_string(count) + (count == 1 ? " value" : " values") + ", expected " +
                       std::to_string(expected) + " for shape " + text_of(tensor_.dims));
    }
    bytes_.resize(static_cast<size_t>(count) * element_size(tensor_.dtype));
  }

  void add_number(double number) {
    if (!is_floating(tensor_.dtype)) {
      check_integer(number == std::floor(number) && std::abs(number) <= 0x1p53, std::to_string(number));
    }
    put(bits_of_number(tensor_.dtype, number));
  }

  // Bits of floating-point types, values of integers.
  template <class Integer>
  void add_integer(Integer value) {
    const size_t unused = 64 - 8 * element_size(tensor_.dtype);
    const auto bits = static_cast<uint64_t>(value);
    // The value is that of the low bits: zero-extended, or sign-extended.
    const uint64_t low = bits << unused >> unused;
    const auto extended = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
    check_integer(low == bits || extended == bits, std::to_string(value));
    put(low);
  }

  void add_hexadecimal(std::string_view text) {
    std::string_view digits = text;
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bits, 16);
    const size_t unused = 64 - 8 * element_size(tensor_.dtype);
    if (error != std::errc() || end != digits.end() || bits << unused >> unused != bits) {
      fail(place_, "value " + std::to_string(next_) + " is '" + std::string(text.substr(0, 32)) +
                       "', expected the hexadecimal digits of a " + std::string(dtype_name(tensor_.dtype)));
    }
    put(bits);
  }

  Elements take() {
    Elements elements;
    elements.source = Elements::Source::kInline;
    elements.bytes = std::move(bytes_);
    elements.place = place_;
    return elements;
  }

 private:
  void check_integer(bool valid, const std::string& value) const {
    if (!valid) {
      fail(place_, "value " + std::to_string(next_) + " is " + value + ", which is not a valid " +
                       std::string(dtype_name(tensor_.dtype)));
    }
  }
  void put(uint64_t bits) { put_bits(bytes_.data(), tensor_.dtype, next_++, bits); }

  const Tensor& tensor_;
  Place place_;
  Bytes bytes_;
  size_t next_ = 0;
};

}  // namespace mluop::cases

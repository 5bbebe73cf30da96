// Reads the elements of a tensor from the fields of a message, Tensor or Contents of the schema.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "case/model.h"
#include "case/values.h"

namespace mluop::cases {

// Reads the values of one field.
class ElementsReader {
 public:
  ElementsReader(const Tensor& tensor, const Place& place) : tensor_(tensor), place_(place) {}

  template <class Values>
  Elements read(const Values& values) {
    const int64_t count = values.size(), expected = number_count(tensor_);
    if (count != expected) {
      fail(place_, std::to_string(count) + (count == 1 ? " value" : " values") + ", expected " +
                       std::to_string(expected) + " for shape " + text_of(tensor_.dims) +
                       (is_complex(tensor_.dtype) ? " of pairs" : ""));
    }
    Elements elements{.source = Elements::Source::kInline, .place = place_};
    elements.bytes.resize(byte_count(tensor_));
    for (; index_ < static_cast<size_t>(count); ++index_) {
      put_bits(elements.bytes.data(), tensor_.dtype, index_, bits_of(values[static_cast<int>(index_)]));
    }
    return elements;
  }

 private:
  uint64_t bits_of(double number) const {
    if (!is_floating(tensor_.dtype)) {
      check_integer(number == std::floor(number) && std::abs(number) <= 0x1p53, std::to_string(number));
    }
    return bits_of_number(tensor_.dtype, number);
  }

  // Bits of floating-point types, values of integers.
  template <std::integral Integer>
  uint64_t bits_of(Integer value) const {
    const auto bits = static_cast<uint64_t>(value);
    // The low bits hold the value: zero-extended or sign-extended.
    const auto extended = static_cast<uint64_t>(static_cast<int64_t>(bits << unused()) >> unused());
    check_integer(low(bits) == bits || extended == bits, std::to_string(value));
    return low(bits);
  }

  uint64_t bits_of(const std::string& text) const {
    std::string_view digits = text;
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bits, 16);
    if (error != std::errc() || end != digits.end() || low(bits) != bits) {
      fail_value('\'' + text.substr(0, 32) + "', expected the hexadecimal digits of a ");
    }
    return bits;
  }

  void check_integer(bool valid, const std::string& value) const {
    if (!valid) fail_value(value + ", which is not a valid ");
  }
  [[noreturn]] void fail_value(const std::string& text) const {
    fail(place_,
         "value " + std::to_string(index_) + " is " + text + std::string(dtype_name(part_type(tensor_.dtype))));
  }

  // Number of bits of a uint64 that a number does not use.
  size_t unused() const { return 64 - 8 * element_size(part_type(tensor_.dtype)); }
  uint64_t low(uint64_t bits) const { return bits << unused() >> unused(); }

  const Tensor& tensor_;
  Place place_;
  size_t index_ = 0;
};

}  // namespace mluop::cases

#include "support/guarded_call.h"

#include <algorithm>
#include <cstring>

namespace mluop::test {

bool GuardedCall::intact() const {
  const std::byte* original = original_inputs_.data();
  for (const GuardedMemory* input : inputs_) {
    const size_t bytes = input->byte_count();
    if (bytes != 0 && std::memcmp(input->bytes(), original, bytes) != 0) return false;
    original += bytes;
  }
  return guards_intact();
}

bool GuardedCall::guards_intact() const {
  return std::all_of(all_.begin(), all_.end(), [](const GuardedMemory* buffer) { return buffer->intact(); });
}

void GuardedCall::set_buffers(const Buffers& inputs, const Buffers& outputs, const Buffers& workspace) {
  inputs_ = inputs;
  inputs_and_outputs_ = inputs;
  inputs_and_outputs_.insert(inputs_and_outputs_.end(), outputs.begin(), outputs.end());
  all_ = inputs_and_outputs_;
  all_.insert(all_.end(), workspace.begin(), workspace.end());
  original_inputs_ = bytes_of(inputs);
}

std::vector<std::byte> GuardedCall::bytes_of(const Buffers& buffers) {
  size_t count = 0;
  for (const GuardedMemory* buffer : buffers) count += buffer->byte_count();
  std::vector<std::byte> bytes;
  bytes.reserve(count);
  for (const GuardedMemory* buffer : buffers) {
    bytes.insert(bytes.end(), buffer->bytes(), buffer->bytes() + buffer->byte_count());
  }
  return bytes;
}

}  // namespace mluop::test

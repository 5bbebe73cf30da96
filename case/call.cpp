#include "case/call.h"

#include <cstring>
#include <filesystem>

#include "case/data.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

// Initial contents of an output that the case does not initialize. An output that the call must write entirely is
// filled with a value that never occurs in a result, so that missing elements are detected.
Bytes unspecified(const Tensor& tensor, Role role) {
  constexpr std::byte kNaN{0xFF}, kUnlikely{0xA5};
  const bool kept = role == Role::kKeptOutput;
  return Bytes(byte_count(tensor), kept ? std::byte{0} : is_floating(tensor.dtype) ? kNaN : kUnlikely);
}

}  // namespace

void round_sums(Operand& output) {
  for (size_t i = 0; i < output.sums.size(); ++i) {
    put_bits(output.data, output.dtype, i, bits_of_number(output.dtype, output.sums[i]));
  }
}

LoadedCase::LoadedCase(const Case& the_case)
    : case_(the_case), op_(operator_of(the_case.op_name, the_case.place)), bound_(bind(the_case, op_)) {
  const std::string folder = std::filesystem::path(the_case.file).parent_path().string();
  for (size_t i = 0; i < bound_.size(); ++i) {
    const auto& [tensor, before, after] = bound_[i];
    before_.emplace_back();
    after_.emplace_back();
    if (tensor->is_null()) continue;
    before_[i] = before != nullptr ? load(*tensor, *before, folder) : unspecified(*tensor, op_.tensors[i].role);
    if (after != nullptr) after_[i] = load(*tensor, *after, folder);
  }
}

Run::Run(const LoadedCase& loaded, mluOpOmpAlgorithm_t algorithm) : loaded_(loaded), handle_(algorithm) {
  arguments_.handle = handle_;
  arguments_.parameters = &loaded.case_.parameters;
  for (size_t i = 0; i < loaded.bound_.size(); ++i) {
    const Tensor& tensor = *loaded.bound_[i].tensor;
    Operand operand{.dtype = tensor.dtype, .layout = tensor.layout, .dims = tensor.dims};
    std::optional<Strided>& strided = strided_.emplace_back();
    if (!tensor.is_null()) {
      descriptors_.push_back(descriptor_of(tensor));
      operand.desc = descriptors_.back();
      const Bytes& before = loaded.before_[i];
      operand.data = buffers_.emplace_back(before.size()).data();
      if (!before.empty()) std::memcpy(operand.data, before.data(), before.size());
      if (is_strided(tensor)) {
        const StridedMemory memory(tensor, loaded.op_.tensors[i].is_written());
        strided.emplace(Strided{memory, Buffer(memory.bytes())});
      }
    }
    arguments_.tensors.push_back(std::move(operand));
  }
  passed_ = arguments_;
  for (size_t i = 0; i < strided_.size(); ++i) {
    if (strided_[i]) passed_[i].data = strided_[i]->buffer.data();
  }
}

void Run::call() {
  if (loaded_.op_.query != nullptr) {
    require(loaded_.op_.query(passed_, &passed_.workspace_size));
    workspace_ = std::make_unique<Buffer>(passed_.workspace_size);
    passed_.workspace = workspace_->data();
  }
  for (size_t i = 0; i < strided_.size(); ++i) {
    if (strided_[i]) strided_[i]->memory.scatter(arguments_[i].data, passed_[i].data);
  }
  repeat();
  for (size_t i = 0; i < strided_.size(); ++i) {
    if (!strided_[i]) continue;
    const StridedMemory& memory = strided_[i]->memory;
    if (!memory.has_intact_gaps(passed_[i].data)) {
      throw CallFailed("the call changed memory between the elements of " + loaded_.op_.tensors[i].id);
    }
    memory.gather(passed_[i].data, arguments_[i].data);
  }
}

void Run::expect() {
  loaded_.op_.expect(arguments_);
  for (Operand& output : arguments_.tensors) {
    round_sums(output);
    output.sums = {};
  }
}

void Run::repeat() { require(loaded_.op_.run(passed_)); }

std::vector<Bytes> oracle_results(const LoadedCase& loaded) {
  Run(loaded, MLUOP_OMP_ALGORITHM_NATIVE).call();
  Run oracle(loaded, MLUOP_OMP_ALGORITHM_NATIVE);
  oracle.expect();
  std::vector<Bytes> results(loaded.bound().size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!loaded.op().tensors[i].is_written() || oracle[i].data == nullptr) continue;
    results[i].assign(oracle[i].data, oracle[i].data + oracle[i].bytes());
  }
  return results;
}

}  // namespace mluop::cases

#include "fuzz/operator_fuzzer.h"

#include <algorithm>
#include <utility>

namespace mluop::fuzz {
namespace {

constexpr size_t kUnwritten = 0xA5A5A5A5;

}  // namespace

OperatorFuzzer::OperatorFuzzer(Decoder& bytes, std::string name, std::initializer_list<mluOpStatus_t> statuses)
    : decoder_(bytes),
      settings_(decode_settings(bytes)),
      name_(std::move(name)),
      statuses_(statuses),
      workspace_place_(decode_place(bytes)) {
  statuses_.insert(statuses_.end(), {MLUOP_STATUS_SUCCESS, MLUOP_STATUS_BAD_PARAM, MLUOP_STATUS_NOT_SUPPORTED,
                                     MLUOP_STATUS_ALLOC_FAILED});
}

Tensor& OperatorFuzzer::add(const TensorFormat& format, bool is_output) {
  return tensors_.emplace_back(format, is_output, decode_place(decoder_));
}

std::optional<mluOpStatus_t> OperatorFuzzer::query(mluOpHandle_t, size_t*) { return std::nullopt; }

void OperatorFuzzer::run() {
  for (Tensor& tensor : tensors_) tensor.buffer().store();
  const SettingsHandle handle(settings_);
  make_workspace(handle.get());
  if (!decoder_.used_up()) run_with_faults(handle.get());
  if (!run_valid(handle.get(), settings_)) return;
  check_result();
  if (settings_.is_native()) {
    run_again(decode_other_team(decoder_, settings_));
  } else if (device_is_deterministic() && decoder_.one_in(4)) {
    run_again(settings_);
  }
}

void OperatorFuzzer::make_workspace(mluOpHandle_t handle) {
  size_t bytes = kUnwritten;
  const auto status = query(handle, &bytes);
  workspace_.reset();
  if (!status || *status != MLUOP_STATUS_SUCCESS) {
    check(!status || *status == status_of_valid_call(), "the query of a valid call returns ",
          mluOpGetErrorString(status.value_or(MLUOP_STATUS_SUCCESS)));
    check(bytes == kUnwritten, "a failing query writes its output");
    bytes = 0;
  }
  if (status) check(query(handle, nullptr) == MLUOP_STATUS_BAD_PARAM, "a query without output does not fail");
  workspace_.emplace(bytes, 1, workspace_place_);
  workspace_size_ = bytes;
  workspace_pointer_ = bytes == 0 ? nullptr : workspace_->data();
}

void OperatorFuzzer::run_with_faults(mluOpHandle_t handle) {
  // One change of descriptors or scalars, and one of pointers: several could result in another valid call.
  const bool changes_desc = decoder_.flag();
  const Fault first =
      changes_desc ? tensors_[decoder_.index(tensors_.size())].change_desc(decoder_) : apply_own_fault();
  const Fault fault = decoder_.one_in(3) ? std::max(first, change_pointer()) : first;
  if (fault == Fault::kNone) {
    undo_faults();
    return;
  }
  for (Tensor& tensor : tensors_) tensor.buffer().store();
  size_t bytes = kUnwritten;
  const auto query_status = query(null_handle_ ? nullptr : handle, &bytes);
  const mluOpStatus_t status = call(null_handle_ ? nullptr : handle);
  if (query_status && *query_status != MLUOP_STATUS_SUCCESS) {
    check(bytes == kUnwritten, "a failing query writes its output");
    check(status != MLUOP_STATUS_SUCCESS, "the query fails and the operator succeeds");
  } else if (query_status) {
    const bool invalid = changes_desc && first == Fault::kHarmful;
    check(!invalid || !query_checks_descs(), "the query of an invalid call succeeds");
  }
  check(fault != Fault::kHarmful || status != MLUOP_STATUS_SUCCESS, "an invalid call succeeds");
  if (status == MLUOP_STATUS_SUCCESS) check_result();
  undo_faults();
  for (Tensor& tensor : tensors_) {
    if (!tensor.is_output()) tensor.buffer().store();
  }
}

Fault OperatorFuzzer::change_pointer() {
  const size_t choice = decoder_.index(tensors_.size() + 2);
  if (choice == tensors_.size()) {
    null_handle_ = true;
    return Fault::kHarmful;
  }
  if (choice > tensors_.size()) return change_workspace();
  Tensor& tensor = tensors_[choice];
  if (!tensor.is_output() || decoder_.flag()) {
    tensor.set_pointer(nullptr);
    const bool may_be_null = tensor.count() == 0 || (!tensor.is_output() && reads_nothing());
    return may_be_null ? Fault::kHarmless : Fault::kHarmful;
  }
  // An output that overlaps another tensor.
  Tensor& other = tensors_[decoder_.index(tensors_.size())];
  const bool is_unread = reads_nothing() && !other.is_output();
  if (&other == &tensor || other.count() == 0 || tensor.count() == 0 || is_unread) return Fault::kNone;
  const size_t element = tensor.buffer().byte_count() / tensor.count();
  const size_t offset = decoder_.index(other.buffer().byte_count()) / element * element;
  tensor.set_pointer(other.pointer() + offset);
  return Fault::kHarmful;
}

Fault OperatorFuzzer::change_workspace() {
  const bool needed = workspace_size_ > 0;
  switch (decoder_.number(0, 3)) {
    case 0: workspace_pointer_ = nullptr; return needed ? Fault::kHarmful : Fault::kNone;
    case 1: {
      if (!needed) return Fault::kNone;
      workspace_size_ = decoder_.index(workspace_size_);
      return Fault::kHarmful;
    }
    case 2: {
      if (!needed) return Fault::kNone;
      workspace_size_ = static_cast<size_t>(decoder_.any_number());
      return workspace_size_ < workspace_->byte_count() ? Fault::kHarmful : Fault::kHarmless;
    }
    default: {
      Tensor& tensor = tensors_[decoder_.index(tensors_.size())];
      if (!needed || tensor.count() == 0) return Fault::kNone;
      workspace_pointer_ = tensor.buffer().data() + decoder_.index(tensor.buffer().byte_count());
      return Fault::kHarmful;
    }
  }
}

void OperatorFuzzer::undo_faults() {
  for (Tensor& tensor : tensors_) tensor.restore();
  undo_own_fault();
  workspace_size_ = workspace_->byte_count();
  workspace_pointer_ = workspace_size_ == 0 ? nullptr : workspace_->data();
  null_handle_ = false;
}

mluOpStatus_t OperatorFuzzer::call(mluOpHandle_t handle) {
  for (Tensor& tensor : tensors_) {
    if (tensor.is_output()) tensor.buffer().reset();
  }
  const mluOpStatus_t status = execute(handle);
  const char* text = mluOpGetErrorString(status);
  check(std::count(statuses_.begin(), statuses_.end(), status) > 0, "undocumented status ", text);
  for (const Tensor& tensor : tensors_) {
    check(tensor.buffer().intact(), "bytes next to a tensor have changed");
    check(tensor.is_output() || tensor.buffer().is_as_stored(), "an input has changed");
    check(!tensor.is_output() || status == MLUOP_STATUS_SUCCESS || tensor.buffer().is_reset(),
          "a failing call has changed an output");
  }
  check(workspace_->intact(), "bytes next to the workspace have changed");
  if (status != MLUOP_STATUS_SUCCESS) {
    check(std::string(mluOpOmpGetLastError()).rfind("[" + name_ + "] ", 0) == 0, "no message of ", name_);
  }
  return status;
}

bool OperatorFuzzer::run_valid(mluOpHandle_t handle, const Settings& with) {
  const mluOpStatus_t status = call(handle);
  if (status == MLUOP_STATUS_ALLOC_FAILED && with.has_small_nram()) return false;
  check(status == status_of_valid_call(), "a valid call returns ", mluOpGetErrorString(status));
  return status == MLUOP_STATUS_SUCCESS;
}

void OperatorFuzzer::run_again(const Settings& with) {
  std::vector<std::vector<std::byte>> first;
  for (const Tensor& tensor : tensors_) {
    if (tensor.is_output()) first.push_back(tensor.contents());
  }
  const SettingsHandle handle(with);
  make_workspace(handle.get());
  if (!run_valid(handle.get(), with)) return;
  size_t i = 0;
  bool identical = true;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.is_output()) continue;
    const std::vector<std::byte>& copy = first[i++];
    if (tensor.is_identical(copy)) continue;
    check(tensor.holds(copy), "the bits of two runs differ");
    identical = false;
  }
  // NaN may differ. If the outputs are identical, the result of the oracle is known.
  if (!identical) check_result();
}

int64_t decode_max_count(Decoder& decoder) { return decoder.one_in(16) ? 1 << 13 : 1 << 9; }

void limit_product(std::initializer_list<int64_t*> factors, int64_t limit) {
  const auto product = [&] {
    int64_t result = 1;
    for (const int64_t* factor : factors) result *= *factor;
    return result;
  };
  while (product() > limit) {
    int64_t* largest = *std::max_element(factors.begin(), factors.end(),
                                         [](const int64_t* a, const int64_t* b) { return *a < *b; });
    *largest = (*largest + 1) / 2;
  }
}

}  // namespace mluop::fuzz

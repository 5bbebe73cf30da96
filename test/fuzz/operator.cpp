// Fuzzer of an operator: the environment variable MLUOP_FUZZED_OPERATOR, as its description names it. The bytes
// choose settings, data type, sizes, values and up to three changes of the arguments, for which it checks
//   - that the status is documented, and that a failing call states its function and changes no tensor,
//   - that a call with an invalid descriptor or pointer fails,
//   - that any call that succeeds has the result of the oracle and leaves its inputs,
// then for the unchanged arguments success, the oracle's result and, in the native algorithm, the same bits with
// another number of tasks and another NRAM.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "case/data.h"
#include "case/operators.h"
#include "case/values.h"
#include "fuzz/check.h"
#include "fuzz/fuzzer.h"
#include "fuzz/settings.h"
#include "fuzz/tensor.h"
#include "support/expected.h"
#include "support/values.h"

namespace mluop::fuzz {
namespace {

using cases::Case;
using cases::Operator;
using Bytes = std::vector<std::byte>;

const Operator& op() {
  static const char* const name = std::getenv("MLUOP_FUZZED_OPERATOR");
  static const Operator& found = cases::operator_of(name != nullptr ? name : "", {});
  return found;
}

// Mostly few bytes, so that an execution is fast; otherwise enough for several tasks of the native algorithm, or
// for tasks that share a row of the output. Products of matrices would take too long.
int64_t decode_max_bytes(Decoder& decoder) {
  constexpr int64_t kSmall = 1 << 12, kTasks = 1 << 16, kSharedRows = 1 << 19;
  if (!decoder.one_in(16)) return kSmall;
  return op().terms == nullptr && decoder.one_in(4) ? kSharedRows : kTasks;
}

Case decode_case(Decoder& decoder, bool is_native, bool is_empty) {
  const auto number = [&](int64_t low, int64_t high) { return decoder.number(low, high); };
  const mluOpDataType_t dtype = op().dtypes[decoder.index(op().dtypes.size())];
  cases::Recipe recipe = draw_recipe(op(), dtype, number, decode_max_bytes(decoder));
  const cases::SizeRule& size = op().sizes[decoder.index(op().sizes.size())];
  if (is_empty && size.is_extent) recipe.sizes[size.name] = 0;
  // A sum in double does not show whether a sum in fp32 overflows.
  const bool has_bits = is_native ? op().terms == nullptr || op().expect_bits != nullptr
                                  : op().terms == nullptr && !op().atomic_sums;
  const auto values = static_cast<test::Values>(decoder.number(0, has_bits ? 5 : 4));
  return with_values(op().make(recipe), values, recipe.seed);
}

class Fuzzer {
 public:
  explicit Fuzzer(Decoder& decoder)
      : decoder_(decoder),
        settings_(decode_settings(decoder)),
        is_empty_(decoder.one_in(16)),
        made_(decode_case(decoder, settings_.is_native(), is_empty_)),
        parameters_(made_.parameters),
        workspace_place_(decode_place(decoder)) {
    const std::vector<cases::BoundTensor> bound = bind(made_, op());
    for (size_t i = 0; i < bound.size(); ++i) {
      const cases::Tensor& tensor = *bound[i].tensor;
      const bool takes_strides = op().strides == cases::AllowedStrides::kAny;
      Buffer& buffer =
          tensors_.emplace_back(op().tensors[i], tensor, takes_strides, decode_place(decoder)).buffer();
      if (bound[i].before == nullptr) continue;
      const Bytes contents = load(tensor, *bound[i].before, "");
      std::copy(contents.begin(), contents.end(), buffer.data());
    }
    arguments_.parameters = &parameters_;
  }

  void run();

 private:
  // Queries the workspace of the unchanged arguments.
  void make_workspace(mluOpHandle_t handle);
  void run_changed(mluOpHandle_t handle);
  // The following functions change the arguments.
  Fault change_pointer();
  Fault change_workspace();
  void change_parameter();
  void change_element();
  void undo_changes();
  // Calls the operator with the current arguments; nullopt if they cannot be passed.
  std::optional<mluOpStatus_t> call(mluOpHandle_t handle);
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes);
  const cases::Arguments& arguments(mluOpHandle_t handle);
  bool run_valid(mluOpHandle_t handle, const Settings& with);
  void run_again(const Settings& with);
  void store();
  void check_result();
  // Whether the call reads no input under any change of the descriptors and the data.
  bool may_be_null(const Tensor& tensor) const;

  Decoder& decoder_;
  Settings settings_;
  bool is_empty_;  // an extent may be 0; some operators reject it
  Case made_;
  cases::Parameters parameters_;
  std::deque<Tensor> tensors_;
  std::deque<Bytes> before_;  // the contents before the current call
  Place workspace_place_;
  std::optional<Buffer> workspace_;
  cases::Arguments arguments_;
  std::byte* workspace_pointer_ = nullptr;
  size_t workspace_size_ = 0;
  bool null_handle_ = false;
  std::optional<std::pair<size_t, Bytes>> replaced_;  // a tensor with a changed element, and its contents before
};

const cases::Arguments& Fuzzer::arguments(mluOpHandle_t handle) {
  arguments_.handle = null_handle_ ? nullptr : handle;
  arguments_.tensors.clear();
  for (const Tensor& tensor : tensors_) arguments_.tensors.push_back(tensor.operand());
  arguments_.workspace = workspace_pointer_;
  arguments_.workspace_size = workspace_size_;
  return arguments_;
}

std::optional<mluOpStatus_t> Fuzzer::query(mluOpHandle_t handle, size_t* bytes) {
  try {
    return op().query(arguments(handle), bytes);
  } catch (const cases::Problem&) {
    return std::nullopt;
  }
}

void Fuzzer::store() {
  before_.clear();
  for (Tensor& tensor : tensors_) {
    tensor.buffer().store();
    before_.push_back(tensor.contents());
  }
}

std::optional<mluOpStatus_t> Fuzzer::call(mluOpHandle_t handle) {
  for (Tensor& tensor : tensors_) {
    if (!tensor.rule().is_read()) tensor.buffer().reset();
  }
  store();
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  cases::Arguments passed = arguments(handle);
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].scatter(passed[i]);
  try {
    status = op().run(passed);
  } catch (const cases::Problem&) {
    return std::nullopt;
  }
  constexpr mluOpStatus_t kDocumented[] = {MLUOP_STATUS_SUCCESS, MLUOP_STATUS_BAD_PARAM,
                                           MLUOP_STATUS_NOT_SUPPORTED, MLUOP_STATUS_ALLOC_FAILED,
                                           MLUOP_STATUS_ARCH_MISMATCH};
  check(std::count(std::begin(kDocumented), std::end(kDocumented), status) > 0, "undocumented status ",
        mluOpGetErrorString(status));
  for (Tensor& tensor : tensors_) {
    tensor.gather();
    check(tensor.buffer().intact(), "bytes next to a tensor have changed");
    const bool may_change = tensor.rule().is_written() && status == MLUOP_STATUS_SUCCESS;
    check(may_change || tensor.buffer().is_as_stored(), tensor.rule().id, " has changed");
  }
  check(!workspace_ || workspace_->intact(), "bytes next to the workspace have changed");
  if (status != MLUOP_STATUS_SUCCESS) {
    check(std::string(mluOpOmpGetLastError()).starts_with("[mluOp"), "no message of a function");
  }
  return status;
}

// Compares with the oracle for the contents of the buffers before the call, for any change of the pointers.
void Fuzzer::check_result() {
  cases::Arguments found = arguments(nullptr), before = found;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    found[i].data = tensors_[i].buffer().data();
    before[i].data = before_[i].data();
  }
  const std::string difference = test::Expected(op(), before).difference(found, settings_.algorithm);
  check(difference.empty(), difference);
}

void Fuzzer::make_workspace(mluOpHandle_t handle) {
  workspace_.reset();
  workspace_size_ = 0;
  workspace_pointer_ = nullptr;
  if (op().query == nullptr) return;
  constexpr size_t kUnwritten = 0xA5A5A5A5;
  size_t bytes = kUnwritten;
  if (query(handle, &bytes) != MLUOP_STATUS_SUCCESS) {
    check(bytes == kUnwritten, "a failing query writes its output");
    bytes = 0;
  }
  check(query(handle, nullptr) == MLUOP_STATUS_BAD_PARAM, "a query without output does not fail");
  workspace_.emplace(bytes, 1, workspace_place_);
  workspace_size_ = bytes;
  workspace_pointer_ = bytes == 0 ? nullptr : workspace_->data();
}

void Fuzzer::run() {
  const SettingsHandle handle(settings_);
  make_workspace(handle.get());
  if (!decoder_.used_up()) run_changed(handle.get());
  if (!run_valid(handle.get(), settings_)) return;
  check_result();
  if (settings_.is_native()) {
    run_again(decode_other_team(decoder_, settings_));
  } else if (!op().atomic_sums && decoder_.one_in(4)) {
    run_again(settings_);
  }
}

// One change of descriptors, parameters or data, and one of pointers: more changes could result in another valid
// call.
void Fuzzer::run_changed(mluOpHandle_t handle) {
  Fault fault = Fault::kHarmless;
  const int64_t change = decoder_.number(0, 2);
  switch (change) {
    case 0: fault = tensors_[decoder_.index(tensors_.size())].change_desc(decoder_); break;
    case 1: change_parameter(); break;
    default: change_element(); break;
  }
  // Another parameter may need no workspace.
  if (change != 1 && decoder_.one_in(3)) fault = std::max(fault, change_pointer());
  const std::optional<mluOpStatus_t> status = call(handle);
  check(fault != Fault::kHarmful || status != MLUOP_STATUS_SUCCESS, "an invalid call succeeds");
  if (status == MLUOP_STATUS_SUCCESS) check_result();
  if (op().query != nullptr) {
    constexpr size_t kUnwritten = 0xA5A5A5A5;
    size_t bytes = kUnwritten;
    const std::optional<mluOpStatus_t> query_status = query(handle, &bytes);
    check(query_status == MLUOP_STATUS_SUCCESS || bytes == kUnwritten, "a failing query writes its output");
    check(query_status == MLUOP_STATUS_SUCCESS || status != MLUOP_STATUS_SUCCESS,
          "the query fails and the operator succeeds");
  }
  undo_changes();
}

void Fuzzer::change_parameter() {
  if (parameters_.all.empty()) return;
  cases::Parameter& parameter = parameters_.all[decoder_.index(parameters_.all.size())];
  int64_t* number = &parameter.integer;
  if (parameter.kind == cases::Parameter::Kind::kReal) {
    constexpr double kReals[] = {0, -1, 1, 0.5, 1e30, HUGE_VAL, -HUGE_VAL, NAN, 0x1p-140};
    parameter.real = decoder_.pick(kReals);
    return;
  }
  if (parameter.kind == cases::Parameter::Kind::kList) {
    if (parameter.list.empty()) return;
    number = &parameter.list[decoder_.index(parameter.list.size())];
  }
  const int64_t changed = decoder_.flag() ? decoder_.any_number() : *number + decoder_.number(-2, 2);
  // Most parameters are of type int; the rules of the other parameters are the same.
  *number = static_cast<int32_t>(changed);
}

// Changes an element of an integer tensor, or of an input whose values have rules, such as the size of a voxel.
void Fuzzer::change_element() {
  const size_t at = decoder_.index(tensors_.size());
  Tensor& tensor = tensors_[at];
  const cases::Operand operand = tensor.operand();
  if (!tensor.rule().is_read() || tensor.count() == 0) return;
  replaced_.emplace(at, tensor.contents());
  const size_t i = decoder_.index(tensor.numbers());
  double value = 0;
  if (cases::is_floating(operand.dtype)) {
    constexpr double kValues[] = {0, -1, 1, NAN, HUGE_VAL, -HUGE_VAL, 0x1p-140, 1e30};
    value = decoder_.pick(kValues);
    // A sum in double does not show whether a sum in fp32 overflows.
    if (op().terms != nullptr && value == 1e30) value = 2;
  } else {
    const double present = cases::number_at(operand.data, operand.dtype, i);
    const int64_t any = decoder_.flag() ? decoder_.any_number() : decoder_.number(-2, 80);
    value = decoder_.flag() ? static_cast<double>(static_cast<int32_t>(any))
                            : present + static_cast<double>(decoder_.number(-1, 1));
  }
  cases::put_bits(operand.data, operand.dtype, i, cases::bits_of_number(operand.dtype, value));
}

bool Fuzzer::may_be_null(const Tensor& tensor) const {
  // A call without outputs, or whose outputs follow from the shapes, reads no data.
  const auto is_empty = [](const Tensor& other) { return other.count() == 0; };
  return tensor.count() == 0 ||
         (!tensor.rule().is_written() && std::any_of(tensors_.begin(), tensors_.end(), is_empty));
}

Fault Fuzzer::change_pointer() {
  const size_t choice = decoder_.index(tensors_.size() + 2);
  if (choice == tensors_.size()) {
    null_handle_ = true;
    return Fault::kHarmful;
  }
  if (choice > tensors_.size()) return change_workspace();
  Tensor& tensor = tensors_[choice];
  if (!tensor.rule().is_written() || decoder_.flag()) {
    // An optional tensor without descriptor and data is missing.
    if (tensor.rule().is_optional && tensor.operand().desc == nullptr) return Fault::kHarmful;
    tensor.set_pointer(nullptr);
    return may_be_null(tensor) ? Fault::kHarmless : Fault::kHarmful;
  }
  // An output that overlaps another tensor.
  const Tensor& other = tensors_[decoder_.index(tensors_.size())];
  if (&other == &tensor || other.count() == 0 || tensor.count() == 0 || may_be_null(other))
    return Fault::kHarmless;
  // The call gets other memory, or may be valid.
  if (other.has_strides() || tensor.has_strides() || op().in_place) return Fault::kHarmless;
  const size_t element = tensor.buffer().byte_count() / tensor.count();
  const size_t offset = decoder_.index(other.buffer().byte_count()) / element * element;
  tensor.set_pointer(other.pointer() + offset);
  return Fault::kHarmful;
}

Fault Fuzzer::change_workspace() {
  if (workspace_size_ == 0) return Fault::kHarmless;
  switch (decoder_.number(0, 3)) {
    case 0: workspace_pointer_ = nullptr; return Fault::kHarmful;
    case 1: workspace_size_ = decoder_.index(workspace_size_); return Fault::kHarmful;
    case 2:
      workspace_size_ = static_cast<size_t>(decoder_.any_number());
      return workspace_size_ < workspace_->byte_count() ? Fault::kHarmful : Fault::kHarmless;
    default: {
      const Tensor& tensor = tensors_[decoder_.index(tensors_.size())];
      if (tensor.count() == 0) return Fault::kHarmless;
      workspace_pointer_ = tensor.buffer().data() + decoder_.index(tensor.buffer().byte_count());
      return Fault::kHarmful;
    }
  }
}

void Fuzzer::undo_changes() {
  parameters_ = made_.parameters;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i].restore();
    // An input that the call writes.
    if (tensors_[i].rule().is_read()) std::copy(before_[i].begin(), before_[i].end(), tensors_[i].buffer().data());
  }
  if (replaced_) {
    const auto& [at, contents] = *replaced_;
    std::copy(contents.begin(), contents.end(), tensors_[at].buffer().data());
    replaced_.reset();
  }
  workspace_size_ = workspace_ ? workspace_->byte_count() : 0;
  workspace_pointer_ = workspace_size_ == 0 ? nullptr : workspace_->data();
  null_handle_ = false;
}

bool Fuzzer::run_valid(mluOpHandle_t handle, const Settings& with) {
  const std::optional<mluOpStatus_t> status = call(handle);
  if (status == MLUOP_STATUS_ALLOC_FAILED && with.has_small_nram()) return false;
  if (status == MLUOP_STATUS_ARCH_MISMATCH && with.is_200_series()) return false;
  check(status == MLUOP_STATUS_SUCCESS || is_empty_, "a valid call fails");
  return status == MLUOP_STATUS_SUCCESS;
}

void Fuzzer::run_again(const Settings& with) {
  std::vector<Bytes> first;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    first.push_back(tensors_[i].contents());
    if (tensors_[i].rule().is_read()) std::copy(before_[i].begin(), before_[i].end(), tensors_[i].buffer().data());
  }
  const SettingsHandle handle(with);
  make_workspace(handle.get());
  if (!run_valid(handle.get(), with)) return;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    check(tensors_[i].holds(first[i]), "the bits of two runs differ in ", tensors_[i].rule().id);
  }
}

}  // namespace

void fuzz_one(Decoder& decoder) { Fuzzer(decoder).run(); }

}  // namespace mluop::fuzz

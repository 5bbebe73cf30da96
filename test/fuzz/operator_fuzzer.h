// Base of the fuzzers of operators. A derived class decodes a valid call; this class checks
//   - the call with up to three faults: the status is documented, a harmful fault fails, and a failure changes
//     neither inputs nor outputs,
//   - the valid call: success, the result of the oracle, unchanged inputs,
//   - in the native algorithm: the same bits with another number of tasks, and another NRAM.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/settings.h"
#include "fuzz/tensor.h"

namespace mluop::fuzz {

class OperatorFuzzer {
 public:
  OperatorFuzzer(const OperatorFuzzer&) = delete;
  OperatorFuzzer& operator=(const OperatorFuzzer&) = delete;

  void run();

 protected:
  // `name` is the function that execute() calls, `statuses` what its documentation lists besides SUCCESS.
  OperatorFuzzer(Decoder& bytes, std::string name, std::initializer_list<mluOpStatus_t> statuses);
  virtual ~OperatorFuzzer() = default;

  // The tensors in the order of the parameters.
  Tensor& input(const TensorFormat& format) { return add(format, false); }
  Tensor& output(const TensorFormat& format) { return add(format, true); }

  // The operator with the present arguments, and its workspace query: nullopt without one.
  virtual mluOpStatus_t execute(mluOpHandle_t handle) = 0;
  virtual std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes);
  // The query checks the descriptors of all tensors.
  virtual bool query_checks_descs() const { return true; }
  // The status of the valid call, which has enough NRAM.
  virtual mluOpStatus_t status_of_valid_call() const { return MLUOP_STATUS_SUCCESS; }
  // The device algorithm returns the same bits in every run; the native one does in any case.
  virtual bool device_is_deterministic() const { return true; }
  // The valid call reads no input.
  virtual bool reads_nothing() const { return false; }
  // Changes an argument that is no tensor, or the data of an input. undo_own_fault() follows.
  virtual Fault apply_own_fault() { return Fault::kNone; }
  virtual void undo_own_fault() {}
  // Compares the outputs with the oracle; the result depends on the data of the tensors alone.
  virtual void check_result() = 0;

  Decoder& decoder() { return decoder_; }
  const Settings& settings() const { return settings_; }
  std::byte* workspace() const { return workspace_pointer_; }
  size_t workspace_size() const { return workspace_size_; }

 private:
  Tensor& add(const TensorFormat& format, bool is_output);
  // Allocates the workspace that the query returns for the handle.
  void make_workspace(mluOpHandle_t handle);
  void run_with_faults(mluOpHandle_t handle);
  Fault change_pointer();
  Fault change_workspace();
  void undo_faults();
  mluOpStatus_t call(mluOpHandle_t handle);
  // Runs the valid call; returns whether it succeeds.
  bool run_valid(mluOpHandle_t handle, const Settings& with);
  // Runs the valid call once more and compares the outputs with the present ones.
  void run_again(const Settings& with);

  Decoder& decoder_;
  Settings settings_;
  std::string name_;
  std::vector<mluOpStatus_t> statuses_;
  std::deque<Tensor> tensors_;
  Place workspace_place_;
  std::optional<Buffer> workspace_;
  std::byte* workspace_pointer_ = nullptr;
  size_t workspace_size_ = 0;
  bool null_handle_ = false;
};

// The largest number of elements of a tensor: mostly few, so that an execution is fast, else enough for several
// tasks of the native algorithm.
int64_t decode_max_count(Decoder& decoder);

// The product of the numbers that the pointers name, reduced until it is at most `limit`: the largest is halved.
void limit_product(std::initializer_list<int64_t*> factors, int64_t limit);

}  // namespace mluop::fuzz

// Argument checks: a flat list of rules, one a line, joined by &&. The first rule that does not hold logs a
// message that names the parameter, what was found and what was expected, and sets the status.
//
//   Checks check("mluOpExample");
//   if (!(check.handle(handle) &&
//         check.tensor("input", input_desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {n, 3}) &&
//         check.rule(n > 0, MLUOP_STATUS_BAD_PARAM, "n is ", n, ", expected a positive number"))) {
//     return check.status();
//   }
#pragma once

#include <initializer_list>
#include <string_view>

#include "core/error.h"
#include "core/tensor.h"
#include "core/text.h"

namespace mluop {

// A range of memory that a call reads or writes, by the name of its parameter.
struct Memory {
  std::string_view name;
  const void* data;
  int64_t bytes;
};

class Checks {
 public:
  explicit Checks(std::string_view function) : function_(function) {}

  // SUCCESS until a rule fails, then that rule's status.
  mluOpStatus_t status() const { return status_; }

  // The general rule: the message is built from `message` only if `holds` is false.
  template <class... Parts>
  bool rule(bool holds, mluOpStatus_t status, const Parts&... message) {
    return holds || refuse(status, text(message...));
  }

  // A pointer argument that must not be null.
  bool not_null(std::string_view name, const void* pointer);

  bool positive(std::string_view name, int64_t value);

  // Element type, layout, shape and contiguity of the tensor `name`; -1 in `shape` stands for any size.
  bool tensor(std::string_view name, const TensorDescriptor* desc, mluOpDataType_t dtype,
              mluOpTensorLayout_t layout, std::initializer_list<int64_t> shape);

  // The data pointer of a tensor: not null if the tensor has elements.
  bool data(std::string_view name, const TensorDescriptor* desc, const void* data);

  // No output may share memory with an input or with another output.
  bool no_overlap(std::initializer_list<Memory> outputs, std::initializer_list<Memory> inputs);

 private:
  bool refuse(mluOpStatus_t status, const std::string& message);
  bool apart(const Memory& output, const Memory& other);

  std::string_view function_;
  mluOpStatus_t status_ = MLUOP_STATUS_SUCCESS;
};

}  // namespace mluop

// Errors of an operator. A row changes one argument of a valid call so that the call breaks a rule, and states the
// message and the status that the call must return:
//
//   expect_errors(make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {}),
//                 {{set("num_voxel_x", 0), "num_voxel_x is 0, expected at least 1"},
//                  {set_shape("pos_memo", {2, 99, 3}), "pos_memo dim 1 is 99, expected 100"}});
//
// test/ops/errors_test.cpp has the rules that follow from the descriptions of the operators.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {

// A change of the arguments of a call.
using Change = std::function<void(OperatorCall&)>;

// Change a parameter: a number, or the numbers of a list.
Change set(std::string_view parameter, int64_t value);
Change set_real(std::string_view parameter, double value);
Change set_list(std::string_view parameter, std::vector<int64_t> values);
// Change a descriptor: its shape alone, or the whole descriptor.
Change set_shape(std::string_view tensor, const cases::Dims& dims);
Change set_desc(std::string_view tensor, Descriptor desc);
// Changes a descriptor to a scalar, which has no dimensions.
Change set_scalar(std::string_view tensor);
// A change of one element of a tensor.
Change set_element(std::string_view tensor, size_t i, double value);
// Changes all arguments to arguments of generated sizes. The data are at addresses that are far apart; the call
// does not access them.
Change with_sizes(std::string_view op, const std::map<std::string, int64_t>& sizes,
                  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT);
// Applies several changes in this order.
Change all_of(std::vector<Change> changes);
// For errors caused by inputs or the environment.
void no_change(OperatorCall& call);

// `message` follows "[<function>] ".
struct CallError {
  Change change;
  std::string message;
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
};

enum class Query { kNotCalled, kFails, kSucceeds };

struct ErrorOptions {
  std::vector<mluOpOmpAlgorithm_t> algorithms = {std::begin(kAlgorithms), std::end(kAlgorithms)};
  // The expected result of the workspace query for the same arguments.
  Query query = Query::kNotCalled;
};

// Checks each row in each algorithm, with a new call: status, message, no change of inputs and outputs, intact
// guard zones.
void expect_errors(const cases::Case& made, const std::vector<CallError>& rows, const ErrorOptions& options = {});

}  // namespace mluop::test

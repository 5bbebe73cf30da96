#include "support/call_errors.h"

#include <memory>

#include "case/values.h"
#include "support/api_errors.h"

namespace mluop::test {

Change set(std::string_view parameter, int64_t value) {
  return [=, name = std::string(parameter)](OperatorCall& call) { call.parameters.set(name, value); };
}

Change set_real(std::string_view parameter, double value) {
  return [=, name = std::string(parameter)](OperatorCall& call) { call.parameters.set_real(name, value); };
}

Change set_list(std::string_view parameter, std::vector<int64_t> values) {
  return [=, name = std::string(parameter)](OperatorCall& call) { call.parameters.set(name, values); };
}

Change set_shape(std::string_view tensor, const cases::Dims& dims) {
  return [=, id = std::string(tensor)](OperatorCall& call) {
    const cases::Operand& operand = call[id];
    set_desc(id, Descriptor(operand.dtype, dims, operand.layout))(call);
  };
}

Change set_scalar(std::string_view tensor) {
  return [id = std::string(tensor)](OperatorCall& call) {
    const cases::Operand& operand = call[id];
    Descriptor desc(operand.dtype, {1}, operand.layout);
    constexpr int64_t kUnused = 0;
    const auto expect_success = [](mluOpStatus_t status) { EXPECT_EQ(status, MLUOP_STATUS_SUCCESS); };
    expect_success(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST));
    expect_success(mluOpSetTensorDescriptor_v2(desc, operand.layout, operand.dtype, 0, &kUnused));
    set_desc(id, std::move(desc))(call);
  };
}

Change set_desc(std::string_view tensor, Descriptor desc) {
  return [id = std::string(tensor), shared = std::make_shared<Descriptor>(std::move(desc))](OperatorCall& call) {
    call.use(id, shared);
  };
}

Change set_element(std::string_view tensor, size_t i, double value) {
  return [=, id = std::string(tensor)](OperatorCall& call) {
    const cases::Operand& operand = call[id];
    cases::put_bits(operand.data, operand.dtype, i, cases::bits_of_number(operand.dtype, value));
  };
}

Change with_sizes(std::string_view op_name, const std::map<std::string, int64_t>& sizes, mluOpDataType_t dtype) {
  const cases::Operator& op = cases::operator_of(std::string(op_name), {});
  cases::Recipe recipe = default_recipe(op, dtype);
  for (const auto& [name, value] : sizes) recipe.sizes[name] = value;
  return [made = op.make(recipe), &op](OperatorCall& call) {
    call.parameters = made.parameters;
    const std::vector<cases::BoundTensor> bound = bind(made, op);
    for (size_t i = 0; i < bound.size(); ++i) {
      set_shape(op.tensors[i].id, bound[i].tensor->dims)(call);
      call.arguments[i].data = reinterpret_cast<std::byte*>((i + 1) << 44);
    }
  };
}

Change all_of(std::vector<Change> changes) {
  return [=](OperatorCall& call) {
    for (const Change& change : changes) change(call);
  };
}

void no_change(OperatorCall&) {}

void expect_errors(const cases::Case& made, const std::vector<CallError>& rows, const ErrorOptions& options) {
  for (const mluOpOmpAlgorithm_t algorithm : options.algorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    for (const CallError& row : rows) {
      SCOPED_TRACE(row.message);
      const auto message = [&](const std::string& function) { return '[' + function + "] " + row.message; };
      OperatorCall call(handle, made);
      row.change(call);
      const std::vector<std::byte> before = call.contents();
      expect_failure([&] { return call.run(); }, row.status, message(call.op().function));
      if (options.query == Query::kFails) {
        expect_failure([&] { return call.query(); }, row.status, message(call.op().query_function));
      } else if (options.query == Query::kSucceeds) {
        EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      }
      EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
      EXPECT_TRUE(call.guards_intact());
    }
  }
}

}  // namespace mluop::test

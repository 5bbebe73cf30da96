// Every operator with sizes of 0: a call that succeeds writes what the oracle writes and leaves unchanged what the
// oracle leaves; any other call names an argument and leaves every output unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <iterator>

#include "case/call.h"
#include "support/trace.h"

namespace mluop::cases {
namespace {

constexpr std::byte kBeforeCall{0xA5}, kBeforeOracle{0x5A};

// Whether a size of a recipe is an extent of a tensor or of the filter.
bool is_extent(const std::string& size) {
  constexpr const char* kOthers[] = {"grid", "pad_h", "pad_w", "reduce_type", "stride", "sub_m"};
  return std::find(std::begin(kOthers), std::end(kOthers), size) == std::end(kOthers);
}

// A case whose outputs hold a pattern: `entire` where every element is to be written, so that an element that
// neither the call nor the oracle writes differs.
Case with_outputs(Case made, const Operator& op, std::byte entire) {
  for (Tensor& output : made.outputs) {
    const auto rule = std::find_if(op.tensors.begin(), op.tensors.end(),
                                   [&](const TensorRule& tensor) { return tensor.id == output.id; });
    Elements& initial = output.initial.emplace();
    initial.source = Elements::Source::kInline;
    initial.bytes.assign(byte_count(output), rule->role == Role::kOutput ? entire : kBeforeCall);
  }
  return made;
}

// Whether a message is about a tensor or a parameter of the case.
bool names_argument(const std::string& message, const Case& made, const Operator& op) {
  const std::string text = message.substr(message.find("] ") + 1);
  const auto contains = [&](const std::string& name) { return text.find(' ' + name) != std::string::npos; };
  return std::any_of(op.tensors.begin(), op.tensors.end(),
                     [&](const TensorRule& rule) { return contains(rule.id); }) ||
         std::any_of(made.parameters.all.begin(), made.parameters.all.end(),
                     [&](const Parameter& parameter) { return contains(parameter.name); });
}

// Runs the case; returns whether the call succeeds.
bool expect_contract(const Case& made, const Operator& op, mluOpOmpAlgorithm_t algorithm) {
  const Case before_call = with_outputs(made, op, kBeforeCall),
             before_oracle = with_outputs(made, op, kBeforeOracle);
  const LoadedCase loaded(before_call), loaded_oracle(before_oracle);
  Run run(loaded, algorithm), oracle(loaded_oracle, algorithm);
  bool succeeds = true;
  try {
    run.call();
    oracle.expect();
  } catch (const CallFailed& failure) {
    succeeds = false;
    const std::string message = failure.what();
    EXPECT_TRUE(message.find("BAD_PARAM") != std::string::npos ||
                message.find("NOT_SUPPORTED") != std::string::npos)
        << message;
    EXPECT_TRUE(names_argument(message, made, op)) << message;
  }
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const bool is_result = succeeds && op.tensors[i].is_written();
    EXPECT_TRUE(oracle[i].sums.empty()) << op.tensors[i].id;
    const std::byte* expected = is_result ? oracle[i].data : loaded.before(i).data();
    const auto bytes = static_cast<size_t>(run[i].bytes());
    EXPECT_TRUE(bytes == 0 || std::memcmp(run[i].data, expected, bytes) == 0) << op.tensors[i].id;
  }
  return succeeds;
}

TEST(CaseZeroSizes, EveryElementOfEveryOutput) {
  int64_t calls = 0, succeeded = 0;
  const auto run_all = [&](const Operator& op, const Recipe& recipe) {
    const Case made = op.make(recipe);
    for (const auto algorithm : test::kAlgorithms) {
      SCOPED_TRACE(test::text_of(algorithm));
      ++calls;
      succeeded += expect_contract(made, op, algorithm) ? 1 : 0;
    }
  };
  for (const Operator& op : operators()) {
    std::vector<std::string> extents;
    Recipe recipe;
    for (const auto& [name, value] : op.sizes) {
      recipe.sizes[name] = value;
      if (is_extent(name)) extents.push_back(name);
    }
    const bool reduces = recipe.sizes.count("reduce_type") > 0;
    for (size_t subset = 1; subset < size_t{1} << extents.size(); ++subset) {
      Recipe zero = recipe;
      std::string names;
      for (size_t i = 0; i < extents.size(); ++i) {
        if ((subset >> i & 1) == 0) continue;
        zero.sizes[extents[i]] = 0;
        names += ' ' + extents[i];
      }
      for (const mluOpDataType_t dtype : op.dtypes) {
        zero.dtype = dtype;
        for (const auto reduce_type : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
          SCOPED_TRACE(op.name + ", 0:" + names + ", reduce_type " + std::to_string(reduce_type));
          if (reduces) zero.sizes["reduce_type"] = reduce_type;
          run_all(op, zero);
          if (!reduces) break;
        }
      }
    }
  }
  std::cout << "zero sizes: " << calls << " calls, " << succeeded << " succeeded, " << calls - succeeded
            << " refused\n";
}

}  // namespace
}  // namespace mluop::cases

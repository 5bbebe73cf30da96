#include "compare/pattern.h"

#include "compare/patterns/hits.h"
#include "compare/patterns/location.h"
#include "compare/patterns/permutation.h"
#include "compare/patterns/transposition.h"

namespace mluop::compare {

std::string pattern_of(Context& context, const Operands& operands, std::span<const int64_t> dims,
                       const Measured& measured) {
  const Problem problem{context, operands, dims, measured};
  if (std::string text = transposition(problem); !text.empty()) return text;
  const Hits hits = find_hits(problem);
  if (std::string text = permutation(problem, hits); !text.empty()) return text;
  std::string text = location(problem, hits);
  const std::string common = common_trait(problem, hits);
  return common.empty() ? text : text + "; " + common;
}

}  // namespace mluop::compare

// Fuzzer of the parser of operator cases. The first byte selects text or binary. An accepted case must be the same
// case after writing and reading.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "case/operators.h"
#include "case/read.h"
#include "case/write.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mluop::cases;
  if (size == 0) return 0;
  const Format format = data[0] % 2 == 0 ? Format::kText : Format::kBinary;
  const std::string contents(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    const Case parsed = parse_case(contents, format, "case");
    const std::string text = text_of(parsed);
    const Case again = parse_case(text, Format::kText, "case");
    if (text_of(again) != text) {
      std::fprintf(stderr, "another case after a round trip:\n%s\n%s\n", text.c_str(), text_of(again).c_str());
      std::abort();
    }
    bind(parsed, operator_of(parsed.op_name, parsed.place));
  } catch (const Problem&) {
    return 0;
  }
  return 0;
}

#include "case/text_parser.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cctype>

namespace mluop::cases {
namespace {

namespace pb = google::protobuf;

constexpr int kMaxDepth = 100;

// The name before the last ':' or '{' in front of a position of the text.
std::string field_before(std::string_view text, int line, int column) {
  size_t begin = 0;
  for (int i = 0; i < line && begin != text.npos; ++i) begin = text.find('\n', begin) + 1;
  const size_t position = std::min(begin + static_cast<size_t>(std::max(column, 0)), text.size());
  size_t end = text.substr(0, position).find_last_of(":{");
  if (end == text.npos) return "";
  constexpr std::string_view kBlanks = " \t\r\n";
  end = text.substr(0, end).find_last_not_of(kBlanks);
  if (end == text.npos) return "";
  size_t first = end + 1;
  while (first > 0 && (std::isalnum(static_cast<unsigned char>(text[first - 1])) || text[first - 1] == '_'))
    --first;
  return std::string(text.substr(first, end + 1 - first));
}

}  // namespace

void TextError::report(std::string_view text, const std::string& file) const {
  fail({file, line + 1, field_before(text, line, column)}, message.empty() ? "cannot be parsed" : message);
}

void silence_protobuf() {
  static pb::LogHandler* const previous = pb::SetLogHandler(nullptr);
  static_cast<void>(previous);
}

bool parse_text(const std::string& text, pb::Message& message, FieldTree& tree, TextError& error) {
  pb::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.AllowUnknownExtension(true);
  parser.AllowPartialMessage(true);
  parser.SetRecursionLimit(kMaxDepth);
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&tree);
  return parser.ParseFromString(text, &message);
}

Place Part::of(const char* name, int index) const {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  int line = 0;
  // protobuf requires an index for repeated fields, and -1 for others.
  if (tree != nullptr) line = tree->GetLocation(field, field->is_repeated() ? std::max(index, 0) : -1).line + 1;
  std::string path = place.field.empty() ? name : place.field + '.' + name;
  // Only fields of the outermost message are numbered.
  if (index >= 0 && place.field.empty()) path += '[' + std::to_string(index) + ']';
  return {place.file, line > 0 ? line : place.line, path};
}

Part Part::nested(const pb::Message& nested, const char* name, int index) const {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  return {nested, tree == nullptr ? nullptr : tree->GetTreeForNested(field, index), of(name, index)};
}

}  // namespace mluop::cases

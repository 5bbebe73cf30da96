// Reads a recorded operator case: as much of the text format of protobuf as recordings use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mluop::test {

// A message: its fields in the order of the text. The elements of a list are fields of one name.
class TextMessage {
 public:
  // Throws std::runtime_error if the text is not valid.
  static TextMessage parse(const std::string& text);

  bool has(const std::string& name) const;
  // The values of scalar fields, strings without quotes.
  std::vector<std::string> values(const std::string& name) const;
  // The only value; throws if there is none or several.
  std::string value(const std::string& name) const;
  std::vector<int64_t> numbers(const std::string& name) const;
  std::vector<TextMessage> messages(const std::string& name) const;
  // The only message of that name; throws if there is none or several.
  TextMessage message(const std::string& name) const;
  // The names of the fields, each once, scalar fields first.
  std::vector<std::string> names() const;

 private:
  friend class TextParser;

  struct Field;

  std::vector<Field> fields_;
};

struct TextMessage::Field {
  std::string name;
  std::string scalar;
  std::vector<TextMessage> message;  // one, or none of a scalar field
};

// A recorded case and the folder of its raw files.
struct RecordedCase {
  explicit RecordedCase(const std::filesystem::path& file);

  // The tensor of that id among inputs and outputs.
  TextMessage tensor(const std::string& id) const;
  std::vector<TextMessage> tensors() const;  // inputs, then outputs
  // The elements that a tensor, or `initial` of it, has in `contents`; none if it has none.
  std::vector<std::byte> elements(const TextMessage& tensor, const TextMessage& contents) const;
  std::vector<std::byte> elements(const TextMessage& tensor) const { return elements(tensor, tensor); }
  // The parameters; empty if the operator has none.
  TextMessage parameters() const;

  std::filesystem::path folder;
  TextMessage node;
};

// The case files below a folder, sorted.
std::vector<std::filesystem::path> case_files(const std::filesystem::path& folder);
// All files below a folder.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);
// The only case below a folder; throws if there is none or several.
RecordedCase only_case(const std::filesystem::path& folder);

}  // namespace mluop::test

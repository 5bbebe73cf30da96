#include "support/recorded_case.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "support/half.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("recorded case: " + what); }

template <class T>
T only(const std::vector<T>& found, const std::string& name) {
  if (found.size() != 1) fail(std::to_string(found.size()) + " fields " + name);
  return found[0];
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail("no file " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t size_of_dtype(const std::string& dtype) {
  static const std::map<std::string, size_t> kSizes = {{"DTYPE_FLOAT", 4}, {"DTYPE_HALF", 2}, {"DTYPE_INT32", 4}};
  return kSizes.at(dtype);
}

}  // namespace

class TextParser {
 public:
  explicit TextParser(const std::string& text) : text_(text) {}

  TextMessage message(char end) {
    TextMessage message;
    for (skip(); at_ < text_.size() && text_[at_] != end; skip()) {
      const std::string name = word();
      skip();
      if (next() == '{') {
        message.messages_.emplace_back(name, this->message('}'));
        if (next() != '}') fail("no }");
        continue;
      }
      skip();
      if (text_.at(at_) != '[') {
        message.scalars_.emplace_back(name, scalar());
        continue;
      }
      do {
        ++at_;
        skip();
        message.scalars_.emplace_back(name, scalar());
        skip();
      } while (text_.at(at_) == ',');
      if (next() != ']') fail("no ] of " + name);
    }
    if (end == '}' && at_ == text_.size()) fail("unexpected end");
    return message;
  }

 private:
  // The character ':', '{', '}' or ']'.
  char next() { return text_.at(at_++); }

  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string word() {
    const size_t begin = at_;
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_.+-", c);
    };
    while (at_ < text_.size() && text_[at_] != '\0' && belongs(text_[at_])) ++at_;
    if (at_ == begin) fail("unexpected character at " + text_.substr(at_, 20));
    return text_.substr(begin, at_ - begin);
  }

  std::string scalar() {
    if (text_.at(at_) != '"') return word();
    const size_t begin = ++at_;
    at_ = text_.find('"', at_);
    if (at_ == text_.npos) fail("no closing quote");
    return text_.substr(begin, at_++ - begin);
  }

  const std::string& text_;
  size_t at_ = 0;
};

TextMessage TextMessage::parse(const std::string& text) { return TextParser(text).message('\0'); }

bool TextMessage::has(const std::string& name) const {
  const auto is_named = [&](const auto& field) { return field.first == name; };
  return std::any_of(scalars_.begin(), scalars_.end(), is_named) ||
         std::any_of(messages_.begin(), messages_.end(), is_named);
}

std::vector<std::string> TextMessage::values(const std::string& name) const {
  std::vector<std::string> found;
  for (const auto& [field, value] : scalars_) {
    if (field == name) found.push_back(value);
  }
  return found;
}

std::string TextMessage::value(const std::string& name) const { return only(values(name), name); }

std::vector<int64_t> TextMessage::numbers(const std::string& name) const {
  std::vector<int64_t> numbers;
  for (const std::string& value : values(name)) numbers.push_back(std::stoll(value));
  return numbers;
}

std::vector<TextMessage> TextMessage::messages(const std::string& name) const {
  std::vector<TextMessage> found;
  for (const auto& [field, message] : messages_) {
    if (field == name) found.push_back(message);
  }
  return found;
}

TextMessage TextMessage::message(const std::string& name) const { return only(messages(name), name); }

std::vector<std::string> TextMessage::names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& field : scalars_) add(field.first);
  for (const auto& field : messages_) add(field.first);
  return names;
}

RecordedCase::RecordedCase(const fs::path& file)
    : folder(file.parent_path()), node(TextMessage::parse(read_file(file))) {}

std::vector<TextMessage> RecordedCase::tensors() const {
  std::vector<TextMessage> all = node.messages("input");
  for (const TextMessage& output : node.messages("output")) all.push_back(output);
  return all;
}

TextMessage RecordedCase::tensor(const std::string& id) const {
  for (const TextMessage& tensor : tensors()) {
    if (tensor.value("id") == id) return tensor;
  }
  fail("no tensor " + id);
}

std::vector<std::byte> RecordedCase::elements(const TextMessage& tensor, const TextMessage& contents) const {
  const std::string dtype = tensor.value("dtype");
  const size_t size = size_of_dtype(dtype);
  std::vector<std::byte> bytes;
  const auto append = [&](uint64_t bits) {
    for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
  };
  for (const std::string& hexadecimal : contents.values("value_h")) append(std::stoull(hexadecimal, nullptr, 16));
  for (const int64_t value : contents.numbers("value_i")) append(static_cast<uint64_t>(value));
  for (const std::string& decimal : contents.values("value_f")) {
    const float value = std::strtof(decimal.c_str(), nullptr);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    append(dtype == "DTYPE_HALF" ? to_f16(value).bits : bits);
  }
  if (contents.has("path")) {
    const std::string raw = read_file(folder / contents.value("path"));
    bytes.resize(raw.size());
    std::memcpy(bytes.data(), raw.data(), raw.size());
  }
  return bytes;
}

TextMessage RecordedCase::parameters() const {
  const std::string name = node.value("op_name") + "_param";
  return node.has(name) ? node.message(name) : TextMessage();
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> case_files(const fs::path& folder) {
  std::vector<fs::path> files = files_below(folder);
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const fs::path& file) { return file.extension() != ".prototxt"; }),
              files.end());
  return files;
}

RecordedCase only_case(const fs::path& folder) { return RecordedCase(only(case_files(folder), folder.string())); }

}  // namespace mluop::test

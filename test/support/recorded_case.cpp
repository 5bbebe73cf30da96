#include "support/recorded_case.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "case/data.h"
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

bool belongs_to_word(char c) {
  return c != '\0' && (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_.+-", c) != nullptr);
}

}  // namespace

class TextParser {
 public:
  explicit TextParser(const std::string& text) : text_(text) { take(); }

  // The fields up to the token `end`; "" is the end of the text.
  TextMessage message(const std::string& end) {
    TextMessage message;
    while (token_ != end) {
      const std::string name = word();
      const auto add_scalar = [&] {
        const std::string scalar = token_[0] == '"' ? take().substr(1) : word();
        message.fields_.push_back({name, scalar, {}});
      };
      if (skip("{")) {
        message.fields_.push_back({name, {}, {this->message("}")}});
        take();
        continue;
      }
      require(":");
      if (skip("[")) {
        do {
          add_scalar();
        } while (skip(","));
        require("]");
      } else {
        add_scalar();
      }
    }
    return message;
  }

 private:
  // Returns the token and reads the next one: a word, a character, or a string behind a quote.
  std::string take() {
    const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
    auto end = std::find_if_not(at_, text_.end(), is_space);
    while (end != text_.end() && *end == '#') {
      end = std::find_if_not(std::find(end, text_.end(), '\n'), text_.end(), is_space);
    }
    const auto begin = end;
    if (end != text_.end() && *end == '"') {
      end = std::find(end + 1, text_.end(), '"');
      if (end == text_.end()) fail("no closing quote");
      at_ = end + 1;
    } else {
      end = std::find_if_not(end, text_.end(), belongs_to_word);
      if (end == begin && end != text_.end()) ++end;
      at_ = end;
    }
    return std::exchange(token_, std::string(begin, end));
  }

  bool skip(const char* token) { return token_ == token && !take().empty(); }
  void require(const char* token) {
    if (!skip(token)) fail("unexpected '" + token_ + "', expected " + token);
  }
  std::string word() {
    if (!belongs_to_word(token_[0])) fail("unexpected '" + token_ + "', expected a word");
    return take();
  }

  const std::string& text_;
  std::string::const_iterator at_ = text_.begin();
  std::string token_;
};

TextMessage TextMessage::parse(const std::string& text) { return TextParser(text).message(""); }

bool TextMessage::has(const std::string& name) const {
  return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
}

std::vector<std::string> TextMessage::values(const std::string& name) const {
  std::vector<std::string> found;
  for (const Field& field : fields_) {
    if (field.name == name && field.message.empty()) found.push_back(field.scalar);
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
  for (const Field& field : fields_) {
    if (field.name == name) found.insert(found.end(), field.message.begin(), field.message.end());
  }
  return found;
}

TextMessage TextMessage::message(const std::string& name) const { return only(messages(name), name); }

std::vector<std::string> TextMessage::names() const {
  std::vector<std::string> names;
  for (const bool is_scalar : {true, false}) {
    for (const Field& field : fields_) {
      if (field.message.empty() != is_scalar) continue;
      if (std::find(names.begin(), names.end(), field.name) == names.end()) names.push_back(field.name);
    }
  }
  return names;
}

RecordedCase::RecordedCase(const fs::path& file)
    : folder(file.parent_path()), node(TextMessage::parse(cases::read_file(file, {}))) {}

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
  const bool is_half = tensor.value("dtype") == "DTYPE_HALF";
  std::vector<std::byte> bytes;
  const auto append = [&](uint64_t bits) {
    const auto* first = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), first, first + (is_half ? 2 : 4));
  };
  for (const std::string& hexadecimal : contents.values("value_h")) append(std::stoull(hexadecimal, nullptr, 16));
  for (const int64_t value : contents.numbers("value_i")) append(static_cast<uint64_t>(value));
  for (const std::string& decimal : contents.values("value_f")) {
    const float value = std::strtof(decimal.c_str(), nullptr);
    append(is_half ? to_f16(value).bits : std::bit_cast<uint32_t>(value));
  }
  if (!contents.has("path")) return bytes;
  const std::string raw = cases::read_file(folder / contents.value("path"), {});
  const auto* first = reinterpret_cast<const std::byte*>(raw.data());
  return {first, first + raw.size()};
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
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".prototxt"; });
  return files;
}

RecordedCase only_case(const fs::path& folder) { return RecordedCase(only(case_files(folder), folder.string())); }

}  // namespace mluop::test

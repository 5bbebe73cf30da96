// Parses text and binary messages with the places of their fields. Used only by read.cpp.
#pragma once

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <string_view>
#include <tuple>

#include "case/model.h"

namespace mluop::cases {

using FieldTree = google::protobuf::TextFormat::ParseInfoTree;

// The first error of a text.
struct TextError : google::protobuf::io::ErrorCollector {
  int line = -1, column = 0;
  std::string message;

  void AddError(int error_line, int error_column, const std::string& text) override {
    if (message.empty()) std::tie(line, column, message) = std::tie(error_line, error_column, text);
  }
  // Throws Problem with the line, and the field in front of the error.
  [[noreturn]] void report(std::string_view text, const std::string& file) const;
};

// Parses text with unknown fields, extensions and missing required fields. Returns false, and the error, if the
// text is invalid.
bool parse_text(const std::string& text, google::protobuf::Message& message, FieldTree& tree, TextError& error);

// Stops protobuf from logging to stderr errors that it also returns.
void silence_protobuf();

// A message with the places of its fields. tree is null for binary files.
struct Part {
  const google::protobuf::Message& message;
  const FieldTree* tree;
  Place place;

  // The place of a field; index: the index in a repeated field of the outermost message.
  Place of(const char* name, int index = -1) const;
  // A field that is a message.
  Part nested(const google::protobuf::Message& field, const char* name, int index = -1) const;
};

}  // namespace mluop::cases

// Text and binary messages with the places of their fields. A header of read.cpp only.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

using FieldTree = google::protobuf::TextFormat::ParseInfoTree;

// The first error of a text.
struct TextError {
  int line = -1, column = 0;
  std::string message;

  // Throws Problem with the line, and the field in front of the error.
  [[noreturn]] void report(std::string_view text, const std::string& file) const;
};

// Parses text with unknown fields, extensions and missing required fields. tree may be null. Returns false and the
// error if the text is not valid.
bool parse_text(const std::string& text, google::protobuf::Message& message, FieldTree* tree, TextError& error);

// protobuf logs to stderr what it also returns: not after this call.
void silence_protobuf();

// A message with the places of its fields. tree is null for binary files.
struct Part {
  const google::protobuf::Message& message;
  const FieldTree* tree;
  Place place;

  // The place of a field; index: of a repeated field, else ignored.
  Place of(const char* name, int index) const;
  FieldTree* subtree(const char* name, int index) const;
};

}  // namespace mluop::cases

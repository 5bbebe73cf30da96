// Names that resemble a misspelled one, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mluop::cases {

// "; did you mean ball_query or stack_ball_query?", with the nearest three names at most, or an empty text. Names
// resemble each other if few letters of the name, or of one of its words, have to be inserted, removed or
// replaced, or if one contains the other. Case, blanks, dashes and underscores do not count.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace mluop::cases

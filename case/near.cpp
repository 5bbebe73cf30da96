#include "case/near.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace mluop::cases {
namespace {

constexpr size_t kMost = 3;

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (c != '_' && c != '-' && std::isspace(letter) == 0) letters += static_cast<char>(std::tolower(letter));
  }
  return letters;
}

// Levenshtein's distance: letters to insert, remove or replace.
size_t distance_of(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The distance of a name, or of the nearest of its words; nothing if none resembles the given letters.
std::optional<size_t> nearest(const std::string& given, const std::string& name) {
  std::vector<std::string> candidates = {letters_of(name)};
  std::string words = name;
  std::ranges::replace_if(
      words, [](char c) { return c == '_' || c == '-'; }, ' ');
  std::istringstream stream(words);
  for (std::string word; stream >> word;) candidates.push_back(letters_of(word));
  std::optional<size_t> least;
  for (const std::string& letters : candidates) {
    size_t distance = distance_of(given, letters);
    const size_t limit = std::max<size_t>(std::max(given.size(), letters.size()) / 3, 1);
    const bool is_part = (given.size() >= 3 && letters.find(given) != letters.npos) ||
                         (letters.size() >= 4 && given.find(letters) != given.npos);
    if (is_part) distance = std::min(distance, limit);
    if (std::min(given.size(), letters.size()) >= 3 && distance <= limit) {
      least = std::min(least.value_or(distance), distance);
    }
  }
  return least;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string given = letters_of(word);
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& name : names) {
    if (const auto distance = nearest(given, name)) near.emplace_back(*distance, name);
  }
  std::ranges::stable_sort(near, {}, &std::pair<size_t, std::string>::first);
  const size_t count = std::min(near.size(), kMost);
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "; did you mean " : i + 1 == count ? " or " : ", ") + near[i].second;
  }
  return text.empty() ? text : text + '?';
}

}  // namespace mluop::cases

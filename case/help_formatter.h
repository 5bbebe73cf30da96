// Formats --help identically for all versions of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace mluop::cases {

// Descriptions begin in a separate column; lines are not broken. cmake/man_page.cmake reads the text.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    const auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
    const auto options = app->get_options([](const CLI::Option* option) { return option->nonpositional(); });
    const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
    std::string usage = name + " [OPTIONS]", entries;
    if (!positionals.empty()) entries += "\nPositionals:\n";
    for (const CLI::Option* option : positionals) {
      usage += " " + usage_of(*option);
      entries += entry(option->get_name(true) + arguments_of(*option), option->get_description());
    }
    entries += "\nOptions:\n";
    for (const CLI::Option* option : options) {
      entries += entry(option->get_name(false, true) + arguments_of(*option), option->get_description());
    }
    if (!commands.empty()) {
      usage += " SUBCOMMAND";
      entries += "\nSubcommands:\n";
    }
    for (const CLI::App* command : commands) entries += entry(command->get_name(), command->get_description());
    const std::string footer = app->get_footer();
    return app->get_description() + "\nUsage: " + usage + "\n" + entries + "\n" +
           (footer.empty() ? "" : footer + "\n");
  }

 private:
  static constexpr std::size_t kColumn = 30;

  static bool is_list(const CLI::Option& option) {
    return option.get_expected_max() == CLI::detail::expected_max_vector_size;
  }

  static std::string usage_of(const CLI::Option& option) {
    const std::string name = option.get_name(true) + (is_list(option) ? "..." : "");
    return option.get_required() ? name : "[" + name + "]";
  }

  static std::string arguments_of(const CLI::Option& option) {
    std::string text;
    if (option.get_type_size() != 0) {
      if (!option.get_type_name().empty()) text += " " + option.get_type_name();
      if (is_list(option)) text += " ...";
      if (option.get_required()) text += " REQUIRED";
    }
    if (!option.get_excludes().empty()) text += " Excludes:";
    for (const CLI::Option* other : option.get_excludes()) text += " " + other->get_name();
    return text;
  }

  static std::string entry(const std::string& term, const std::string& description) {
    std::string text = "  " + term;
    if (text.size() >= kColumn) text += "\n" + std::string(kColumn, ' ');
    if (text.size() < kColumn) text.resize(kColumn, ' ');
    for (const char c : description) {
      text += c;
      if (c == '\n') text.append(kColumn, ' ');
    }
    return text + "\n";
  }
};

}  // namespace mluop::cases

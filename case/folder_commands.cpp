#include <iostream>

#include "case/case_folder.h"
#include "case/commands.h"
#include "case/data.h"
#include "case/read.h"
#include "case/write.h"

namespace mluop::cases {

int export_command(const ExportCommand& command) {
  const Case the_case = read_case(command.file);
  if (command.own_files) require_own_files(the_case);
  write_folder(the_case, command.folder, command.format, command.results);
  return kPassed;
}

int import_command(const ImportCommand& command) {
  const Case the_case = read_folder(command.folder, command.settings);
  if (command.output.empty()) {
    std::cout << text_of(the_case);
  } else {
    write_case(the_case, command.output);
  }
  return kPassed;
}

}  // namespace mluop::cases

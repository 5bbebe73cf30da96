// Prints the name of each operator, one on each line.
#include <iostream>

#include "case/operators.h"

int main() {
  for (const mluop::cases::Operator& op : mluop::cases::operators()) std::cout << op.name << '\n';
}

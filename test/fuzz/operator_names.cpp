// Prints the name of each operator on a line.
#include <iostream>

#include "case/operators.h"

int main() {
  for (const mluop::cases::Operator& op : mluop::cases::operators()) std::cout << op.name << '\n';
}

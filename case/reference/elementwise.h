// Oracles of the element-by-element operators, in double.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::reference {

// Infinity if a part is infinite.
double complex_magnitude(double real, double imaginary);

// base: 0, 1 and 2 for the logarithms to e, 2 and 10.
double logarithm(int base, double x);

double sqrt_gradient(double y, double diff_y);

double log_of_gamma(double x);

// The index of the element of a tensor that element i of a tensor of shape `to` takes, where dimensions of size 1
// are broadcast. The shapes have the same number of dimensions.
int64_t broadcast_index(const std::vector<int64_t>& from, const std::vector<int64_t>& to, int64_t i);

// Element i of a logarithmic space; start and end are elements of its type.
double power_of_space(float start, float end, int64_t steps, float base, int64_t i);

}  // namespace mluop::reference

// The operators of the sparse encoder in double, by the definition of a convolution on the sites.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "networks/center_point.h"

namespace mluop::test::center_point {

struct Reference {
  struct Pair {
    int64_t offset, input, output;
  };
  struct Pairs {
    int64_t inputs;
    std::vector<Pair> pairs;
  };
  using Float = double;

  // Replaces the sites of the input by those of the output.
  Pairs find_pairs(const Layer& layer, const Site& grid, std::vector<Site>& sites) const {
    const auto& [kernel, stride, padding, dilation, submanifold] = layer.sparse;
    std::map<Site, std::vector<Pair>> pairs_of;  // of an output site, which `output` does not name yet
    for (size_t i = 0; i < sites.size(); ++i) {
      if (submanifold) pairs_of[sites[i]];
    }
    for (size_t i = 0; i < sites.size(); ++i) {
      for (int32_t k = 0; k < layer.sparse.offsets(); ++k) {
        const Extent offset = {k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]};
        Site output = sites[i];
        bool exists = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int32_t outputs = (grid[axis + 1] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1;
          const int32_t scaled = sites[i][axis + 1] + padding[axis] - offset[axis];
          output[axis + 1] = scaled / stride[axis];
          exists = exists && scaled >= 0 && scaled % stride[axis] == 0 && output[axis + 1] < outputs;
        }
        if (!exists || (submanifold && !pairs_of.contains(output))) continue;
        pairs_of[output].push_back({k, static_cast<int64_t>(i), 0});
      }
    }
    Pairs result{static_cast<int64_t>(sites.size()), {}};
    sites.clear();
    for (const auto& [site, pairs] : pairs_of) {
      for (const Pair& pair : pairs) {
        result.pairs.push_back({pair.offset, pair.input, static_cast<int64_t>(sites.size())});
      }
      sites.push_back(site);
    }
    return result;
  }

  Matrix<double> convolve(const Layer& layer, const Pairs& pairs, const Matrix<double>& features,
                          const Matrix<double>& filters, int64_t outputs) const {
    auto output = zeros<double>(outputs, layer.Co);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      output[pair.output][co] += features[pair.input][ci] * filters[row][co];
    });
    return output;
  }

  Matrix<double> grad_features(const Layer& layer, const Pairs& pairs, const Matrix<double>& grad,
                               const Matrix<double>& filters) const {
    auto result = zeros<double>(pairs.inputs, layer.Ci);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      result[pair.input][ci] += grad[pair.output][co] * filters[row][co];
    });
    return result;
  }

  Matrix<double> grad_filters(const Layer& layer, const Pairs& pairs, const Matrix<double>& features,
                              const Matrix<double>& grad) const {
    auto result = zeros<double>(layer.sparse.offsets() * layer.Ci, layer.Co);
    for_each_product(layer, pairs, [&](const Pair& pair, int64_t ci, int64_t co, int64_t row) {
      result[row][co] += features[pair.input][ci] * grad[pair.output][co];
    });
    return result;
  }

  template <class Visit>
  static void for_each_product(const Layer& layer, const Pairs& pairs, const Visit& visit) {
    for (const Pair& pair : pairs.pairs) {
      for (int64_t ci = 0; ci < layer.Ci; ++ci) {
        for (int64_t co = 0; co < layer.Co; ++co) visit(pair, ci, co, pair.offset * layer.Ci + ci);
      }
    }
  }
};

}  // namespace mluop::test::center_point

#include <algorithm>

#include "case/description.h"
#include "reference/masked_convolution.h"

namespace mluop::cases::masked_convolution {
namespace {

void expect_im2col(Arguments& a) {
  const reference::MaskedIm2colForwardSizes sizes{a[0].dim(1),      a[0].dim(2),         a[0].dim(3),
                                                  a[1].dim(0),      a.int32("kernel_h"), a.int32("kernel_w"),
                                                  a.int32("pad_h"), a.int32("pad_w")};
  with_bits_type(a[0], [&]<class T>() {
    reference::masked_im2col_forward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<int32_t>(), a[3].as<T>());
  });
}

// Counts only pixels of the image inside a window.
Work work_im2col(const Arguments& a) {
  const int64_t height = a[0].dim(2), width = a[0].dim(3);
  std::vector<bool> is_read(static_cast<size_t>(height * width));
  for (int64_t k = 0; k < a[1].count(); ++k) {
    for (int64_t i = 0; i < a.integer("kernel_h"); ++i) {
      for (int64_t j = 0; j < a.integer("kernel_w"); ++j) {
        const int64_t h = a[1].as<int32_t>()[k] - a.integer("pad_h") + i;
        const int64_t w = a[2].as<int32_t>()[k] - a.integer("pad_w") + j;
        if (h < 0 || h >= height || w < 0 || w >= width) continue;
        is_read[static_cast<size_t>(h * width + w)] = true;
      }
    }
  }
  const auto pixels = static_cast<int64_t>(std::count(is_read.begin(), is_read.end(), true));
  const int64_t pixel_bytes = a[0].dim(1) * static_cast<int64_t>(element_size(a[0].dtype));
  return {pixels * pixel_bytes + a[1].bytes() + a[2].bytes(), a[3].bytes(), 0};
}

void fit_im2col(Case& c) {
  const Parameters& p = c.parameters;
  set_shape(c.outputs[0],
            {checked_product({c.inputs[0].dims[1], p.integer("kernel_h"), p.integer("kernel_w")}, INT64_MAX),
             c.inputs[1].dims[0]});
}

std::vector<Tensor> masks_of(const std::vector<int32_t>& rows, const std::vector<int32_t>& columns) {
  const auto count = static_cast<int64_t>(rows.size());
  return {with_values(make_tensor("mask_h_idx", MLUOP_DTYPE_INT32, {count}), rows),
          with_values(make_tensor("mask_w_idx", MLUOP_DTYPE_INT32, {count}), columns)};
}

// The number of pixels of the image; multiplied by the number of masks it fits int64_t.
int64_t pixels_of(const Recipe& r) { return checked_product({r["height"], r["width"]}, INT64_MAX >> 27); }

// A coordinate of a window that is inside the image, across its edges or next to it; one in 50 is any int32.
int32_t any_coordinate(Integers& random, int64_t extent, int64_t kernel, int64_t pad) {
  const auto bits = [&] { return static_cast<uint32_t>(random.below(1 << 16)); };
  if (random.below(50) == 0) return static_cast<int32_t>(bits() << 16 | bits());
  const int64_t begin = random.below(extent + kernel + 1) - kernel;
  return static_cast<int32_t>(static_cast<uint32_t>(begin) + static_cast<uint32_t>(pad));
}

// Masks in the image; with `outside`, windows may also lie across its edges or outside.
std::vector<Tensor> im2col_masks(const Recipe& r) {
  Integers random(r.seed);
  const int64_t pixels = pixels_of(r), count = r["mask_cnt"], width = std::max<int64_t>(r["width"], 1);
  if (r["outside"] == 0 && count > r.max_inline) {
    return {with_uniform(make_tensor("mask_h_idx", MLUOP_DTYPE_INT32, {count}), r.seed + 2, 0,
                         static_cast<double>(r["height"])),
            with_uniform(make_tensor("mask_w_idx", MLUOP_DTYPE_INT32, {count}), r.seed + 3, 0,
                         static_cast<double>(r["width"]))};
  }
  checked_product({count});
  std::vector<int32_t> rows, columns;
  for (int64_t k = 0; k < count; ++k) {
    if (r["outside"] == 0) {
      const int32_t pixel = random.below(pixels);
      rows.push_back(static_cast<int32_t>(pixel / width));
      columns.push_back(static_cast<int32_t>(pixel % width));
    } else {
      rows.push_back(any_coordinate(random, r["height"], r["kernel_h"], r["pad_h"]));
      columns.push_back(any_coordinate(random, r["width"], r["kernel_w"], r["pad_w"]));
    }
  }
  return masks_of(rows, columns);
}

// Distinct pixels in row-major order; without `ordered`, in any order, with repetitions.
std::vector<Tensor> col2im_masks(const Recipe& r) {
  Integers random(r.seed);
  checked_product({r["mask_cnt"]});
  const int64_t pixels = pixels_of(r), width = std::max<int64_t>(r["width"], 1);
  const bool ordered = r["ordered"] != 0;
  const int64_t count = ordered ? std::min(r["mask_cnt"], pixels) : r["mask_cnt"];
  std::vector<int32_t> rows, columns;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t pixel = ordered ? k * pixels / count : random.below(pixels);
    rows.push_back(static_cast<int32_t>(pixel / width));
    columns.push_back(static_cast<int32_t>(pixel % width));
  }
  return masks_of(rows, columns);
}

Case make_im2col(const Recipe& r) {
  Case c = new_case("masked_im2col_forward", r, {"kernel_h", "kernel_w", "pad_h", "pad_w"});
  checked_product({r["channels"], r["kernel_h"], r["kernel_w"]});
  c.inputs = im2col_masks(r);
  c.inputs.insert(
      c.inputs.begin(),
      with_uniform(make_tensor("feature", r.dtype, {1, r["channels"], r["height"], r["width"]}, MLUOP_LAYOUT_NCHW),
                   r.seed + 1));
  c.outputs = {make_tensor("data_col", r.dtype)};
  fit_im2col(c);
  return c;
}

void expect_col2im(Arguments& a) {
  const reference::MaskedCol2imForwardSizes sizes{a[3].dim(1), a[3].dim(2), a[3].dim(3), a[1].dim(0)};
  with_bits_type(a[0], [&]<class T>() {
    reference::masked_col2im_forward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<int32_t>(), a[3].as<T>());
  });
}

void fit_col2im(Case& c) {
  Dims image = c.outputs[0].dims;
  image[1] = c.inputs[0].dims[0];
  set_shape(c.outputs[0], image);
}

Case make_col2im(const Recipe& r) {
  Case c = new_case("masked_col2im_forward", r);
  c.inputs = col2im_masks(r);
  c.inputs.insert(c.inputs.begin(),
                  with_uniform(make_tensor("col", r.dtype, {r["channels"], c.inputs[0].dims[0]}), r.seed + 1));
  c.outputs = {make_tensor("im", r.dtype, {1, r["channels"], r["height"], r["width"]}, MLUOP_LAYOUT_NCHW)};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule rows{"mask_h_idx", Role::kInput, {"mask"}, kAnyLayout};
  const TensorRule columns{"mask_w_idx", Role::kInput, {"mask"}, kAnyLayout};
  Operator im2col;
  im2col.name = "masked_im2col_forward";
  im2col.function = "mluOpMaskedIm2colForward";
  im2col.query_function = "mluOpGetMaskedIm2colForwardWorkspaceSize";
  im2col.tensors = {{"feature", Role::kInput, {"batch", "channel", "row", "column"}, {}, {2, 3}},
                    rows,
                    columns,
                    {"data_col", Role::kOutput, {"channel", "offset", "mask"}}};
  im2col.parameter_messages = {"masked_im2col_forward_param"};
  im2col.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetMaskedIm2colForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a.int32("kernel_h"),
                                                    a.int32("kernel_w"), a[3].desc, bytes);
  };
  im2col.run = [](const Arguments& a) {
    return call(mluOpMaskedIm2colForward, a.handle, a[0], a[1], a[2], a.int32("kernel_h"), a.int32("kernel_w"),
                a.int32("pad_h"), a.int32("pad_w"), a.workspace, a.workspace_size, a[3]);
  };
  im2col.has_device_algorithm = true;
  im2col.expect = expect_im2col;
  im2col.work = work_im2col;
  im2col.sizes = {{"channels", 8},
                  {"height", 12},
                  {"width", 16},
                  {"mask_cnt", 40, 1, 400},
                  {"kernel_h", 3, 1, 5},
                  {"kernel_w", 3, 1, 5},
                  {"pad_h", 1, 0, 4, false},
                  {"pad_w", 1, 0, 4, false},
                  {"outside", 0, 0, 1, false}};
  im2col.parallel_sizes = {{{"channels", 20}, {"height", 15}, {"width", 16}, {"mask_cnt", 900}}};
  // Rows of data_col combine channels and offsets.
  im2col.report_shape = [](const Arguments& a) {
    return Dims{a[0].dim(1), a.integer("kernel_h") * a.integer("kernel_w"), a[1].dim(0)};
  };
  im2col.make = make_im2col;
  im2col.copies = true;
  im2col.fit = fit_im2col;
  im2col.reductions = {axis_reduction("masks", {{1, 0}, {2, 0}}, {{0, 1}}), axis_reduction("channels", {{0, 1}})};
  Operator col2im;
  col2im.name = "masked_col2im_forward";
  col2im.function = "mluOpMaskedCol2imForward";
  col2im.query_function = "mluOpGetMaskedCol2imForwardWorkspaceSize";
  col2im.tensors = {{"col", Role::kInput, {"channel", "mask"}, kAnyLayout},
                    rows,
                    columns,
                    {"im", Role::kOutput, {"batch", "channel", "row", "column"}, {}, {2, 3}}};
  col2im.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetMaskedCol2imForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc, bytes);
  };
  col2im.run = [](const Arguments& a) {
    return call(mluOpMaskedCol2imForward, a.handle, a[0], a[1], a[2], a.workspace_size, a.workspace, a[3]);
  };
  col2im.expect = expect_col2im;
  col2im.sizes = {
      {"channels", 8}, {"height", 12}, {"width", 16}, {"mask_cnt", 40, 1, 400}, {"ordered", 1, 0, 1, false}};
  col2im.parallel_sizes = {{{"channels", 40}, {"height", 30}, {"width", 31}, {"mask_cnt", 900}}};
  col2im.make = make_col2im;
  col2im.copies = true;
  col2im.fit = fit_col2im;
  col2im.reductions = {axis_reduction("masks", {{0, 1}, {1, 0}, {2, 0}}),
                       axis_reduction("channels", {{0, 0}}, {{0, 1}})};
  return {im2col, col2im};
}

}  // namespace mluop::cases::masked_convolution

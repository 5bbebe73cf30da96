// PixelRegions: labeled regions of an image that grow, breadth first, over the free pixels next to them.
//
//   regions.start(label_of, is_free, grows) reads the image; regions.grow(order, accepts) labels free pixels;
//   regions.write(output) writes the labels. All of them are serial: a result depends on the order of the queue.
//
// Memory: 4 bytes a pixel and 4 bytes a pixel of the border of one pixel, plus 8 bytes a pixel for the queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/arena.h"
#include "core/checks.h"
#include "core/sizes.h"

namespace mluop {

class PixelRegions {
 public:
  // In which order the neighbors of a pixel are visited.
  enum class Order { kRowsFirst, kColumnsFirst };  // up, down, left, right; left, right, up, down

  // Requires an image that int32 can address. NOT_SUPPORTED.
  static void require_size(std::string_view name, int64_t height, int64_t width) {
    const auto with_border = [](int64_t size) { return checked_sum(size, 2).value_or(INT64_MAX); };
    const int64_t places = saturated_product({with_border(height), with_border(width)});
    require(places < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, name, " has ", places,
            " elements with a border of one pixel, expected fewer than 2^31");
  }

  PixelRegions(Arena& arena, int64_t height, int64_t width)
      : labels_(arena.take<int32_t>("labels", {height + 2, width + 2})),
        queue_(arena.take<Pixel>("queue", {height, width})),
        height_(height),
        width_(width) {}

  // For each pixel i, in row order: label_of(i) is the label of its region if it is positive; else the pixel is
  // free if is_free(i). A pixel of a region grows if grows(i).
  template <class LabelOf, class IsFree, class Grows>
  void start(const LabelOf& label_of, const IsFree& is_free, const Grows& grows) {
    count_ = 0;
    std::fill_n(labels_, row_places(), kBlocked);
    int32_t pixel = 0;
    for (int64_t y = 0; y < height_; ++y) {
      const int64_t first = (y + 1) * row_places();
      labels_[first] = labels_[first + width_ + 1] = kBlocked;
      for (int64_t place = first + 1; place <= first + width_; ++place, ++pixel) {
        const int32_t label = label_of(pixel);
        if (label > 0) {
          labels_[place] = label;
          if (grows(pixel)) queue_[count_++] = {static_cast<int32_t>(place), pixel};
        } else {
          labels_[place] = is_free(pixel) ? kFree : kBlocked;
        }
      }
    }
    std::fill_n(labels_ + (height_ + 1) * row_places(), row_places(), kBlocked);
  }

  // First in, first out: the first pixel of the queue takes each neighbor that is free and that
  // accepts(label, neighbor) accepts.
  template <class Accepts>
  void grow(Order order, const Accepts& accepts) {
    const auto row = static_cast<int32_t>(row_places()), width = static_cast<int32_t>(width_);
    const Pixel up{-row, -width}, down{row, width}, left{-1, -1}, right{1, 1};
    const Pixel rows_first[] = {up, down, left, right}, columns_first[] = {left, right, up, down};
    const Pixel* const steps = order == Order::kRowsFirst ? rows_first : columns_first;
    for (int64_t head = 0; head < count_; ++head) {
      const Pixel from = queue_[head];
      const int32_t label = labels_[from.place];
      for (const Pixel* step = steps; step < steps + 4; ++step) {
        const Pixel to{from.place + step->place, from.pixel + step->pixel};
        if (labels_[to.place] != kFree || !accepts(label, to.pixel)) continue;
        labels_[to.place] = label;
        queue_[count_++] = to;
      }
    }
  }

  // Writes the label of each pixel, 0 outside the regions.
  void write(int32_t* output) const {
    for (int64_t y = 0; y < height_; ++y) {
      const int32_t* const row = labels_ + (y + 1) * row_places() + 1;
      std::transform(row, row + width_, output + y * width_, [](int32_t label) { return std::max(label, 0); });
    }
  }

 private:
  static constexpr int32_t kFree = 0, kBlocked = -1;

  struct Pixel {
    int32_t place;  // in labels_
    int32_t pixel;  // in the image
  };

  int64_t row_places() const { return width_ + 2; }

  int32_t* labels_;  // [height + 2, width + 2]; the border is blocked
  Pixel* queue_;     // [height, width]: each pixel of a region is pushed at most once
  int64_t height_, width_;
  int64_t count_ = 0;  // of the queue
};

}  // namespace mluop

#include "reference/nms.h"

#include <algorithm>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::nms {
namespace {

constexpr int64_t kTurnedColumns = 7;
enum Mode { kIndices, kRows, kColumns, kBatchAndClass };

// Boxes with arbitrary numbers, or boxes at the given number of places, where they touch, contain and equal each
// other.
const SizeRule kPlaces = {"places", 3, 0, 3, false};
const SizeRule kIouPercent = {"iou_percent", 50, 0, 70, false};

bool by_column(const Parameters& parameters) { return parameters.integer("input_layout") != 0; }

// The dimension of boxes that is their count; the other one holds the numbers of a box.
size_t count_dim(const Parameters& parameters, const Dims& boxes) {
  return boxes.size() - (by_column(parameters) ? 1 : 2);
}
size_t column_dim(const Parameters& parameters, const Dims& boxes) {
  return boxes.size() - (by_column(parameters) ? 2 : 1);
}

// 3-D boxes have no confidence. A case may state one, as cases of MLU-OPS do; it is not passed.
bool is_turned(const Parameters& parameters, const Dims& boxes) {
  return boxes.size() == 2 && boxes[column_dim(parameters, boxes)] == kTurnedColumns;
}
bool is_turned(const Arguments& a) { return is_turned(*a.parameters, a[0].dims); }

Operand confidence_of(const Arguments& a) { return is_turned(a) ? Operand() : a[1]; }

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

mluOpStatus_t set(const Arguments& a, mluOpNmsDescriptor_t desc) {
  return mluOpSetNmsDescriptor(
      desc, static_cast<mluOpNmsBoxPointMode_t>(a.int32("box_mode")),
      static_cast<mluOpNmsOutputMode_t>(a.int32("mode")), static_cast<mluOpNmsAlgo_t>(a.int32("algo")),
      static_cast<mluOpNmsMethodMode_t>(a.int32("method_mode")), real(a, "iou_threshold"),
      real(a, "soft_nms_sigma"), a.int32("max_output_boxes"), real(a, "confidence_threshold"), real(a, "offset"),
      a.int32("input_layout"), a.integer("pad_to_max_output_size") != 0);
}

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  const NmsDescriptor desc;
  const mluOpStatus_t status = set(a, desc);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpGetNmsWorkspaceSize(a.handle, desc, a[0].desc, confidence_of(a).desc, bytes);
}

mluOpStatus_t run(const Arguments& a) {
  const NmsDescriptor desc;
  const mluOpStatus_t status = set(a, desc);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return call(mluOpNms, a.handle, mluOpNmsDescriptor_t{desc}, a[0], confidence_of(a), a.workspace,
              a.workspace_size, a[2], a[3].as<void>());
}

void expect(Arguments& a) {
  const Parameters& parameters = *a.parameters;
  const Dims& boxes = a[0].dims;
  const int64_t N = boxes[count_dim(parameters, boxes)];
  if (is_turned(a)) {
    return reference::nms3d({N, by_column(parameters), true, real(a, "iou_threshold")}, a[0].as<float>(),
                            a[2].as<int32_t>(), a[3].as<int32_t>());
  }
  const bool has_batches = a[1].dims.size() == 3;
  const reference::NmsProblem problem{.B = has_batches ? boxes[0] : 1,
                                      .C = has_batches ? a[1].dim(1) : 1,
                                      .N = N,
                                      .by_column = by_column(parameters),
                                      .has_center = a.int32("box_mode") == MLUOP_NMS_BOX_CENTER,
                                      .offset = real(a, "offset"),
                                      .iou_threshold = real(a, "iou_threshold"),
                                      .confidence_threshold = real(a, "confidence_threshold"),
                                      .max_output_size = a.int32("max_output_boxes"),
                                      .mode = a.int32("mode")};
  with_element_type(a[0], [&]<class T>() {
    reference::nms(problem, a[0].as<T>(), a[1].as<T>(), a[2].as<void>(), a[3].as<int32_t>());
  });
}

void fit(Case& c) {
  set_shape(c.outputs[1], {1});
  const Dims& boxes = c.inputs[0].dims;
  if (is_turned(c.parameters, boxes)) {
    return set_shape(c.outputs[0], {boxes[count_dim(c.parameters, boxes)]});
  }
  const bool has_batches = boxes.size() == 3;
  const int64_t batches = has_batches ? boxes[0] : 1, classes = has_batches ? c.inputs[1].dims[1] : 1;
  const int64_t rows = checked_product({batches, classes, c.parameters.integer("max_output_boxes")}, INT64_MAX);
  switch (c.parameters.integer("mode")) {
    case kRows: return set_shape(c.outputs[0], {rows, 5});
    case kColumns: return set_shape(c.outputs[0], {5, rows});
    case kBatchAndClass: return set_shape(c.outputs[0], {rows, 3});
    default: return set_shape(c.outputs[0], {rows});
  }
}

// Boxes whose coordinates are multiples of 1/8, which half represents.
class Scene {
 public:
  Scene(int32_t seed, int64_t places) : random_(seed), places_(places) {}

  // x1, y1, x2, y2.
  std::vector<float> corners() {
    if (!last_.empty() && random_.below(8) == 0) return last_;
    const float x = place(), y = place();
    return last_ = {x, y, x + eighths(1, 24), y + eighths(1, 24)};
  }

  // x, y, z, dx, dy, dz, yaw.
  std::vector<float> turned() {
    if (!last_.empty() && random_.below(8) == 0) return last_;
    const float x = place(), y = place();
    return last_ = {x, y, eighths(0, 8), eighths(1, 24), eighths(1, 24), eighths(1, 24), eighths(-24, 24)};
  }

  // Multiples of 1/16 in [0, 1).
  float confidence() { return eighths(0, 7) + (random_.below(2) == 0 ? 0.0F : 0.0625F); }

 private:
  float eighths(int low, int high) { return static_cast<float>(low + random_.below(high - low + 1)) / 8; }
  float place() { return 4 * static_cast<float>(random_.below(places_)) + eighths(0, 12); }

  Integers random_;
  int64_t places_;
  std::vector<float> last_;
};

// Transposes boxes [batches, N, columns] to [batches, columns, N].
std::vector<float> transposed(const std::vector<float>& boxes, size_t N, size_t columns) {
  std::vector<float> to(boxes.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    const size_t box = i / columns, column = i % columns;
    to[(box / N * columns + column) * N + box % N] = boxes[i];
  }
  return to;
}

// N boxes for each of `batches`.
Tensor make_boxes(const Recipe& r, mluOpDataType_t dtype, int64_t batches, int64_t columns, bool has_center,
                  const Dims& dims, bool columns_first) {
  const Tensor boxes = make_tensor("boxes", dtype, dims);
  if (r["places"] == 0) return with_uniform(boxes, r.seed);
  checked_product({batches, r["n"], columns});
  Scene scene(r.seed, r["places"]);
  std::vector<float> values;
  for (int64_t i = 0; i < batches * r["n"]; ++i) {
    std::vector<float> box = columns == kTurnedColumns ? scene.turned() : scene.corners();
    if (has_center) {
      box = {(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]};
    }
    values.insert(values.end(), box.begin(), box.end());
  }
  return with_numbers(boxes, columns_first
                                 ? transposed(values, static_cast<size_t>(r["n"]), static_cast<size_t>(columns))
                                 : values);
}

double iou_threshold_of(const Recipe& r) { return double{static_cast<float>(r["iou_percent"]) / 100}; }

Case make(const Recipe& r) {
  const bool is_turned = r["planar"] == 0, has_batches = !is_turned && r["batches"] != 0;
  const int64_t B = has_batches ? r["b"] : 1, C = has_batches ? r["c"] : 1, N = r["n"];
  const int64_t mode = B == 1 && C == 1 ? r["mode"] : int64_t{kBatchAndClass};
  const int64_t columns = is_turned ? kTurnedColumns : 4;
  const auto dtype = is_turned ? MLUOP_DTYPE_FLOAT : r.dtype;
  Case c = new_case("nms", r, {"box_mode"});
  c.parameters.set("run_mode", 0);
  c.parameters.set("max_output_boxes", r["max_output_size"]);
  c.parameters.set_real("iou_threshold", iou_threshold_of(r));
  c.parameters.set_real("confidence_threshold", 0.125);
  c.parameters.set("input_layout", r["input_layout"]);
  c.parameters.set("mode", mode);
  c.parameters.set("algo", 0);
  c.parameters.set_real("offset", static_cast<double>(r["offset"]));
  c.parameters.set("method_mode", 0);
  c.parameters.set_real("soft_nms_sigma", 0);
  c.parameters.set("pad_to_max_output_size", 0);
  const bool columns_first = by_column(c.parameters);
  Dims dims = columns_first ? Dims{columns, N} : Dims{N, columns};
  if (has_batches) dims.insert(dims.begin(), B);
  c.inputs = {make_boxes(r, dtype, B, columns, !is_turned && r["box_mode"] != 0, dims, columns_first)};
  if (!is_turned) {
    const Tensor confidence = make_tensor("confidence", dtype, has_batches ? Dims{B, C, N} : Dims{N});
    checked_product({B, C, N});
    std::vector<float> values(static_cast<size_t>(B * C * N));
    Scene scene(r.seed + 1, 1);
    std::generate(values.begin(), values.end(), [&] { return scene.confidence(); });
    c.inputs.push_back(r["places"] == 0 ? with_uniform(confidence, r.seed + 1) : with_numbers(confidence, values));
  }
  const bool copies = !is_turned && (mode == kRows || mode == kColumns);
  c.outputs = {make_tensor("output", copies ? dtype : MLUOP_DTYPE_INT32),
               make_tensor("output_size", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

// For each batch.
Reduction box_reduction() {
  return {"boxes",
          [](const Case& c) {
            const Dims& boxes = c.inputs[0].dims;
            return boxes[count_dim(c.parameters, boxes)];
          },
          [](Case& c, const std::vector<int64_t>& kept) {
            const size_t dim = count_dim(c.parameters, c.inputs[0].dims);
            c.inputs[0] = slices_of(c.inputs[0], dim, kept);
            if (c.inputs.size() > 1) c.inputs[1] = slices_of(c.inputs[1], c.inputs[1].dims.size() - 1, kept);
          }};
}

// Dimension 0 of boxes and confidence (or dimension 1 of confidence, for classes) of a case with batches.
Reduction batch_reduction(const char* name, bool of_classes) {
  return {name,
          [of_classes](const Case& c) {
            if (c.inputs[0].dims.size() < 3) return int64_t{1};
            return of_classes ? c.inputs[1].dims[1] : c.inputs[0].dims[0];
          },
          [of_classes](Case& c, const std::vector<int64_t>& kept) {
            if (!of_classes) c.inputs[0] = slices_of(c.inputs[0], 0, kept);
            c.inputs[1] = slices_of(c.inputs[1], of_classes ? 1 : 0, kept);
          }};
}

// A kept box is compared with the other boxes of its suppression: 14 operations.
Work work_of(const Arguments& a, size_t inputs, int64_t N) {
  const int64_t kept = *a.tensors.back().as<int32_t>();
  return each_once(a, inputs, 14 * kept * N);
}

Operator nms_operator() {
  Operator op;
  op.name = "nms";
  op.function = "mluOpNms";
  op.query_function = "mluOpGetNmsWorkspaceSize";
  op.tensors = {{"boxes", Role::kInput, {}, kAnyLayout},
                {"confidence", Role::kInput, {}, kAnyLayout},
                {"output", Role::kOutput, {}, kAnyLayout},
                {"output_size", Role::kOutput, {"element"}, kAnyLayout}};
  op.tensors[1].is_optional = true;
  op.tensors[3].has_descriptor = false;
  op.parameter_messages = {"nms_param"};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.copies = true;
  op.sizes = {{"n", 100, 1, 400},
              {"b", 2, 1, 3},
              {"c", 3, 1, 4},
              {"max_output_size", 40, 1, 100},
              {"batches", 0, 0, 1, false},
              {"mode", kIndices, kIndices, kBatchAndClass, false},
              {"input_layout", 0, 0, 1, false},
              {"box_mode", 0, 0, 1, false},
              {"offset", 0, 0, 1, false},
              {"planar", 1, 0, 1, false},
              kIouPercent,
              kPlaces};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 3000}, {"max_output_size", 200}, {"mode", 1}},
                       {{"n", 700}, {"batches", 1}, {"input_layout", 1}, {"box_mode", 1}},
                       {{"n", 700}, {"planar", 0}}};
  op.work = [](const Arguments& a) { return work_of(a, 2, a[0].dims[count_dim(*a.parameters, a[0].dims)]); };
  op.make = make;
  op.fit = fit;
  op.reductions = {box_reduction(), batch_reduction("batches", false), batch_reduction("classes", true)};
  return op;
}

void fit_upright(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0]});
  set_shape(c.outputs[1], {1});
}

Case make_upright(const Recipe& r) {
  Case c = new_case("nms3d_normal", r);
  c.parameters.message = "nms3d_normal_param";
  c.parameters.set_real("iou_threshold", iou_threshold_of(r));
  c.inputs = {make_boxes(r, MLUOP_DTYPE_FLOAT, 1, kTurnedColumns, false, {r["n"], kTurnedColumns}, false)};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_INT32), make_tensor("result_num", MLUOP_DTYPE_INT32)};
  fit_upright(c);
  return c;
}

Operator upright_operator() {
  Operator op;
  op.name = "nms3d_normal";
  op.function = "mluOpOmpNms3dNormal";
  op.query_function = "mluOpOmpGetNms3dNormalWorkspaceSize";
  op.tensors = {{"boxes", Role::kInput, {"box", "number"}, kAnyLayout},
                {"output", Role::kOutput, {"box"}, kAnyLayout},
                {"result_num", Role::kOutput, {"element"}, kAnyLayout}};
  op.tensors[2].has_descriptor = false;
  op.parameter_messages = {"nms3d_normal_param"};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpOmpGetNms3dNormalWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpOmpNms3dNormal, a.handle, real(a, "iou_threshold"), a[0], a.workspace, a.workspace_size, a[1],
                a[2].as<int32_t>());
  };
  op.expect = [](Arguments& a) {
    reference::nms3d({a[0].dim(0), false, false, real(a, "iou_threshold")}, a[0].as<float>(), a[1].as<int32_t>(),
                     a[2].as<int32_t>());
  };
  op.sizes = {{"n", 100, 1, 400}, kIouPercent, kPlaces};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 2000}}};
  op.work = [](const Arguments& a) { return work_of(a, 1, a[0].dim(0)); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.make = make_upright;
  op.fit = fit_upright;
  op.reductions = {axis_reduction("boxes", {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {nms_operator(), upright_operator()}; }

}  // namespace mluop::cases::nms

// NMS: the launches of the native algorithm. For one suppression at a time: selects the candidates, sorts them,
// prepares their boxes, suppresses, and writes the kept boxes.
#include "ops/nms/nms.h"

#include <utility>

#include "core/dtype.h"
#include "ops/nms/nms_native_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::nms::native {
namespace {

// Cost of each step for a box, in bytes of memory traffic.
constexpr int64_t kSelectBytes = 8;
constexpr int64_t kPrepareBytes = 128;

// The number of boxes for which Selection has buffers.
int64_t selected_count(const Args& args) { return args.has_confidence() ? args.N : 0; }

struct Workspace {
  Workspace(Arena& arena, const Args& args)
      : selection(arena, selected_count(args)), candidates(arena, args.box_kind, args.N) {}

  Selection selection;
  Candidates candidates;
};

// Returns the number of selected boxes.
int64_t select(Context& context, const SelectArgs& args) {
  const Selection& selection = args.selection;
  const auto over_chunks = [&](const char* name, RangeKernel<SelectArgs> kernel) {
    launch(context, name, choose_task_dim(selection.chunks, args.N * kSelectBytes), Evenly{selection.chunks},
           kernel, args);
  };
  over_chunks("count", count_kernel(args.dtype));
  int64_t count = 0;
  for (int64_t chunk = 0; chunk < selection.chunks; ++chunk) {
    count += std::exchange(selection.chunk_starts[chunk], count);
  }
  over_chunks("collect", collect_kernel(args.dtype));
  return count;
}

// Runs the suppression of batch b and class c, which writes rows from `first_row` on. Returns their number.
int64_t suppress_class(Context& context, const Args& args, int64_t b, int64_t c, const Selection& selection,
                       Arena arena, int64_t first_row) {
  const int64_t count = args.has_confidence() ? select(context, {args, b, c, selection}) : args.N;
  if (count == 0) return 0;
  const uint32_t* const order =
      args.has_confidence() ? sort_by_score(context, selection.scores, count, selection.order) : nullptr;
  const Candidates candidates(arena, args.box_kind, count);
  const CandidateArgs candidate_args{args, b, c, selection.boxes, order, candidates};
  launch(context, "prepare", choose_task_dim(count, count * kPrepareBytes), Evenly{count},
         prepare_kernel(args.dtype), candidate_args);
  const PairTest test{candidates, args.offset, args.iou_threshold};
  // If the threshold is negative, an IoU of 0 suppresses too.
  suppress(context, {candidates.bounds, suppresses_of(args.box_kind), &test, args.iou_threshold < 0,
                     candidates.is_suppressed});
  int64_t rows = 0;
  launch(context, "write", 1, Evenly{1}, write_kernel(args.dtype), {candidate_args, first_row, rows});
  return rows;
}

// Writes zeros past the rows that are written.
void fill_rest(Context& context, const Args& args, int64_t rows) {
  const int64_t rest = args.row_count - rows;
  const auto fill = [&](int64_t first, int64_t count, size_t element_bytes) {
    const auto bytes = static_cast<int64_t>(element_bytes);
    if (count > 0) fill_zero(context, static_cast<std::byte*>(args.output) + first * bytes, count * bytes);
  };
  switch (args.output_mode) {
    case MLUOP_NMS_OUTPUT_TARGET_INDICES: return fill(rows, rest, sizeof(int32_t));
    case MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1: return fill(rows * 5, rest * 5, size_of(args.dtype));
    case MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2:
      for (int64_t column = 0; column < 5; ++column)
        fill(column * args.row_count + rows, rest, size_of(args.dtype));
      return;
    case MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS: return fill(rows * 3, rest * 3, sizeof(int32_t));
  }
}

}  // namespace

size_t workspace_bytes(const Args& args) { return args.is_empty() ? 0 : workspace_bytes_of<Workspace>(args); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native, ", args.B * args.C, " suppressions");
  int64_t rows = 0;
  if (!args.is_empty()) {
    const Selection selection(arena, selected_count(args));
    for (int64_t b = 0; b < args.B; ++b) {
      for (int64_t c = 0; c < args.C; ++c) {
        rows += suppress_class(context, args, b, c, selection, arena, rows);
      }
    }
  }
  fill_rest(context, args, rows);
  *args.output_size = static_cast<int32_t>(rows);
}

}  // namespace mluop::nms::native

#include "recording/case_recorder.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/log.h"
#include "core/simd.h"
#include "core/text.h"
#include "mlu_op_omp.h"

namespace mluop {
namespace {

namespace fs = std::filesystem;

// Tensors with more elements are recorded in files, unless the settings state a format.
constexpr int64_t kMaxInlineElements = 65536;
// Bytes of elements, or of text, that are written together; the text of elements is several times as large.
constexpr size_t kTextBytes = size_t{1} << 16;
constexpr std::string_view kUnfinished = ".tmp";

// "20260729_15_04_05_123456", in UTC.
std::string time_text(int64_t microseconds) {
  constexpr int64_t kSecond = 1'000'000;
  const time_t seconds = microseconds / kSecond;
  tm utc;
  gmtime_r(&seconds, &utc);
  std::array<char, 64> digits;
  const int count = std::snprintf(digits.data(), digits.size(), "%04d%02d%02d_%02d_%02d_%02d_%06d",
                                  utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                                  utc.tm_sec, static_cast<int>(microseconds % kSecond));
  return {digits.data(), static_cast<size_t>(count)};
}

int64_t now_us() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000} + now.tv_nsec / 1000;
}

std::string environment_text(const DeclaredCall& call) {
  return text("mluop-omp ", MLUOP_OMP_VERSION_MAJOR, ".", MLUOP_OMP_VERSION_MINOR, ".", MLUOP_OMP_VERSION_PATCH,
              ": ", call.uses_device_algorithm ? "device" : "native", ", ", call.tasks, " tasks, ", call.device,
              ", NRAM ", call.nram_bytes / 1024, " KiB, ", simd_name());
}

// Calls write(bytes) for the elements of a tensor in row-major order, in parts of at most kTextBytes.
template <class Write>
void for_each_part(const Argument& tensor, const Write& write) {
  const TensorDescriptor& desc = *tensor.desc;
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  const size_t size = size_of(desc.dtype), total = static_cast<size_t>(byte_count(desc));
  const bool is_packed = is_contiguous(desc);
  std::vector<std::byte> packed(is_packed ? 0 : std::min(total, kTextBytes));
  std::array<int64_t, MLUOP_DIM_MAX> index{};
  size_t place = 0;
  for (size_t at = 0, bytes = 0; at < total; at += bytes) {
    // A multiple of the size of every element.
    bytes = std::min(total - at, kTextBytes);
    if (is_packed) {
      write(std::span(data + at, bytes));
      continue;
    }
    for (size_t i = 0; i < bytes; i += size) {
      std::memcpy(&packed[i], data + place * size, size);
      for (size_t dim = desc.shape().size(); dim-- > 0;) {
        place += static_cast<size_t>(desc.strides[dim]);
        if (++index[dim] < desc.dims[dim]) break;
        place -= static_cast<size_t>(desc.strides[dim] * desc.dims[dim]);
        index[dim] = 0;
      }
    }
    write(std::span<const std::byte>(packed.data(), bytes));
  }
}

// Never throws, although building the text may fail for lack of memory.
void report(CaseSettings& settings, const char* what) noexcept {
  if (std::exchange(settings.failure_logged, true)) return;
  try {
    log_error(text("MLUOP_GEN_CASE: ", what));
  } catch (const std::exception&) {
    log_error("MLUOP_GEN_CASE: out of memory");
  }
}

}  // namespace

std::unique_ptr<CaseRecorder> CaseRecorder::begin(CaseSettings& settings, const DeclaredCall& call) noexcept {
  try {
    std::string op_name = op_name_of(call.function);
    // Another thread may have switched recording off.
    const CaseMode mode = case_mode_of(settings);
    if (mode == CaseMode::kOff || !settings.selects(op_name)) return nullptr;
    auto recorder = std::make_unique<CaseRecorder>(settings, call, std::move(op_name), mode);
    recorder->write_before_call();
    return recorder;
  } catch (const std::exception& failure) {
    report(settings, failure.what());
    return nullptr;
  }
}

CaseRecorder::CaseRecorder(CaseSettings& settings, const DeclaredCall& call, std::string op_name, CaseMode mode)
    : settings_(settings), call_(call), op_name_(std::move(op_name)), mode_(mode) {
  if (mode_ != CaseMode::kPrint) create_file();
}

CaseRecorder::~CaseRecorder() {
  for (const std::string& name : created_) unlink(name.c_str());
}

void CaseRecorder::finish() noexcept {
  try {
    write_after_call();
    publish();
  } catch (const std::exception& failure) {
    report(settings_, failure.what());
  }
}

// The name contains the time in microseconds. If it exists, for example because the clock was set back, tries
// later times.
void CaseRecorder::create_file() {
  const fs::path folder = fs::path(case_directory_of(settings_.directory)) / "gen_case" / op_name_;
  fs::create_directories(folder);
  constexpr int kAttempts = 1000;
  const int64_t now = now_us();
  for (int attempt = 1;; ++attempt) {
    name_ = text((folder / op_name_).native(), "_", time_text(now + attempt), "_tid", gettid(), "_device0");
    std::string unfinished = text(name_, ".prototxt", kUnfinished);
    if (attempt < kAttempts && (fs::exists(name_ + ".prototxt") || fs::exists(unfinished))) continue;
    created_.reserve(1);
    file_ = std::make_unique<OutputFile>(unfinished);
    created_.push_back(std::move(unfinished));
    return;
  }
}

void CaseRecorder::write_before_call() {
  text_.comment(environment_text(call_));
  text_.string_field("op_name", op_name_);
  for (const Argument& argument : call_.arguments) {
    if (argument.is_output()) {
      CaseText& initial = initial_.emplace_back(1);
      if (argument.kind != Argument::Kind::kInOut) continue;
      CaseText contents(2);
      write_elements(contents, argument, settings_.input_format, true);
      if (contents.text().empty()) continue;
      initial.begin("initial");
      initial.append(contents);
      initial.end();
    } else if (argument.is_tensor()) {
      text_.begin("input");
      text_.string_field("id", argument.name);
      text_.descriptor(*argument.desc);
      write_elements(text_, argument, settings_.input_format, false);
      text_.end();
    }
  }
  flush_above(0);
  if (file_ != nullptr) file_->flush();
}

void CaseRecorder::write_after_call() {
  auto initial = initial_.begin();
  for (const Argument& argument : call_.arguments) {
    if (!argument.is_output()) continue;
    text_.begin("output");
    text_.string_field("id", argument.name);
    text_.descriptor(*argument.desc);
    text_.append(*initial++);
    write_elements(text_, argument, settings_.output_format, false);
    text_.end();
  }
  if (call_.uses_device_algorithm) {
    text_.begin("omp_settings");
    text_.string_field("algorithm", "device");
    text_.field("tasks", call_.tasks);
    text_.end();
  }
  const auto is_host_array = [](const Argument& argument) { return !argument.is_tensor(); };
  if (call_.parameters.empty() && std::ranges::none_of(call_.arguments, is_host_array)) return;
  text_.begin(op_name_ + "_param");
  for (const Parameter& parameter : call_.parameters) text_.parameter(parameter);
  for (const Argument& argument : call_.arguments) {
    if (!is_host_array(argument)) continue;
    const std::span numbers(static_cast<const int64_t*>(argument.data), static_cast<size_t>(argument.count()));
    for (const int64_t number : numbers) text_.field(argument.name, number);
  }
  text_.end();
}

void CaseRecorder::write_elements(CaseText& text, const Argument& tensor, CaseFormat format, bool initial) {
  const int64_t count = element_count(*tensor.desc);
  if (mode_ != CaseMode::kData || format == CaseFormat::kNone || tensor.data == nullptr || count == 0) return;
  // Text written before the elements of an output are known is kept in memory.
  const bool is_large = count > kMaxInlineElements;
  if (settings_.files || (is_large && (format == CaseFormat::kBitsOrFile || initial))) {
    const std::string name = mluop::text(name_, "_", tensor.name, initial ? "_initial" : "", ".bin");
    write_raw_file(tensor, name);
    text.string_field("path", fs::path(name).filename().native());
    return;
  }
  const bool decimal = format == CaseFormat::kDecimal;
  text.begin_elements(tensor.desc->dtype, decimal);
  for_each_part(tensor, [&](std::span<const std::byte> bytes) {
    text.elements(tensor.desc->dtype, decimal, bytes);
    if (&text == &text_) flush_above(kTextBytes);
  });
  text.end_elements();
}

void CaseRecorder::write_raw_file(const Argument& tensor, std::string name) {
  created_.reserve(created_.size() + 1);
  OutputFile file(name);
  created_.push_back(std::move(name));
  for_each_part(tensor, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.close();
}

void CaseRecorder::flush_above(size_t bytes) {
  if (file_ == nullptr || text_.text().size() <= bytes) return;
  file_->write(std::as_bytes(std::span(text_.text())));
  text_.clear();
}

void CaseRecorder::publish() {
  if (file_ == nullptr) {
    print(text_.text());
    return;
  }
  flush_above(0);
  file_->close();
  const std::string name = name_ + ".prototxt";
  fs::rename(file_->name(), name);
  created_.clear();
  log_info(text("[", call_.function, "] recorded in ", name));
}

}  // namespace mluop

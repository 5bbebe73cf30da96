#include <filesystem>
#include <optional>

#include "case/call.h"
#include "case/case_folder.h"
#include "case/files.h"
#include "case/json.h"
#include "case/npy.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

std::vector<Bytes> required_results(const Case& the_case, const LoadedCase& loaded) {
  try {
    return oracle_results(loaded);
  } catch (const Problem&) {
    throw;
  } catch (const std::runtime_error& error) {
    fail({the_case.file}, std::string("the call is rejected, so that there are no results: ") + error.what());
  }
}

class FolderWriter {
 public:
  FolderWriter(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results)
      : case_(the_case), folder_(folder), format_(format), loaded_(the_case) {
    results_.resize(loaded_.bound().size());
    bool complete = true;
    for (size_t i = 0; i < results_.size(); ++i) {
      const BoundTensor& bound = loaded_.bound()[i];
      const bool stated = bound.after != nullptr;
      if (stated && (results == FolderResults::kAll || results == FolderResults::kStated)) {
        results_[i] = loaded_.after(i);
      } else if (loaded_.op().tensors[i].is_written() && !bound.tensor->is_null()) {
        complete = false;
      }
    }
    if (complete || results == FolderResults::kStated || results == FolderResults::kNone) return;
    std::vector<Bytes> computed = required_results(the_case, loaded_);
    for (size_t i = 0; i < results_.size(); ++i) {
      const bool is_written = loaded_.op().tensors[i].is_written() && !loaded_.bound()[i].tensor->is_null();
      if (is_written && !results_[i]) results_[i] = std::move(computed[i]);
    }
  }

  void write() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) fail({}, "cannot create " + folder_.string() + ": " + error.message());
    std::string text = "{\n \"version\": " + std::to_string(kFolderVersion) + ",\n";
    const auto add = [&](const char* key, const OrderedJson& value) {
      text += " \"" + std::string(key) + "\": " + value.dump() + ",\n";
    };
    add("operator", case_.op_name);
    add("parameters", parameters(true));
    add("defaults", parameters(false));
    OrderedJson criteria = OrderedJson::array();
    for (const Criterion& criterion : case_.criteria) {
      criteria.push_back({{"metric", name_of(criterion.metric)}, {"threshold", to_json(criterion.threshold)}});
      if (criterion.imaginary_threshold) {
        criteria.back()["imaginary_threshold"] = to_json(*criterion.imaginary_threshold);
      }
    }
    add("criteria", criteria);
    if (case_.algorithm) add("algorithm", *case_.algorithm);
    if (case_.tasks) add("tasks", *case_.tasks);
    text += tensors("inputs", case_.inputs, false) + ",\n" + tensors("outputs", case_.outputs, true) + "\n}\n";
    write_file((folder_ / kFolderDescription).string(), text);
  }

 private:
  OrderedJson parameters(bool present) const {
    OrderedJson json = OrderedJson::object();
    for (const Parameter& parameter : case_.parameters.all) {
      if (parameter.present != present || (!present && parameter.kind == Parameter::Kind::kText)) continue;
      switch (parameter.kind) {
        case Parameter::Kind::kInteger: json[parameter.name] = parameter.integer; break;
        case Parameter::Kind::kReal: json[parameter.name] = to_json(parameter.real); break;
        case Parameter::Kind::kText: json[parameter.name] = parameter.text; break;
        case Parameter::Kind::kList: json[parameter.name] = parameter.list; break;
      }
    }
    return json;
  }

  std::string tensors(const char* key, const std::vector<Tensor>& tensors, bool are_outputs) const {
    std::string text = " \"" + std::string(key) + "\": [";
    for (size_t i = 0; i < tensors.size(); ++i) {
      text += (i == 0 ? "\n  " : ",\n  ") + description(tensors[i], are_outputs).dump();
    }
    return text + "\n ]";
  }

  // Writes the elements of a tensor.
  OrderedJson description(const Tensor& tensor, bool is_output) const {
    OrderedJson json = {{"id", tensor.id},
                        {"dtype", dtype_name(tensor.dtype)},
                        {"shape", tensor.dims},
                        {"layout", layout_name(tensor.layout)}};
    if (!tensor.strides.empty()) json["strides"] = tensor.strides;
    if (tensor.onchip_dtype != MLUOP_DTYPE_INVALID) json["onchip_dtype"] = dtype_name(tensor.onchip_dtype);
    if (tensor.is_null()) return json;
    size_t i = 0;
    while (loaded_.bound()[i].tensor != &tensor) ++i;
    const bool has_before = loaded_.bound()[i].before != nullptr;
    if (is_output) {
      if (results_[i]) json["file"] = write_elements(i, "", *results_[i]);
      if (has_before) json["initial"] = write_elements(i, ".initial", loaded_.before(i));
    } else {
      json["file"] = write_elements(i, "", loaded_.before(i));
      if (results_[i]) json["result"] = write_elements(i, ".result", *results_[i]);
    }
    return json;
  }

  // Returns the name of the file.
  std::string write_elements(size_t i, const char* suffix, const Bytes& bytes) const {
    const Tensor& tensor = *loaded_.bound()[i].tensor;
    const bool is_npy = format_ == FolderFormat::kNpy;
    const std::string name = loaded_.op().tensors[i].id + suffix + (is_npy ? ".npy" : ".bin");
    const std::string file = (folder_ / name).string();
    if (is_npy) {
      write_npy(file, npy_type(tensor.dtype), tensor.dims, bytes);
    } else {
      write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return name;
  }

  const Case& case_;
  fs::path folder_;
  FolderFormat format_;
  LoadedCase loaded_;
  std::vector<std::optional<Bytes>> results_;  // by tensor of the operator
};

}  // namespace

void write_folder(const Case& the_case, const std::string& folder, FolderFormat format, FolderResults results) {
  FolderWriter(the_case, folder, format, results).write();
}

}  // namespace mluop::cases

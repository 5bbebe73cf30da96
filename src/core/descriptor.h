// Creation and destruction of the objects behind the descriptors of mlu_op.h.
#pragma once

#include <string_view>

#include "core/boundary.h"
#include "core/checks.h"

namespace mluop {

// Sets *descriptor to a new object with default values. `name` is the name of the parameter.
template <class Descriptor>
mluOpStatus_t create_descriptor(std::string_view function, std::string_view name, Descriptor** descriptor) {
  return run_guarded(function, [&] {
    require_not_null(name, descriptor);
    *descriptor = new Descriptor();
  });
}

template <class Descriptor>
mluOpStatus_t destroy_descriptor(std::string_view function, std::string_view name, Descriptor* descriptor) {
  return run_guarded(function, [&] {
    require_not_null(name, descriptor);
    delete descriptor;
  });
}

}  // namespace mluop

#include "python/bindings/native.h"

#include <array>

namespace assay::python {

void refuse_argument(std::string place, std::string required, std::string found) {
  refuse({Rejection::Kind::malformed, "python.argument", std::move(place), std::move(required), std::move(found),
          "see help() of the function"});
}

nb::dict to_dict(const Rejection& why) {
  constexpr std::array kKinds = {"rejected", "declined", "malformed", "unsupported"};
  nb::dict dict;
  dict["kind"] = kKinds[static_cast<std::size_t>(why.kind)];
  for (const auto& [name, text] : {std::pair{"code", &why.code}, std::pair{"place", &why.place}, std::pair{"required", &why.required},
                                   std::pair{"found", &why.found}, std::pair{"advice", &why.advice}})
    dict[name] = nb::steal(PyUnicode_DecodeUTF8(text->data(), static_cast<Py_ssize_t>(text->size()), "replace"));
  return dict;
}

nb::tuple to_tuple(const Shape& shape) {
  nb::list list;
  for (const std::int64_t extent : shape) list.append(extent);
  return nb::tuple(list);
}

nb::bytes to_bytes(const std::vector<double>& values) { return nb::bytes(values.data(), values.size() * sizeof(double)); }

const char* name_of(DType dtype) { return dtype == DType::boolean ? "bool" : to_string(dtype); }

}  // namespace assay::python

namespace {

namespace nb = nanobind;

// errors.py makes the exception.
void raise(const assay::Rejection& why) {
  const nb::gil_scoped_acquire acquire;
  try {
    const nb::object error = nb::module_::import_("assay.errors").attr("from_rejection")(assay::python::to_dict(why));
    PyErr_SetObject(error.type().ptr(), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native half of the package assay: see _native.pyi.";
  nb::register_exception_translator(
      [](const std::exception_ptr& error, void*) {
        try {
          std::rethrow_exception(error);
        } catch (const assay::python::Refused& refused) {
          raise(refused.why);
        } catch (const std::bad_alloc&) {
          raise({assay::Rejection::Kind::declined, "python.memory", "", "memory for the result", "a machine with too little left",
                 "use smaller inputs"});
        }
      },
      nullptr);
  assay::python::add_queries(module);
}

#include "python/bindings/native.h"

#include <array>
#include <cstring>
#include <string_view>

#include "formats/half.h"
#include "kernel/floats/named_models.h"

namespace assay::python {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 40;
constexpr int kDTypes = static_cast<int>(DType::uint64) + 1;

// The contiguous bytes of an object, while this exists.
class Buffer {
 public:
  explicit Buffer(nb::handle object, const std::string& place) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      PyErr_Clear();
      refuse_argument(place, "a contiguous buffer, such as bytes", nb::type_name(object.type()).c_str());
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(view_.len); }
  [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(view_.buf); }

 private:
  Py_buffer view_{};
};

std::optional<DType> dtype_named(const std::string& name) {
  for (int code = 0; code < kDTypes; ++code) {
    if (name == name_of(static_cast<DType>(code)) || name == to_string(static_cast<DType>(code))) return static_cast<DType>(code);
  }
  return std::nullopt;
}

// In Python, of any object: what it holds, for a message.
std::string shown(nb::handle object) {
  constexpr std::size_t kMost = 80;
  const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  if (!text.is_valid()) {
    PyErr_Clear();
    return nb::type_name(object.type()).c_str();
  }
  std::string shown = nb::cast<std::string>(text);
  return shown.size() <= kMost ? shown : shown.substr(0, kMost) + "...";
}

Shape shape_of(nb::handle value, const std::string& place) {
  Shape shape;
  if (!nb::try_cast(value, shape)) refuse_argument(place, "a shape, a sequence of whole numbers", shown(value));
  return shape;
}

}  // namespace

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

Operand operand_of(nb::handle value, const std::string& place) {
  if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value) || nb::isinstance<nb::bytes>(value) || nb::len(value) != 3)
    refuse_argument(place, "(dtype, shape, bytes)", shown(value));
  std::string name;
  if (!nb::try_cast(value[0], name)) refuse_argument(place, "an element type, such as \"float32\"", shown(value[0]));
  Operand operand;
  if (name == "float16") operand.storage = ExecutionModel::Storage::binary16;
  if (name == "bfloat16") operand.storage = ExecutionModel::Storage::bfloat16;
  const bool half = operand.storage != ExecutionModel::Storage::same;
  const auto dtype = half ? std::optional(DType::float32) : dtype_named(name);
  if (!dtype) refuse_argument(place, "float64, float32, float16, bfloat16, complex64, an integer type or bool", name);
  Shape shape = shape_of(value[1], place);
  std::size_t count = 0;
  if (!checked_element_count(shape, kMostElements, count))
    refuse_argument(place, "extents of at least 0, not too many elements", to_string(shape));
  const Buffer buffer(value[2], place);
  const std::size_t width = half ? sizeof(std::uint16_t) : byte_size(*dtype);
  if (buffer.size() != count * width)
    refuse_argument(place, std::to_string(count * width) + " bytes for " + name + " " + to_string(shape), std::to_string(buffer.size()));
  auto bytes = std::make_shared<std::vector<std::byte>>(count * byte_size(*dtype));
  if (half) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, buffer.data() + i * width, width);
      const float wide = operand.storage == ExecutionModel::Storage::binary16 ? formats::of_float16(bits) : formats::of_bfloat16(bits);
      std::memcpy(bytes->data() + i * sizeof(float), &wide, sizeof(float));
    }
  } else if (count > 0) {
    std::memcpy(bytes->data(), buffer.data(), bytes->size());
  }
  if (*dtype == DType::boolean) {
    for (const std::byte one : *bytes)
      if (std::to_integer<int>(one) > 1)
        refuse_argument(place, "truth values, bytes that are 0 or 1", std::to_string(std::to_integer<int>(one)));
  }
  operand.tensor = Tensor(*dtype, std::move(shape), std::move(bytes));
  return operand;
}

std::vector<Operand> operands_of(nb::handle list, const std::string& place) {
  if (!nb::isinstance<nb::sequence>(list) || nb::isinstance<nb::str>(list) || nb::isinstance<nb::bytes>(list))
    refuse_argument(place, "a sequence of (dtype, shape, bytes)", shown(list));
  std::vector<Operand> operands;
  const std::size_t count = nb::len(list);
  for (std::size_t i = 0; i < count; ++i) operands.push_back(operand_of(list[i], place + " " + std::to_string(i)));
  return operands;
}

ExecutionModel model_of(const std::string& text) {
  auto model = parse_execution_model(text);
  if (!model) {
    for (const std::string& spelling : {text, "float32:" + text}) {
      auto named = executions::semantics_named(spelling);
      if (!named || named.value().kind == ExecutionModel::Kind::real) continue;
      model = std::move(named);
      break;
    }
  }
  return taken(std::move(model));
}

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
          raise({assay::Rejection::Kind::declined, "python.memory", "", "memory that the machine has", "less", "use smaller inputs"});
        }
      },
      nullptr);
  assay::python::add_contracts(module);
  assay::python::add_queries(module);
}

//===- Torch.cpp - The functions of libtorch that pe::repeat uses ---------===//
#include "runtime/torch/Torch.h"

#include <dlfcn.h>

#include <type_traits>

namespace pe::torch {

std::string lookUp(const char *path, Functions &functions) {
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (!library)
    return std::string(path) + " is not loaded";
  std::string missing;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function)
      missing += std::string(missing.empty() ? "" : ", ") + name;
  };
  find(functions.getDataPtr, "aoti_torch_get_data_ptr");
  find(functions.getDim, "aoti_torch_get_dim");
  find(functions.getSizes, "aoti_torch_get_sizes");
  find(functions.getStrides, "aoti_torch_get_strides");
  find(functions.getDType, "aoti_torch_get_dtype");
  find(functions.emptyStrided, "aoti_torch_empty_strided");
  find(functions.deleteTensor, "aoti_torch_delete_tensor_object");
  find(functions.newList, "torch_new_list_reserve_size");
  find(functions.listSize, "torch_list_size");
  find(functions.listItem, "torch_list_get_item");
  find(functions.listPush, "torch_list_push_back");
  find(functions.deleteList, "torch_delete_list");
  find(functions.float32, "aoti_torch_dtype_float32");
  find(functions.bfloat16, "aoti_torch_dtype_bfloat16");
  find(functions.float16, "aoti_torch_dtype_float16");
  find(functions.int32, "aoti_torch_dtype_int32");
  find(functions.cpu, "aoti_torch_device_type_cpu");
  find(functions.newFragment, "aoti_torch_library_init_fragment");
  find(functions.newImplementations, "aoti_torch_library_init_impl");
  find(functions.define, "aoti_torch_library_def");
  find(functions.implement, "torch_library_impl");
  return missing.empty() ? "" : std::string(path) + " has no " + missing;
}

} // namespace pe::torch

// The custom operator `live::crash`, which writes to a null pointer.
#include <ATen/ATen.h>
#include <torch/library.h>

at::Tensor crash(const at::Tensor& rows) {
  volatile int* nowhere = nullptr;
  *nowhere = 42;
  return rows.clone();
}

TORCH_LIBRARY(live, library) { library.def("crash(Tensor rows) -> Tensor"); }

TORCH_LIBRARY_IMPL(live, CPU, library) { library.impl("crash", &crash); }

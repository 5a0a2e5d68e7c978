// Custom operators that fail: `live::crash` always, `live::screen` as its first value says.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cstdlib>

void write_to_nowhere() {
  volatile int* nowhere = nullptr;
  *nowhere = 42;
}

at::Tensor crash(const at::Tensor& rows) {
  write_to_nowhere();
  return rows.clone();
}

at::Tensor screen(const at::Tensor& rows) {
  const auto code = static_cast<int>(rows.flatten()[0].item<float>());
  TORCH_CHECK(code != 100, "rows must not start with code ", code);
  if (code == 200) write_to_nowhere();
  if (code == 300) std::abort();
  return rows.clone();
}

TORCH_LIBRARY(live, library) {
  library.def("crash(Tensor rows) -> Tensor");
  library.def("screen(Tensor rows) -> Tensor");
}

TORCH_LIBRARY_IMPL(live, CPU, library) {
  library.impl("crash", &crash);
  library.impl("screen", &screen);
}

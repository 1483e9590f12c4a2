// Binds strings by number.
#pragma once

#include <nanobind/nanobind.h>

void bind_texts(nanobind::module_& module);

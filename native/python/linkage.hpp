// Binds links between codes, and groups of what is linked.
#pragma once

#include <nanobind/nanobind.h>

void bind_linkage(nanobind::module_& module);

// Binds the ranking of candidates by their vectors.
#pragma once

#include <nanobind/nanobind.h>

void bind_similarity(nanobind::module_& module);

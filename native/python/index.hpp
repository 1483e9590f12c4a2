// The index part of the Python interface.
#pragma once

#include "python/arrays.hpp"

void bind_index(nb::module_& module);

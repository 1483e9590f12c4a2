// The index part of the Python face.
#pragma once

#include "arrays.hpp"

void bind_index(nb::module_& module);

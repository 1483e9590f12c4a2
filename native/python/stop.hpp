// Signals of Python, such as Ctrl-C, while the core works without the GIL.
#pragma once

#include "python/arrays.hpp"
#include "runtime/stop.hpp"

class PythonStop final : public kinhash::Stop {
  public:
    using Stop::Stop;

  private:
    void handle_signals() override {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
};

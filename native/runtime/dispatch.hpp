// Which instruction set this process uses: the best the processor has, or the one asked for.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace kinhash {

inline std::vector<const Kernels*> available_kernels() {
    std::vector<const Kernels*> list{&kernels_portable()};
#ifdef KINHASH_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
        list.push_back(&kernels_avx2());
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512vpopcntdq"))
            list.push_back(&kernels_avx512());
    }
#endif
    return list;
}

inline const Kernels*& active_kernels() {
    static const Kernels* active = available_kernels().back();
    return active;
}

inline void use_kernels(const std::string& name) {
    std::string known;
    for (const Kernels* kernels : available_kernels()) {
        if (name == kernels->name) {
            active_kernels() = kernels;
            return;
        }
        known += known.empty() ? kernels->name : std::string(", ") + kernels->name;
    }
    throw std::invalid_argument("Unknown instruction set '" + name + "'. This machine has: " + known + ".");
}

}  // namespace kinhash

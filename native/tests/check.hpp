// A check that prints where it failed and goes on, and a table of tests.
#pragma once

#include <cstdio>
#include <functional>
#include <vector>

struct Test {
    const char* name;
    std::function<void()> run;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}
inline int n_failed = 0;

inline void check_at(bool holds, const char* what, const char* file, int line) {
    if (holds) return;
    ++n_failed;
    std::printf("%s:%d: %s\n", file, line, what);
}

#define CHECK(...) check_at(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define TEST(name)                        \
    static void name();                   \
    static const bool name##_added = [] { \
        tests().push_back({#name, name}); \
        return true;                      \
    }();                                  \
    static void name()

// Runs all tests; the exit code tells whether one failed.
#include "tests/check.hpp"

int main() {
    for (const Test& test : tests()) {
        const int before = n_failed;
        test.run();
        std::printf("%s %s\n", n_failed == before ? "passed" : "FAILED", test.name);
    }
    return n_failed != 0;
}

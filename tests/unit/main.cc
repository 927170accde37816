// SPDX-License-Identifier: MIT
//
// The main function of the doctest programs.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// SPDX-License-Identifier: MIT
//
// doctest, which would show a const char* in CAPTURE and INFO as an address. (Its own switch for
// that, DOCTEST_CONFIG_TREAT_CHAR_STAR_AS_STRING, does not compile in Debian 12's 2.4.9.)
#pragma once

#include <doctest/doctest.h>

template <>
struct doctest::StringMaker<const char*> {
  static String convert(const char* text) { return text == nullptr ? "null" : text; }
};

# SPDX-License-Identifier: MIT
"""What tests/mutants and tests/sim/mutants share: a mistake is a text in a source file and what replaces it."""


class Outdated(Exception):
    """The source has changed since the table was written."""


def place_of(text, before, file):
    """Where `before` begins in the text of `file`. It must occur there exactly once."""
    count = text.count(before)
    if count != 1:
        raise Outdated(f"{file}: {'does not occur any more' if count == 0 else f'occurs {count} times'}: {before}")
    return text.index(before)


def replaced(text, before, after, file):
    at = place_of(text, before, file)
    return text[:at] + after + text[at + len(before):]

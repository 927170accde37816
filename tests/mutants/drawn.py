# SPDX-License-Identifier: MIT
"""
Mistakes that nobody chose. universalmutator (PyPI) proposes changes of single lines of src. The switch of
tests/mutants/mutants turns a change of C++ on: the smallest expression around it becomes (chosen ? changed : as it
was), a statement that falls away, if (!chosen) { … }. What this cannot express is not proposed, and what the
compiler refuses is not counted.
"""
import collections
import ctypes
import ctypes.util
import itertools
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOL = "universalmutator==1.14.1"
VENV = ROOT / "build" / "universalmutator"
CPP_RULES = ["universal.rules", "c_like.rules", "cpp.rules"]
LUA_RULES = ["universal.rules", str(HERE / "lua.rules")]
# Runs in the virtual environment: what the rules make of each line, with the rule's text.
PROPOSE = """
import contextlib, json, sys
from universalmutator import mutator
with contextlib.redirect_stdout(sys.stderr):
    made = [[(text, rule[0]) for _, text, rule, *_ in mutator.mutants_regexp([line], rules, ignorePatterns=[])]
            for line, rules in json.load(sys.stdin)]
json.dump(made, sys.stdout)
"""
CHOSEN = "CHOSEN"
KEYWORD = re.compile(r"\b(return|co_return|throw|case|else|do)$")
# What an if around it would hide from the statements after it, or change.
DECLARATION = re.compile(r"(const|auto|static|using|struct|class|enum|template|namespace|public|private|friend|case|"
                         r"default|if|for|while|switch|else|do|try|catch|constexpr|static_assert|typedef|inline|"
                         r"explicit|virtual|extern)\b|[\w:]+(<.*>)?[&*]*\s+[&*]*\w+\s*([({=;\[]|$)|[~#\[{}]")
EXPRESSION = re.compile(r"(return|throw|delete|break|continue|goto)\b")


class Drawn(NamedTuple):
    file: str  # below src
    line: int
    was: str  # the line, and what it becomes
    becomes: str
    begin: int  # the part of the file's text that `switch` replaces
    end: int
    switch: str  # C++ with CHOSEN for the condition; Lua as it becomes
    others: tuple  # further replacements, for the whole file: (begin, end, text)
    by: tuple = ()

    @property
    def why(self):
        return f"{self.line}: {' '.join(self.was.split())}  ==>  {' '.join(self.becomes.split())}"


def install():
    python = VENV / "bin" / "python"
    if not (VENV / "bin" / "mutate").exists():
        for command in ([sys.executable, "-m", "venv", VENV], [python, "-m", "pip", "install", "--quiet", TOOL]):
            if subprocess.run(command).returncode != 0:
                raise SystemExit(f"skipped: {TOOL} cannot be installed; it needs python3-venv, and PyPI")
    return python


def proposals(picked):
    """For each (file, line, text): {rule: [what the line becomes]}."""
    asked = [(text, LUA_RULES if file.endswith(".lua") else CPP_RULES) for file, _, text in picked]
    made = subprocess.run([install(), "-c", PROPOSE], input=json.dumps(asked), capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    for changes in json.loads(made.stdout):
        by_rule = collections.defaultdict(list)
        for text, rule in changes:
            by_rule[rule].append(text)
        yield by_rule


def blanked(text):
    """The text with blanks for what comments and quotes have in them, so that a bracket is a bracket."""
    parts = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])*\'',
                       re.S)
    return parts.sub(lambda match: "".join(
        letter if letter == "\n" or letter in "\"'" and at in (0, len(match[0]) - 1) else
        "/" if match[0].startswith("/") else "_" for at, letter in enumerate(match[0])).replace("/", " "), text)


def matching_back(code, at):
    """Where the bracket is that `code[at]` closes, or -1."""
    depth = 0
    while at >= 0:
        depth += (code[at] in ")]}") - (code[at] in "([{")
        if depth == 0:
            return at
        at -= 1
    return -1


def matching(code, at):
    depth = 0
    while at < len(code):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
        at += 1
    return len(code)


def enclosing(code, at):
    """Where the innermost bracket opens that `at` is in, or -1."""
    at -= 1
    while at >= 0 and code[at] not in "([{":
        at = matching_back(code, at) - 1 if code[at] in ")]}" else at - 1
    return max(at, -1)


def left_end(code, at):
    """Where the expression around `at` begins."""
    while at > 0:
        letter = code[at - 1]
        if letter in "([{;,?":
            return at
        if letter == "}" and "\n" in code[at:at + 2]:
            return at
        if letter in ")]}":
            at = matching_back(code, at - 1)
            continue
        if letter == ":":
            if code[at - 2] != ":":
                return at
            at -= 2
            continue
        if letter == "=":
            if code[at - 2] not in "=!<>":
                return at
            at -= 2
            continue
        if letter.isspace() and KEYWORD.search(code[max(0, at - 12):at - 1]):
            return at
        at -= 1
    return 0


def right_end(code, at):
    while at < len(code):
        letter = code[at]
        if letter in ")]};,?" or letter == ":" and ":" not in (code[at + 1], code[at - 1]):
            return at
        at = matching(code, at) + 1 if letter in "([{" else at + 1
    return at


def balanced(text):
    depth = 0
    for letter in blanked(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0


def declaration_begin(code, at):
    """Of the statement or declaration that `at` is in, not looking into blocks."""
    while at > 0 and code[at - 1] not in ";{}([":
        at = matching_back(code, at - 1) if code[at - 1] in ")]" else at - 1
    return at


def is_function(head):
    return re.search(r"\)\s*(const|noexcept|override)*\s*$|\)\s*->.*$|\b(else|do|try)\s*$", head.rstrip()) is not None


def without_constexpr(code, at):
    """Replacements that let the code around `at` be computed when the program runs; None where it must not be."""
    made = []
    while True:
        begin = declaration_begin(code, at)
        head = code[begin:at]
        outer = enclosing(code, begin)
        if re.search(r"\bconsteval\b|\bstatic_assert\b|\bif constexpr\b|\bconstinit\b|\benum\b", head):
            return None
        found = re.search(r"\bconstexpr\b", head)
        if found:
            block = outer >= 0 and not re.search(r"\b(namespace|struct|class|union)\b",
                                                 code[declaration_begin(code, outer):outer])
            function = code[at:at + 1] == "{" and is_function(head)
            instead = "inline" if function else "const" if block or re.search(r"\binline\b", head) else "inline const"
            made.append((begin + found.start(), begin + found.end(), instead))
        if outer < 0:
            return tuple(made)
        at = outer


def in_loop(code, at, leaves):
    """Whether `break` or `continue` has a meaning there."""
    while (at := enclosing(code, at)) >= 0:
        head = code[declaration_begin(code, at):at]
        if re.search(r"\b(for|while)\b" if leaves == "continue" else r"\b(for|while|switch)\b", head):
            return True
        if not re.match(r"\s*(if|else)\b", head):
            return False
    return False


def difference(was, becomes):
    """How many letters are the same at the beginning, and at the end."""
    most = min(len(was), len(becomes))
    before = next((at for at in range(most) if was[at] != becomes[at]), most)
    after = next((at for at in range(most - before) if was[-1 - at] != becomes[-1 - at]), most - before)
    return before, after


def is_sensible(code, begin, was, becomes):
    """Not a sentence, a type or a part of a name."""
    before, after = difference(was, becomes)
    at, end = begin + before, begin + len(was) - after
    old, new = was[before:len(was) - after], becomes[before:len(becomes) - after]
    quotes = code[begin:at].count('"') % 2
    if quotes and " " in was[was.rfind('"', 0, before):was.find('"', len(was) - after)]:
        return False
    if old.strip() in ("<", ">", "&", "|", "*", "/", "%", "+") and (code[at - 1], code[end]) != (" ", " "):
        return False
    if old.isalnum() and (re.match(r"\w", code[at - 1]) or re.match(r"\w", code[end])):
        return False
    if old.strip() == "+" and new.strip() in ("*", "/", "%") and '"' in was:
        return False
    return not (code[at - 1].isalpha() and new[:1].isdigit())


def in_cpp(text, code, file, line, begin, was, becomes):
    """The mistake that turns the line at `begin` into `becomes`, or None."""
    stripped, first = was.strip(), begin + len(was) - len(was.lstrip())
    last = begin + len(was.rstrip())
    if stripped.startswith(("#", "//", "}")) or not code[first:last].strip():
        return None
    others = without_constexpr(code, first)
    if others is None or not is_sensible(code, begin, was, becomes):
        return None

    def made(at, end, switch):
        return Drawn(file, line, was, becomes, at, end, switch, others)

    follows = re.match(r"\s*(\w*|.)", code[last:])[1]
    added = re.match(re.escape(was.rstrip()) + r"\s*(break|continue);\s*$", becomes)
    statement = stripped.endswith(";") and (EXPRESSION.match(stripped) or not DECLARATION.match(stripped)) and \
        follows != "else" and balanced(stripped) and (code[:first].rstrip() or ";")[-1] in ";{}"
    if added:
        if not statement or EXPRESSION.match(stripped) or not in_loop(code, first, added[1]):
            return None
        return made(last, last, f" if ({CHOSEN}) {added[1]};")
    if becomes.strip() == f"/*{stripped}*/":
        outer = enclosing(code, first)
        last_of_function = re.match(r"\s*}", code[last:]) and \
            not re.match(r"\s*(if|else|for|while|switch)\b", code[declaration_begin(code, outer):])
        # Without its last return, a function has no result.
        if not statement or stripped.startswith("return ") and last_of_function:
            return None
        return made(first, last, f"if (!{CHOSEN}) {{ {stripped} }}")
    changed, was = becomes.rstrip("\n"), was.rstrip("\n")
    before, after = difference(was, changed)
    at, end = begin + before, begin + len(was) - after
    # Operators have two letters at most.
    left, right = left_end(code, max(at - 1, 0) if at > begin and code[at - 1] in "<>=!&|+-*" else at), right_end(code, end)
    while left < at and text[left].isspace():
        left += 1
    mine, theirs = text[left:right], text[left:at] + changed[before:len(changed) - after] + text[end:right]
    if not balanced(theirs) or not balanced(mine) or not theirs.strip() or "//" in mine or \
            re.match(r"(const )?[\w:]+(<.*>)?[&*]* [&*]*\w+ ?,", mine):
        return None
    outer = enclosing(code, left)
    if code[right:right + 1] == ";" and (outer < 0 or code[outer] == "{") and \
            (code[:left].rstrip() or ";")[-1] in ";{}":
        if DECLARATION.match(mine) and not EXPRESSION.match(mine) or re.match(r";\s*else\b", code[right:]):
            return None
        return made(left, right + 1, f"if ({CHOSEN}) {{ {theirs}; }} else {{ {mine}; }}")
    check = f"::redlock::are_alike<decltype({theirs}), decltype({mine})>()"
    return made(left, right, f"({check} && {CHOSEN} ? ({theirs}) : ({mine}))")


class Source:
    def __init__(self, file):
        self.file = file
        self.text = (ROOT / "src" / file).read_text()
        self.lines = self.text.splitlines(keepends=True)
        self.begins = list(itertools.accumulate(map(len, self.lines), initial=0))
        self.code = None if file.endswith(".lua") else blanked(self.text)

    def code_lines(self):
        for number, line in enumerate(self.lines, 1):
            code = re.sub(r"--.*", "", line) if self.code is None else \
                self.code[self.begins[number - 1]:self.begins[number]]
            if re.search(r"\w\W*\w", code) and not re.match(r"\s*(#|end\b|using\b|namespace\b)", code):
                yield number

    def mistake(self, number, becomes):
        was, begin = self.lines[number - 1], self.begins[number - 1]
        if self.code is not None:
            return in_cpp(self.text, self.code, self.file, number, begin, was, becomes)
        # Changes that have no meaning in Lua.
        if re.search(r"/\*|(break|continue);\n$", becomes):
            return None
        each = Drawn(self.file, number, was, becomes, begin, begin + len(was), becomes, ())
        return each if lua_compiles(re.sub(r"(?m)^--.*", "", apply(self.text, [("", each)]))) else None


def lua_compiles(text):
    name = ctypes.util.find_library("luajit-5.1") or ctypes.util.find_library("lua5.1")
    lua = ctypes.CDLL(name)
    lua.luaL_newstate.restype = ctypes.c_void_p
    state = ctypes.c_void_p(lua.luaL_newstate())
    try:
        return lua.luaL_loadstring(state, text.encode()) == 0
    finally:
        lua.lua_close(state)


def in_random_order(seed):
    """The mistakes that this seed draws: a line of all that have code, a rule that changes it, one of its changes."""
    source = ROOT / "src"
    files = sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in (".cc", ".h", ".lua"))
    sources = {file: Source(file) for file in files}
    lines = [(file, number) for file in files for number in sources[file].code_lines()]
    dice = random.Random(seed)
    dice.shuffle(lines)
    for at in range(0, len(lines), 200):
        picked = [(file, number, sources[file].lines[number - 1]) for file, number in lines[at:at + 200]]
        for (file, number, _), by_rule in zip(picked, proposals(picked)):
            rules = sorted(by_rule)
            dice.shuffle(rules)
            changes = [dice.choice(by_rule[rule]) for rule in rules]
            made = next(filter(None, (sources[file].mistake(number, becomes) for becomes in changes)), None)
            if made:
                yield made


def apply(text, mistakes):
    """The text of a file with (the condition, the mistake) of each behind the switch."""
    edits = {(each.begin, each.end, each.switch.replace(CHOSEN, condition)) for condition, each in mistakes}
    edits |= {tuple(other) for _, each in mistakes for other in each.others}
    for begin, end, instead in sorted(edits, reverse=True):
        text = text[:begin] + instead + text[end:]
    return text


def flags_of(file, commands):
    """How the compiler is called for the files of that folder."""
    room = f"redlock_{file.split('/')[0]}.dir"
    command = next((each["command"] for each in commands if room in each["command"]), commands[0]["command"])
    words = shlex.split(command)
    del words[:next(at for at, word in enumerate(words) if word.endswith(("g++", "clang++", "c++")))]
    for option in ("-o", "-c"):
        del words[words.index(option):words.index(option) + 2]
    return words + ["-fsyntax-only", "-w", "-x", "c++"]


def compiled(file, mistakes, source, tree):
    """Those of the mistakes of a file that the compiler takes behind the switch."""
    command = flags_of(file, json.loads((tree / "build/dev/compile_commands.json").read_text()))
    path = tree / "build" / "drawn" / file.replace("/", "__")

    def takes(some):
        path.parent.mkdir(exist_ok=True)
        path.write_text(source(file, some))
        return subprocess.run([*command, str(path)], cwd=tree / "build/dev", stderr=subprocess.DEVNULL).returncode == 0

    if takes(mistakes):
        return mistakes
    return [each for each in mistakes if takes([each])] if len(mistakes) > 1 else []


def drawn(count, seed, source, tree, pool):
    """The first `count` mistakes of a seed that can be built, by their numbers, and how many could not be built."""
    order, made, refused, seen = in_random_order(seed), [], 0, []
    while len(made) < count:
        batch = list(itertools.islice(order, max(8, 2 * (count - len(made)))))
        if not batch:
            break
        by_file = collections.defaultdict(list)
        for each in batch:
            if not any(each.file == other.file and each.begin < other.end and other.begin < each.end for other in seen):
                seen.append(each)
                by_file[each.file].append((1, each))
        checked = pool.map(lambda item: item[1] if item[0].endswith(".lua") else compiled(*item, source, tree),
                           by_file.items())
        good = [each for mistakes in checked for _, each in mistakes]
        for each in batch:
            if len(made) < count:
                made += [each] if each in good else []
                refused += each not in good
    return dict(enumerate(sorted(made), 1)), refused


def key_of(mistake):
    return mistake.file, " ".join(mistake.was.split()), " ".join(mistake.becomes.split())


def equivalent():
    """What equivalent.txt has: {(file, was, becomes): reason}."""
    known = {}
    rows = [row for row in (HERE / "equivalent.txt").read_text().splitlines() if not row.startswith("#")]
    for block in "\n".join(rows).split("\n\n"):
        block = [row for row in block.splitlines() if row.strip()]
        if block:
            file, was, becomes, reason = block
            known[file, " ".join(was.split()), " ".join(becomes.split())] = reason
    return known

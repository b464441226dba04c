"""Counts the files that a reader of one function meets: those of the functions that it reaches by calls.

    python xtask/reach.py trainer/language/src/grpo/mod.rs update
    python xtask/reach.py trainer/compact/src/trainer.rs update

Reads the sources of `env`, `policy` and `trainer` without tests. A call is a name before a parenthesis.
It leads to the functions of that name in the caller's file, else to those of types and modules that
the caller's file names, else to the only one of that name. Prints the files by their distance in calls.
A program that has moved is counted with `--root FOLDER`.
"""

import argparse
import collections
import pathlib
import re

FOLDERS = ["env", "policy", "trainer"]
FUNCTION = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn ([a-z_0-9]+)", re.M)
CALL = re.compile(r"(\.)?(?:\b([A-Za-z_]\w*)(?:::<[^()]*?>)?::)?\b([a-z_]\w*)(?:::<[^()]*?>)?\(")


def code(path):
    """Returns a file without comments, texts and tests."""
    text = path.read_text()
    text = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\}", "", text, flags=re.S | re.M)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text)


def body(text, start, indent):
    """Returns the text of a function that begins at `start`."""
    end = re.compile(rf"^{indent}\}}|;\n", re.M).search(text, start)
    brace = text.find("{", start)
    if end and text[end.start()] == ";" and (brace < 0 or end.start() < brace):
        return ""
    end = re.compile(rf"^{indent}\}}", re.M).search(text, start)
    return text[start : end.start() if end else len(text)]


def owner(text, at):
    """Returns the names of the type, and of the trait, in whose block a function stands."""
    blocks = [m for m in re.finditer(r"^(?:impl|(?:pub(?:\([^)]*\))? )?trait)\b[^{;]*\{", text[:at], re.M)]
    return set(re.findall(r"\b[A-Z]\w*", blocks[-1].group(0))) if blocks else set()


def imported(function, file, text):
    """Returns true if a text imports a function from a file, or from a module above it."""
    uses = re.findall(rf"use ([^;]*?\b{function}\b[^;]*);", text)
    folders = file.replace("/src", "").replace(".rs", "").split("/")
    return any(folder in re.findall(r"\w+", use.replace("sentinel_", "")) for use in uses for folder in folders[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("function")
    parser.add_argument("--root", default=str(pathlib.Path(__file__).resolve().parent.parent))
    parser.add_argument("--list", action="store_true", help="print the files, too")
    options = parser.parse_args()
    root = pathlib.Path(options.root)
    files = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.rs")):
            parts = path.relative_to(root).parts
            if {"tests", "benches", "examples", "target"} & set(parts) or path.stem.endswith("tests"):
                continue
            files[str(path.relative_to(root))] = code(path)
    functions = collections.defaultdict(list)
    for name, text in files.items():
        for found in FUNCTION.finditer(text):
            indent, function = found.groups()
            types = owner(text, found.start()) if indent else set()
            functions[function].append((name, body(text, found.start(), indent), types))
    words = {name: set(re.findall(r"\w+", text)) for name, text in files.items()}
    start = [f for f in functions[options.function] if f[0] == options.file]
    seen, level, distance = {id(f) for f in start}, start, 0
    reached = collections.OrderedDict((f[0], 0) for f in start)
    while level:
        distance += 1
        following = []
        for caller, text, own in level:
            for dot, before, called in CALL.findall(text):
                method = bool(dot)
                found = functions.get(called, [])
                if before and before[0].isupper() and before != "Self":
                    found = [f for f in found if before in f[2]]
                elif before and not method and before not in ("self", "Self"):
                    module = [f for f in found if f"/{before}.rs" in f[0] or f"/{before}/" in f[0]]
                    found = module or [f for f in found if f[0] == caller]
                else:
                    here = [f for f in found if f[0] == caller]
                    free = [f for f in found if not f[2] and imported(called, f[0], files[caller])]
                    named = [f for f in found if f[2] & words[caller]] if method else []
                    found = here or (named if len(named) == 1 else []) or (free if not method else [])
                for function in found:
                    if id(function) not in seen:
                        seen.add(id(function))
                        following.append(function)
                        reached.setdefault(function[0], distance)
        level = following
    by_distance = collections.Counter(reached.values())
    crates = collections.Counter("/".join(name.split("/src/")[0].split("/")) for name in reached)
    print(f"{len(reached)} files: " + ", ".join(f"{c} of {n}" for n, c in sorted(crates.items())))
    total = 0
    for far, count in sorted(by_distance.items()):
        total += count
        print(f"  within {far} calls: {total}")
    if options.list:
        for name, far in reached.items():
            print(f"  {far} {name}")


if __name__ == "__main__":
    main()

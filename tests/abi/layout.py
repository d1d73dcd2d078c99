"""Prints size and offset of every struct and member of the ABI, as the compiler lays them out.

    layout.py INCLUDE_DIR             prints the layout
    layout.py INCLUDE_DIR RECORD      compares it with the record; exit code 1 and a reason if it does not fit
    layout.py INCLUDE_DIR RECORD --record   writes the record

A recorded line never changes within a major version. Lines may be added: members at the end of a struct, new structs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def structs(include):
    """Names and members of all structs, read from the headers."""
    for header in sorted((include / "smg").glob("*.h")):
        text = re.sub(r"//[^\n]*", "", header.read_text())
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
            yield name, members(body)
        for name, body in re.findall(r"\nstruct (\w+) \{(.*?)\n\};", text, re.S):
            yield name, members(body)


def members(body):
    found = []
    for statement in body.split(";"):
        statement = " ".join(statement.split())
        if not statement:
            continue
        function = re.search(r"\(\*(\w+)\)", statement)
        if function:
            found.append(function[1])
            continue
        for part in statement.split(","):
            found.append(re.search(r"(\w+)(\[\w+\])?$", part.strip())[1])
    return found


def layout(include):
    source = ['#include <stdio.h>'] + [f'#include "smg/{header.name}"' for header in sorted((include / "smg").glob("*.h"))]
    source.append("int main(void) {")
    for name, fields in structs(include):
        source.append(f'printf("{name} size %zu\\n", sizeof({name}));')
        for field in fields:
            source.append(f'printf("{name}.{field} offset %zu size %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
    source.append("return 0; }")
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "layout.c"
        file.write_text("\n".join(source))
        subprocess.run(["cc", "-std=c99", "-I", include, file, "-o", f"{place}/layout"], check=True)
        return subprocess.run([f"{place}/layout"], check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    include = pathlib.Path(sys.argv[1])
    now = layout(include)
    if len(sys.argv) == 2:
        print("\n".join(now))
        return 0
    record = pathlib.Path(sys.argv[2])
    if "--record" in sys.argv:
        record.write_text("\n".join(now) + "\n")
        return 0
    recorded = record.read_text().splitlines()
    # The size of a struct may grow with what is appended; everything else stays.
    sizes = {line.split()[0]: int(line.split()[2]) for line in now if " offset " not in line}
    wrong = []
    for line in recorded:
        if line in now:
            continue
        name = line.split()[0]
        if " offset " not in line and sizes.get(name, 0) > int(line.split()[2]):
            continue
        wrong.append(line)
    new = [line for line in now if line not in recorded]
    for line in wrong:
        print(f"changed or gone: {line}")
    if wrong:
        print("structs are append-only: changing a recorded line needs a new major version of the ABI")
    if new and not wrong:
        print("not recorded yet (record with: python3 tests/abi/layout.py sdk/include tests/abi/layout.txt --record):")
        print("\n".join(new))
    return 1 if wrong or new else 0


if __name__ == "__main__":
    sys.exit(main())

"""The floor plan: short files and functions, and tests in folders of the same names as what they test."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "vaecp", ROOT / "tests"
MOST_LINES, MOST_OF_A_FUNCTION = 350, 50
OWN = ("fuzz", "helpers", "project")
"""Folders of tests that are about no room: attacks, what tests share, the repository."""


def test_no_file_is_long():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "tests", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > MOST_LINES} == {}


def test_no_function_is_long():
    lengths = {
        f"{path.relative_to(ROOT)}: {node.name}": node.end_lineno - node.lineno + 1
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    }
    assert {name: n for name, n in lengths.items() if n > MOST_OF_A_FUNCTION} == {}


def test_every_folder_of_tests_is_one_of_the_package_and_the_other_way_round():
    tested = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strangers = {
        each for each in tested if each.parts[0] not in OWN and not (SOURCE / each).is_dir()
    }
    assert strangers == set()
    code = [path for path in SOURCE.rglob("*.py") if path.stat().st_size]
    assert {path.parent.relative_to(SOURCE) for path in code} - {Path(), *tested} == set()

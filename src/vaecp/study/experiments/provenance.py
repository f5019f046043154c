"""Which code made a result: what it depends on besides its settings and the machine."""

from __future__ import annotations

import ast
import hashlib
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import vaecp
from vaecp.study.rivals import all_methods, find

HOME = Path(vaecp.__file__).parent
ROOMS = ("data", "models", "study/rivals")
"""Where the code lies that decides what a run measures."""
ALWAYS = "vaecp.study.experiments.execution"
"""Makes the run of any method, and so reaches what all runs share."""
PACKAGES = ("jax", "numba", "numpy", "scipy", "scikit-learn", "lightgbm", "smurff")


def code(method: str) -> str:
    """Return a digest of the modules of `ROOMS` that a run of this method can import.

    What stands in other methods is not among them, nor are docstrings. Of a method from outside
    this package only what all runs share is.
    """
    home = find(method).home
    return _digest(home.partition(":")[0] if isinstance(home, str) else home.__module__)


def codes() -> dict[str, str]:
    """Return the digest of every method by its name."""
    return {name: code(name) for name in all_methods()}


@cache
def commit() -> str:
    """Return the commit that the package lies in, with "+" after changes; "" outside a checkout."""
    root = HOME.parents[1]
    if not (root / ".git").exists():
        return ""
    with suppress(OSError, subprocess.CalledProcessError):
        found = _git("rev-parse", "--short=12", "HEAD").strip()
        return f"{found}+" if _git("status", "--porcelain", "--", ".") else found
    return ""


@cache
def _digest(module: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(_reached(ALWAYS, module)):
        name = path.relative_to(HOME).as_posix()
        if name.startswith(tuple(f"{room}/" for room in ROOMS)):
            digest.update(name.encode())
            digest.update(_read(path)[1].encode())
    return digest.hexdigest()[:12]


def _reached(*modules: str) -> set[Path]:
    """Follow imports, also those within functions, from these modules to the files of all."""
    seen: dict[str, Path] = {}
    left = list(modules)
    while left:
        module = left.pop()
        path = _path(module)
        if path is not None and module not in seen:
            seen[module] = path
            left += [module.rpartition(".")[0], *_read(path)[0]]
    return set(seen.values())


def _path(module: str) -> Path | None:
    """Return the file of a module of this package; its list of public names imports nothing."""
    first, *parts = module.split(".")
    if first != HOME.name or not parts:
        return None
    base = HOME.joinpath(*parts)
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.exists()), None)


@cache
def _read(path: Path) -> tuple[tuple[str, ...], str]:
    """Return the names that a file may import, and its text without what only people read."""
    text = path.read_text(encoding="utf-8")
    lines, names = text.splitlines(), list[str]()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=found):
                names += [each.name for each in found]
            case ast.ImportFrom(module=str(module), names=found):
                names += [module, *(f"{module}.{each.name}" for each in found)]
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return tuple(names), "\n".join(line for line in lines if line.strip())


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "--no-optional-locks", "-C", str(HOME), *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

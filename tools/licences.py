"""Write `docs/licences.md`: what vaecp depends on, with all extras, and under which licences.

    python tools/licences.py

Names, versions and licences are those that the installed packages state about themselves.
"""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
EXTRAS = ("", "parquet", "excel", "netcdf", "plots", "datasets", "report", "arviz")
SHIPPED = """\
# Licences

vaecp is under the [BSD 3-Clause licence](https://opensource.org/license/bsd-3-clause) (the file
`LICENSE`). The package contains no code of others. A report holds plotly.js, a part of Plotly, under the
MIT licence.

## What it depends on

With all extras (`pip install 'vaecp[all]'`), as installed where the tests run; tools for development are
not listed. "needs" says which extra a package comes with; one that comes without any is always there.
This table is written by `python tools/licences.py`. `make sbom` lists the whole environment as a
CycloneDX bill of materials.

| package | version | licence | needs |
|---|---|---|---|
"""


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states: its SPDX expression, else its classifiers."""
    stated = package.metadata.get("License-Expression")
    if stated:
        return stated
    kinds = [
        line.split(" :: ")[-1]
        for line in package.metadata.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    first = (package.metadata.get("License") or "").strip().splitlines()
    return ", ".join(kinds) or (first[0][:60] if first else "not stated")


def needed(extra: str) -> set[str]:
    """Return the names of all packages that vaecp needs with an extra, and those need in turn."""
    found: set[str] = set()
    open_names = [("vaecp", frozenset({extra}))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_names:
        name, extras = open_names.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for line in lines:
            requirement = Requirement(line)
            marker = requirement.marker
            wanted = extras | {""}
            if marker and not any(marker.evaluate({"extra": each}) for each in wanted):
                continue
            other = canonicalize_name(requirement.name)
            found.add(other)
            open_names.append((other, frozenset(requirement.extras)))
    return found - {"vaecp"}


def rows() -> list[str]:
    """Return a line of the table for every package."""
    always = needed("")
    homes = dict.fromkeys(always, "")
    for extra in EXTRAS[1:]:
        for name in needed(extra) - always:
            homes[name] = f"{homes[name]}, {extra}" if homes.get(name) else extra
    lines = []
    for name, home in sorted(homes.items()):
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        lines.append(f"| {name} | {package.version} | {licence_of(package)} | {home} |")
    return lines


def main() -> None:
    """Write the page."""
    PAGE.write_text(SHIPPED + "\n".join(rows()) + "\n")


if __name__ == "__main__":
    main()

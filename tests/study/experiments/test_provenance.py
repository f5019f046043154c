"""What results depend on: the modules that a run of the method can import, and no others."""

import subprocess

import pytest

from vaecp.models import registry
from vaecp.models.registry import Method
from vaecp.study.experiments import provenance

MODULES = {
    "study/experiments/execution.py": "from vaecp.data.gaps import held_out",
    "data/gaps.py": "x = 1",
    "data/far.py": "x = 1",
    "models/base.py": "x = 1",
    "models/own/__init__.py": "",
    "models/own/one.py": "def f():\n    from vaecp.models import base",
    "models/other/two.py": "import vaecp.models.base",
    "app/cli.py": "from vaecp.models.own import one",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two methods, in a checkout."""
    home = tmp_path / "src" / "vaecp"
    for module, text in MODULES.items():
        (home / module).parent.mkdir(parents=True, exist_ok=True)
        (home / module).write_text(text)
    monkeypatch.setattr(provenance, "HOME", home)
    for name, place in (("One", "own.one"), ("Two", "other.two")):
        monkeypatch.setitem(registry._METHODS, name, Method(name, f"vaecp.models.{place}:{name}"))
    forget()
    yield home
    forget()


def forget():
    for each in (provenance._read, provenance._digest, provenance.commit):
        each.cache_clear()


def changed(home, module, text):
    """Return the methods whose code is another after a module has this text, and put it back."""
    path = home / module
    before, earlier = path.read_text(), (provenance.code("One"), provenance.code("Two"))
    path.write_text(text)
    forget()
    names = zip(("One", "Two"), earlier, strict=True)
    found = [name for name, digest in names if provenance.code(name) != digest]
    path.write_text(before)
    forget()
    assert earlier == (provenance.code("One"), provenance.code("Two"))
    return found


@pytest.mark.parametrize(
    ("module", "methods"),
    [
        ("models/own/one.py", ["One"]),
        ("models/own/__init__.py", ["One"]),
        ("models/other/two.py", ["Two"]),
        ("models/base.py", ["One", "Two"]),
        ("data/gaps.py", ["One", "Two"]),  # by way of what makes every run
        ("data/far.py", []),
        ("app/cli.py", []),
    ],
)
def test_a_change_is_other_code_of_the_methods_that_reach_it(package, module, methods):
    assert changed(package, module, f"{MODULES[module]}\ny = 2") == methods


def test_words_for_readers_are_not_code_and_a_body_of_dots_is(package):
    assert changed(package, "models/base.py", '"""Says\nwhat."""\n\nx = 1\n"""Of it."""') == []
    assert changed(package, "models/base.py", "x = 1\ndef f(): ...") == ["One", "Two"]


def test_a_renamed_module_is_other_code(package):
    before = provenance.code("One")
    (package / "models" / "base.py").rename(package / "models" / "basis.py")
    (package / "models" / "own" / "one.py").write_text("from vaecp.models import basis")
    forget()
    assert provenance.code("One") != before


def test_no_method_of_the_library_reaches_the_code_of_another():
    forget()
    homes = {
        name: {path.relative_to(provenance.HOME).parts[:2] for path in reached(name)}
        for name in ("VAECP", "CPALS", "HOSVD", "FBCP", "InfTucker")
    }
    own = {"VAECP": "vaecp", "CPALS": "cp", "HOSVD": "tucker", "FBCP": "fbcp"} | {
        "InfTucker": "inftucker"
    }
    for name, found in homes.items():
        packages = {part for room, part in found if room == "models"} & set(own.values())
        assert packages == {own[name]}


def reached(name):
    home = registry.find(name).home.partition(":")[0]
    return {
        path
        for path in provenance._reached(provenance.ALWAYS, home)
        if path.parent != provenance.HOME
    }


def test_the_commit_is_named_with_a_mark_after_changes(package):
    assert provenance.commit() == ""
    root = package.parents[1]

    def git(*words):
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", root, *name, *words], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "Begin")
    forget()
    clean = provenance.commit()
    assert len(clean) == 12
    (package / "data" / "gaps.py").write_text("x = 2")
    forget()
    assert provenance.commit() == f"{clean}+"

"""What results depend on: every module of data, models and rivals counts."""

import subprocess

import pytest

from vaecp.study.experiments import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one module per room, in a checkout."""
    home = tmp_path / "src" / "vaecp"
    for module in ("data/gaps.py", "models/base.py", "models/deep/er/one.py", "app/cli.py"):
        (home / module).parent.mkdir(parents=True, exist_ok=True)
        (home / module).write_text("x = 1")
    monkeypatch.setattr(provenance, "HOME", home)
    clear = (provenance.code.cache_clear, provenance.commit.cache_clear)
    for each in clear:
        each()
    yield home
    for each in clear:
        each()


def code_after(path, text):
    path.write_text(text)
    provenance.code.cache_clear()
    return provenance.code()


@pytest.mark.parametrize("module", ["data/gaps.py", "models/base.py", "models/deep/er/one.py"])
def test_a_change_anywhere_under_models_and_data_is_other_code(package, module):
    before = provenance.code()
    assert code_after(package / module, "x = 2") != before
    assert code_after(package / module, "x = 1") == before


def test_a_new_or_renamed_module_is_other_code_and_the_command_line_is_not(package):
    before = provenance.code()
    (package / "models" / "base.py").rename(package / "models" / "basis.py")
    assert code_after(package / "app" / "cli.py", "x = 2") != before
    (package / "models" / "basis.py").rename(package / "models" / "base.py")
    assert code_after(package / "app" / "cli.py", "x = 3") == before


def test_the_commit_is_named_with_a_mark_after_changes(package):
    assert provenance.commit() == ""
    root = package.parents[1]

    def git(*words):
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", root, *name, *words], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "Begin")
    provenance.commit.cache_clear()
    clean = provenance.commit()
    assert len(clean) == 12
    (package / "data" / "gaps.py").write_text("x = 2")
    provenance.commit.cache_clear()
    assert provenance.commit() == f"{clean}+"

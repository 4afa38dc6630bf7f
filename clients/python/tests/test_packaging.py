"""The package as users install it: wheel and sdist, an empty environment, type checkers."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from identity_engine import __version__
from test_readme import BLOCKS

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(180)]

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent
PYRIGHT = ROOT / "node_modules" / "pyright" / "index.js"
NODE = ROOT / "node_modules" / ".bin" / "node"
RUN_S_MAX = 150

REPOSITORY = "https://git.example/owner/name"
"""Address of a repository, for the links of the package."""


def run(*command: object, folder: Path = PACKAGE) -> str:
    words = [str(word) for word in command]
    ran = subprocess.run(
        words, capture_output=True, text=True, timeout=RUN_S_MAX, cwd=folder, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds wheel and sdist, and returns their folder."""
    folder = tmp_path_factory.mktemp("dist")
    run(NODE, "deploy/packages/main.ts", REPOSITORY, folder, "python", folder=ROOT)
    return folder


@pytest.fixture(scope="module")
def python(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    uv = [sys.executable, "-m", "uv", "--quiet"]
    run(*uv, "venv", "--python", sys.executable, folder)
    program = folder / "bin" / "python"
    locked = ["--constraint", locked_versions(folder)]
    run(*uv, "pip", "install", "--python", program, *locked, *dist.glob("*.whl"))
    return program


def locked_versions(folder: Path) -> Path:
    """Writes the lock without checksums, as constraints."""
    lines = (PACKAGE / "requirements.lock").read_text("utf-8").splitlines()
    kept = [line.rstrip(" \\") for line in lines if "==" in line]
    path = folder.parent / "constraints.txt"
    path.write_text("\n".join(kept), "utf-8")
    return path


def test_twine_accepts_the_distributions(dist: Path) -> None:
    said = run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
    assert said.count("PASSED") == 2


def test_wheel_contains_only_the_package_and_its_types(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    assert wheel.name == f"identity_engine-{__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert "identity_engine/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"identity_engine"}


def test_description_has_absolute_links_only(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    files = zipfile.ZipFile(wheel)
    (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
    metadata = files.read(name).decode()
    assert f"Project-URL: Repository, {REPOSITORY}" in metadata
    targets = re.findall(r"\]\(([^)]*)\)", metadata)
    assert f"{REPOSITORY}/raw/v{__version__}/clients/python/docs/day-of-an-agent.png" in targets
    assert [target for target in targets if not target.startswith(("https:", "#"))] == []


def test_sdist_contains_the_examples_and_the_changes(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.split("/", 1)[1] for name in source.getnames() if "/" in name}
    assert {"CHANGELOG.md", "README.md", "examples/agent_loop.py"} <= names


def test_sdist_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", folder)
    (again,) = (folder / "dist").glob("*.whl")
    (wheel,) = dist.glob("*.whl")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


def test_package_works_in_an_empty_environment(python: Path, tmp_path: Path) -> None:
    said = run(
        python,
        *("-W", "error", "-c", "import identity_engine as i; print(i.__version__, i.__file__)"),
        folder=tmp_path,
    )
    assert said.startswith(f"{__version__} {python.parent.parent}")
    installed = run(sys.executable, "-m", "uv", "--quiet", "pip", "list", "--python", python)
    assert "opentelemetry" not in installed
    assert "trio" not in installed


def test_first_example_of_the_readme_runs_in_an_empty_environment(
    python: Path, service: str, tmp_path: Path
) -> None:
    (tmp_path / "first.py").write_text(BLOCKS[0], "utf-8")
    assert "drift: D0" in run(python, "-W", "error", "first.py", folder=tmp_path)


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("langchain", "langchain"),
        ("openai_agents", "openai-agents"),
        ("pydantic_ai", "pydantic-ai"),
    ],
)
def test_adapter_without_its_framework_names_the_extra(
    python: Path, module: str, extra: str
) -> None:
    code = f"import identity_engine.{module}"
    ran = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, timeout=RUN_S_MAX, check=False
    )
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("ImportError: install ")
    assert f'pip install "identity-engine[{extra}]"' in last
    assert f"Provides-Extra: {extra}" in run(
        python, "-c", "from importlib.metadata import metadata as m; print(m('identity-engine'))"
    )


def test_dependencies_are_consistent(python: Path) -> None:
    run(sys.executable, "-m", "uv", "--quiet", "pip", "check", "--python", python)


@pytest.fixture
def user_folder(tmp_path: Path) -> Path:
    """A folder with user code and the README's code blocks."""
    user_code = PACKAGE / "tests" / "support" / "user_code.py"
    (tmp_path / "user_code.py").write_bytes(user_code.read_bytes())
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"readme_{number}.py").write_text(block, "utf-8")
    return tmp_path


def test_mypy_accepts_user_code(python: Path, user_folder: Path) -> None:
    options = ["--strict", "--warn-unused-ignores", "--python-executable", python]
    files = sorted(path.name for path in user_folder.glob("*.py"))
    run(sys.executable, "-m", "mypy", *options, *files, folder=user_folder)


def test_pyright_accepts_user_code(python: Path, user_folder: Path) -> None:
    if not PYRIGHT.exists():
        pytest.skip("no node_modules/pyright: run make once")
    config = '{"typeCheckingMode": "strict", "reportUnnecessaryTypeIgnoreComment": "error",'
    config += ' "enableTypeIgnoreComments": false, "reportUnnecessaryComparison": "none"}'
    (user_folder / "pyrightconfig.json").write_text(config, "utf-8")
    run(NODE, PYRIGHT, "--pythonpath", python, folder=user_folder)


def test_reference_contains_the_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import reference

    monkeypatch.setattr(reference, "TARGET", tmp_path)
    assert reference.main() == 0
    page = (tmp_path / "identity_engine.html").read_text("utf-8")
    assert "AsyncObservationBuffer" in page
    assert "Deadline including retries, in seconds." in page

"""The set-up script: what it finds, and the one line it says where it cannot go on."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TOOLS = ("cat", "cmp", "cp", "dirname", "env", "grep", "mkdir", "rm", "sed", "sh", "tee", "touch")
JAVA = """\
#!/bin/sh
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""
PYTHON_WITHOUT_VENV = """\
#!/bin/sh
case "$2" in
    *ensurepip*) exit 1 ;;
    *print*) echo 3.11 ;;
esac
"""


class Machine:
    """A bare machine: the tools of every Debian, and what a test installs on it."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.jvms = folder / "jvm"
        self.project = folder / "project"
        for new in (self.bin, self.jvms, self.project):
            new.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.install("id", "#!/bin/sh\necho 1000\n")
        for file in ("setup.sh", "requirements.txt", "pyproject.toml"):
            shutil.copy(PROJECT / file, self.project)

    def install(self, name, script):
        return self._write(self.bin / name, script)

    def install_java(self, version):
        home = self.jvms / f"java-{version}"
        self._write(home / "bin" / "java", JAVA.format(home=home, version=version))
        return home

    def in_venv(self, path, text):
        return self._write(self.project / ".venv" / path, text)

    def setup(self, step, **environment):
        return subprocess.run(
            [self.bin / "sh", self.project / "setup.sh", step],
            capture_output=True,
            check=False,
            text=True,
            cwd=self.project.parent,
            env={"PATH": str(self.bin), "JVM_DIR": str(self.jvms), **environment},
        )

    @staticmethod
    def _write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_a_missing_java_is_one_line_that_says_what_to_type(machine):
    done = machine.setup("java")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "apt-get install openjdk-17-jre-headless" in done.stderr


@pytest.mark.parametrize("version", [17, 21])
def test_a_java_of_the_system_is_found(machine, version):
    machine.install_java(8)
    home = machine.install_java(version)

    assert machine.setup("java").stdout == f"{home}\n"


@pytest.mark.parametrize("version", [8, 11, 25])
def test_a_java_that_spark_is_not_tested_with_is_not_taken(machine, version):
    home = machine.install_java(version)

    assert machine.setup("java", JAVA_HOME=str(home)).returncode == 1


def test_the_java_of_java_home_comes_first(machine):
    machine.install_java(17)
    home = machine.install_java(21)

    assert machine.setup("java", JAVA_HOME=str(home)).stdout == f"{home}\n"


def test_a_missing_java_is_installed_where_the_user_is_root(machine):
    home = machine.jvms / "java-21"
    prepared = machine.install("prepared-java", JAVA.format(home=home, version=21))
    machine.install("id", "#!/bin/sh\necho 0\n")
    machine.install(
        "apt-get",
        f"""\
#!/bin/sh
case "$*" in
    *openjdk-17*) exit 100 ;;
    *openjdk-21*) mkdir -p {home}/bin && cp {prepared} {home}/bin/java ;;
esac
""",
    )

    done = machine.setup("java")

    assert done.stdout == f"{home}\n"
    assert "installing openjdk-21-jre-headless" in done.stderr


def test_a_missing_python_is_one_line_that_says_what_to_type(machine):
    done = machine.setup("python")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Python 3.11 or newer is needed" in done.stderr


def test_a_python_without_venv_is_one_line_with_the_package_to_install(machine):
    machine.install("python3", PYTHON_WITHOUT_VENV)

    done = machine.setup("python")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "apt-get install python3.11-venv" in done.stderr


def test_an_environment_that_lies_elsewhere_is_not_emptied(machine, tmp_path):
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (machine.project / ".venv").symlink_to(other)
    done = machine.setup("python")
    assert done.returncode == 1
    assert ".venv is a link" in done.stderr
    assert (other / "bin").is_dir()


def test_what_is_set_up_is_left_alone(machine):
    machine.in_venv(".requirements", (PROJECT / "requirements.txt").read_text())
    machine.in_venv(".project", (PROJECT / "pyproject.toml").read_text())
    machine.in_venv(".jars", f"{delta_packages(PROJECT / 'setup.sh').pop()}\n")

    for step in ("python", "jars"):
        done = machine.setup(step)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        ("unresolved dependency: io.delta", "Maven Central did not give io.delta:delta-spark"),
        ("Java gateway process exited", "Spark did not start with"),
    ],
)
def test_jars_that_cannot_be_fetched_are_one_line_and_a_log(machine, said, explained):
    machine.install_java(17)
    machine.in_venv("bin/python", f"#!/bin/sh\necho {said}\nexit 1\n")

    done = machine.setup("jars")

    assert done.returncode == 1
    assert explained in done.stderr.splitlines()[-1]
    log = machine.project / ".strandline" / "setup" / "jars.log"
    assert log.read_text() == f"{said}\n"
    assert not (machine.project / ".venv" / ".jars").exists()


def test_the_downloads_are_shown(machine):
    machine.install_java(17)
    machine.in_venv("bin/python", "#!/bin/sh\necho downloading https://repo/delta.jar ...\n")

    assert "  https://repo/delta.jar\n" in machine.setup("jars").stderr


def test_a_registry_that_is_not_the_one_that_is_known_is_not_unpacked(machine):
    home = machine.install_java(17)
    machine.in_venv("bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    archive = machine.project / ".venv/registry/apicurio-registry-app-3.3.3-all.tar.gz"
    fetching = f"case $1 in -jar) mkdir {archive.parent}; echo other >{archive} ;; esac\n"
    java = home / "bin" / "java"
    java.write_text(java.read_text() + fetching)

    done = machine.setup("registry")

    assert done.returncode == 1
    assert "its SHA-256 is another" in done.stderr.splitlines()[-1]
    assert not (archive.parent / ".version").exists()


def test_everybody_names_the_same_version_of_delta():
    folders = ("docs", "examples", "plugins", "spark_apps")
    files = [PROJECT / "setup.sh", PROJECT / "README.md"]
    for folder in folders:
        for path, _, names in os.walk(PROJECT / folder):
            files += [Path(path, name) for name in names if name.endswith((".py", ".md"))]

    assert len({found for file in files for found in delta_packages(file)}) == 1


def delta_packages(file):
    return set(re.findall(r"io\.delta:delta-spark_[\d._]+:[\d.]+\d", file.read_text()))

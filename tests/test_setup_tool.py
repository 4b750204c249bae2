import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
JVMS = "/usr/lib/jvm"
NEEDED = ("sh", "cat", "cksum", "dirname", "env", "grep", "head", "id", "readlink", "rm", "sed", "touch", "tr", "mkdir", "chmod", "cp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine with a copy of the project whose Python is set up, and with nothing on its path but what is put there."""

    project: Path
    bin: Path
    jvms: Path

    def command(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def java(self, home: Path, version: str) -> None:
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
        (home / "bin" / "java").chmod(0o755)

    def set_up(self, **environment: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "PYTHON": sys.executable, **environment}
        return subprocess.run([str(self.bin / "sh"), "tools/setup"], cwd=self.project, env=environment, capture_output=True, text=True, check=False)

    @property
    def java_home(self) -> str:
        return (self.project / ".venv/java-home").read_text().strip()

    def activated(self) -> str:
        done = subprocess.run(["/bin/sh", "-c", '. .venv/bin/activate; echo "$JAVA_HOME"'], cwd=self.project, capture_output=True, text=True, check=True)
        return done.stdout.strip()


def checksum(path: Path) -> str:
    return subprocess.run(["cksum"], stdin=path.open("rb"), capture_output=True, text=True, check=True).stdout.strip().replace(" ", "-")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(project=tmp_path / "project", bin=tmp_path / "bin", jvms=tmp_path / "jvm")
    for folder in (made.project / "tools", made.project / ".venv/bin", made.bin, made.jvms):
        folder.mkdir(parents=True)
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, made.project / name)
    (made.project / "tools/setup").write_text((ROOT / "tools/setup").read_text().replace(JVMS, str(made.jvms)))
    for mark in (f"lock-{checksum(ROOT / 'requirements.lock')}", f"project-{checksum(ROOT / 'pyproject.toml')}", "bin/activate"):
        (made.project / ".venv" / mark).touch()
    for name in NEEDED:
        os.symlink(str(shutil.which(name)), made.bin / name)
    return made


def test_a_java_that_is_new_enough_is_found_though_an_old_one_is_on_the_path(machine: Machine) -> None:
    machine.java(machine.jvms / "java-21", "21.0.2")
    machine.command("java", "echo 'java version \"1.8.0_402\"' >&2")
    assert machine.set_up().returncode == 0 and machine.java_home == machine.activated() == str(machine.jvms / "java-21")


def test_the_java_that_is_named_comes_first_and_set_up_again_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    machine.java(tmp_path / "mine", "17.0.9")
    machine.java(machine.jvms / "java-21", "21.0.2")
    assert machine.set_up(JAVA_HOME=str(tmp_path / "mine")).returncode == 0
    written = (machine.project / ".venv/bin/activate").read_text()
    assert machine.set_up().returncode == 0 and (machine.project / ".venv/bin/activate").read_text() == written
    assert machine.java_home == machine.activated() == str(tmp_path / "mine")


def test_one_that_is_gone_is_looked_for_again(machine: Machine) -> None:
    machine.java(machine.jvms / "java-17", "17.0.9")
    assert machine.set_up().returncode == 0
    shutil.rmtree(machine.jvms / "java-17")
    machine.java(machine.jvms / "java-21", "21.0.2")
    assert machine.set_up().returncode == 0 and machine.java_home == machine.activated() == str(machine.jvms / "java-21")


def test_where_there_is_none_apt_installs_it(machine: Machine, tmp_path: Path) -> None:
    machine.java(tmp_path / "package", "17.0.9")
    machine.command("sudo", 'shift; exec "$@"')
    machine.command("apt-get", f'case "$*" in *install*openjdk-17-jre-headless) cp -r {tmp_path}/package {machine.jvms}/java-17;; *) exit 1;; esac')
    done = machine.set_up()
    assert done.returncode == 0 and done.stderr == "penstock set-up: installing openjdk-17-jre-headless with apt-get\n"
    assert machine.java_home == str(machine.jvms / "java-17")


def test_where_there_is_none_and_none_can_be_installed_one_sentence_says_so(machine: Machine) -> None:
    machine.command("java", "echo 'openjdk version \"11.0.22\"' >&2")
    done = machine.set_up()
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("penstock set-up: Spark needs Java 17 or newer and none was found or could be installed:")


def without_venv(machine: Machine) -> Path:
    """Debian's python3 as it comes, before python3-venv is installed; what it makes then is an environment whose pip does nothing."""
    shutil.rmtree(machine.project / ".venv")
    machine.java(machine.jvms / "java-17", "17.0.9")
    ready = machine.project / "venv-installed"
    made = "mkdir -p .venv/bin; touch .venv/bin/activate; printf '#!/bin/sh\\n' >.venv/bin/python; chmod 755 .venv/bin/python"
    machine.command("python3", f'case "$*" in *ensurepip*) [ -e {ready} ];; "-m venv"*) {made};; esac')
    return ready


def test_a_python_without_venv_and_pip_gets_them_from_apt(machine: Machine) -> None:
    ready = without_venv(machine)
    machine.command("sudo", 'shift; exec "$@"')
    machine.command("apt-get", f'case "$*" in *install*python3-venv) touch {ready};; *) exit 1;; esac')
    done = machine.set_up(PYTHON="python3")
    assert done.returncode == 0 and done.stderr.splitlines()[0] == "penstock set-up: installing python3-venv with apt-get"
    again = machine.set_up(PYTHON="python3")
    assert again.returncode == 0 and again.stderr == "", "a second run starts at once"


def test_a_python_without_venv_that_cannot_get_it_is_reported_in_one_sentence(machine: Machine) -> None:
    without_venv(machine)
    done = machine.set_up(PYTHON="python3")
    assert done.returncode == 2
    assert done.stderr == "penstock set-up: this Python has no venv and it could not be installed: apt-get install python3-venv\n"

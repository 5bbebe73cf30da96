"""Mutation tests: changes one token of src/ at a time and runs the fast tests, which must notice.

Needs a build directory of the preset `release` with mluop_tests built. A mutant is found first on the include path, so
the sources and the build stay as they are; only the objects that include the file are compiled, kernels for AVX2
alone, and mluop_tests is linked with them. Mutants that do not compile, or whose objects equal the original objects
(trivial compiler equivalence), do not count. The script is the project's own: of the tools, mull and dextool are in no
Debian archive, and universalmutator only rewrites text; to build and judge its mutants would take this script too.
"""

import argparse
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

from mutants import mutants_of

FOLDERS = ("core", "recording", "team", "primitives", "compare", "ops")
# Suites that read the source tree, and suites of large tensors.
EXCLUDED_SUITES = "Architecture*:Big*:Large*"
# Kernels are compiled for one instruction set, which the other objects then select at run time.
KERNEL_FLAGS = ["-march=haswell", "-maes", "-DHWY_COMPILE_ONLY_STATIC"]
# Threads that wait do not spin: the tests have more threads than the machine has processors.
ENVIRONMENT = {"MLUOP_OMP_SIMD": "avx2", "MLUOP_LOG_LEVEL": "off", "MLUOP_OMP_MAX_THREADS": "64",
               "OMP_WAIT_POLICY": "passive", "GTEST_FAIL_FAST": "1", "CCACHE_DISABLE": "1"}
MEMORY_BYTES = 16 << 30  # of address space: a mutant that allocates without end fails


def suites_of(operator):
    """The prefix of the test suites of an operator, by the name of its folder."""
    return "Ops" + "".join("NN" if word == "nn" else word.capitalize() for word in operator.split("_"))


def stages(file, seconds, operators):
    """The tests that can notice a mutant of the file, in the order in which they run: first the tests of its folder,
    quick tests before slow tests, then the others. seconds: of each test without a mutant. operators: all of them.
    They do not use each other, hence the tests of one do not run for another."""
    folders = Path(file).parts[1:]
    near = {"core": ("Core", "Api"), "team": ("Team",), "recording": ("Recording", "Api"), "primitives": ("Primitives",),
            "compare": ("Compare",)}.get(folders[0])
    if near is None:
        near = (suites_of(folders[1]),)
    first = sorted((test for test in seconds if test.startswith(near)), key=seconds.get)
    total = sum(map(seconds.get, first))
    quick = [test for i, test in enumerate(first) if sum(map(seconds.get, first[:i + 1])) <= total / 10]
    unrelated = tuple(map(suites_of, operators)) if folders[0] == "ops" else ()
    others = [test for test in seconds if test not in first and not test.startswith(unrelated)]
    return [tests for tests in (quick, first[len(quick):], others) if tests]


class Build:
    """The commands of a Ninja build directory."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        self.source = Path(re.search(r"CMAKE_HOME_DIRECTORY:INTERNAL=(.*)",
                                     (self.folder / "CMakeCache.txt").read_text())[1])
        self.scratch = self.folder / "mutants"
        self.scratch.mkdir(exist_ok=True)
        self.program = self.scratch / "mluop_tests"
        self._compile = self._read_commands()
        link = self._ninja("commands", "mluop_tests").strip().splitlines()[-1]
        self._link = shlex.split(next(part for part in link.split(" && ") if "mluop_tests" in part))
        self.objects_of = self._read_dependents()

    def _read_commands(self):
        commands = {}
        for entry in json.loads(self._ninja("compdb")):
            # Without the objects of the workflow coverage, which the same folder may hold.
            if entry["output"].endswith(".cpp.o") and "coverage" not in entry["output"]:
                command = shlex.split(entry["command"])
                command = command[next(i for i, part in enumerate(command) if part.endswith("++")):]
                # The dependencies of the build are kept, and an unused variable does not discard a mutant.
                depfile = command.index("-MD")
                command[depfile:command.index("-MF") + 2] = []
                command = [part for part in command if part != "-Werror"] + ["-w"]
                if "foreach_target.h" in Path(entry["directory"], entry["file"]).read_text():
                    command += KERNEL_FLAGS
                commands[entry["output"]] = command
        return commands

    def _ninja(self, tool, *arguments):
        return subprocess.run(["ninja", "-t", tool, *arguments], cwd=self.folder, check=True, capture_output=True,
                              text=True).stdout

    def _read_dependents(self):
        """The objects that include each file of src/, by its path relative to the root."""
        objects_of = {}
        for line in self._ninja("deps").splitlines():
            if line and not line.startswith(" "):
                output = line.split(":")[0]
            elif output in self._compile:
                path = (self.folder / line.strip()).resolve()
                if path.is_relative_to(self.source / "src"):
                    objects_of.setdefault(str(path.relative_to(self.source)), []).append(output)
        return objects_of

    def _run(self, command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, **ENVIRONMENT})

    def _compile_with(self, output, file, text, to):
        """Compiles an object with `text` in place of the file."""
        overlay = self.scratch / file
        overlay.parent.mkdir(parents=True, exist_ok=True)
        overlay.write_text(text)
        replaced = {str(self.source / file): str(overlay)}
        command = [replaced.get(part, part) for part in self._compile[output]]
        command[command.index("-o") + 1] = str(to)
        command[1:1] = [f"-I{self.scratch / 'src'}"]
        succeeded = self._run(command).returncode == 0
        overlay.unlink()
        return succeeded

    def build(self, file, text):
        """Builds mluop_tests with `text` in place of the file. Returns "" or why there is none."""
        objects = {output: str(self.scratch / f"{i}.o") for i, output in enumerate(self.objects_of[file])}
        if not all(self._compile_with(output, file, text, to) for output, to in objects.items()):
            return "does not compile"
        command = [objects.pop(part, part) for part in self._link]
        position = command.index("-o")
        command[position + 1] = str(self.program)
        # What remains are members of static libraries: in front of these.
        command[position:position] = objects.values()
        return "" if self._run(command).returncode == 0 else "does not link"

    def is_original(self, file):
        """Whether the last build has the objects of the file without a mutant."""
        text = (self.source / file).read_text()
        original = self.scratch / "original.o"
        return all(self._compile_with(output, file, text, original)
                   and original.read_bytes() == (self.scratch / f"{i}.o").read_bytes()
                   for i, output in enumerate(self.objects_of[file]))

    def time_tests(self):
        """Runs the tests without a mutant. Returns the seconds of each test, and the processor seconds of all."""
        report = self.scratch / "tests.json"
        failure = self.test(f"*:-{EXCLUDED_SUITES}", 3600, 3600, self.folder / "test/mluop_tests",
                            f"--gtest_output=json:{report}")
        if failure:
            sys.exit(f"the tests fail without a mutant: {failure}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {f"{suite['name']}.{test['name']}": float(test["time"].rstrip("s"))
                for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]
                if test["status"] == "RUN"}, used.ru_utime + used.ru_stime

    def test(self, filter_, wall_seconds, cpu_seconds, program=None, *options):
        """Runs tests. Returns "" if all pass, or what failed."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            result = subprocess.run([program or self.program, f"--gtest_filter={filter_}", *options], cwd=self.scratch,
                                    timeout=wall_seconds, capture_output=True, preexec_fn=limit,
                                    env={**os.environ, **ENVIRONMENT})
        except subprocess.TimeoutExpired:
            return "timeout"
        if result.returncode == 0:
            return ""
        last = re.findall(r"\[ +(?:RUN|FAILED) +\] (\S+)", result.stdout.decode(errors="replace"))
        return last[-1].rstrip(",") if last else f"exit status {result.returncode}"


def select(build, options):
    """All mutants, in the order in which they run: random lines, then a random mutant of the line."""
    by_line = {}
    for path in sorted((build.source / "src").rglob("*")):
        file = str(path.relative_to(build.source))
        objects = build.objects_of.get(file, [])
        if path.suffix not in (".cpp", ".h") or file.split("/")[1] not in FOLDERS or not re.search(options.files, file):
            continue
        if not 0 < len(objects) <= options.max_objects:
            continue
        text = path.read_text()
        for mutant in mutants_of(file, text):
            if re.match(options.match, mutant.before):
                by_line.setdefault((file, mutant.line_number(text)), []).append(mutant)
    random_ = random.Random(options.seed)
    lines = sorted(by_line)
    random_.shuffle(lines)
    return [random_.choice(by_line[line]) for line in lines]


def read_survivors(path):
    """The known survivors: (file, line before, line after) -> reason."""
    known = {}
    for paragraph in path.read_text().split("\n\n"):
        fields = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if fields:
            file, before, after, reason = fields[0], fields[1][2:], fields[2][2:], " ".join(fields[3:])
            known[file, before.strip(), after.strip()] = reason
    return known


def judge(build, mutant, text, seconds, cpu_seconds):
    why = build.build(mutant.file, mutant.apply(text))
    if why:
        return "discarded", why
    operators = [folder.name for folder in (build.source / "src/ops").iterdir()]
    for stage in stages(mutant.file, seconds, operators):
        usual = sum(seconds[test] for test in stage)
        # A mutant may not end. Processor time does not depend on what else the machine does.
        failure = build.test(":".join(stage), 60 + 10 * usual,
                             10 + 5 * cpu_seconds * usual / sum(seconds.values()))
        if failure:
            return "killed", failure
    return ("discarded", "same object code") if build.is_original(mutant.file) else ("survived", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build directory of the preset release")
    parser.add_argument("--count", type=int, default=120, help="mutants that count (default: 120)")
    parser.add_argument("--seed", type=int, default=1, help="of the selection (default: 1)")
    parser.add_argument("--files", default="", metavar="REGEX", help="mutate files whose path matches this")
    parser.add_argument("--match", default="", metavar="REGEX",
                        help="mutate tokens or statements that begin like this: 'require|check|call.check' removes "
                             "each rule")
    parser.add_argument("--max-objects", type=int, default=8,
                        help="skip headers that more objects include (default: 8)")
    parser.add_argument("--log", type=Path,
                        help="append each result; mutants with a result newer than the build do not run again")
    parser.add_argument("--survivors", type=Path, default=Path(__file__).with_name("survivors.txt"),
                        help="known survivors and the reason of each")
    options = parser.parse_args()

    build = Build(options.build)
    seconds, cpu_seconds = build.time_tests()
    known = read_survivors(options.survivors)
    done = {}
    if options.log and options.log.exists():
        # Verdicts on an earlier state of sources or tests say nothing.
        if options.log.stat().st_mtime < (build.folder / "test/mluop_tests").stat().st_mtime:
            options.log.unlink()
    if options.log and options.log.exists():
        for line in options.log.read_text().splitlines():
            verdict, why, file, number, before, after = line.split("\t")
            done[file, int(number), before, after] = verdict, why
    count = {"killed": 0, "survived": 0, "discarded": 0}
    unknown = 0
    for mutant in select(build, options):
        if count["killed"] + count["survived"] >= options.count:
            break
        text = (build.source / mutant.file).read_text()
        key = (mutant.file, mutant.line_number(text), *(" ".join(line.split()) for line in mutant.lines(text)))
        verdict, why = done.get(key) or judge(build, mutant, text, seconds, cpu_seconds)
        count[verdict] += 1
        if options.log and key not in done:
            with options.log.open("a") as log:
                print(verdict, why, *key, sep="\t", file=log)
        if verdict == "survived":
            reason = known.get((mutant.file, *key[2:]))
            unknown += reason is None
            print(f"{key[0]}:{key[1]}: survived\n- {key[2]}\n+ {key[3]}\n  {reason or 'NOT KNOWN'}\n", flush=True)
    print(f"{count['killed'] + count['survived']} mutants: {count['killed']} killed, {count['survived']} survived, "
          f"{unknown} of them without a reason; {count['discarded']} do not compile or change no object code")
    return unknown > 0


if __name__ == "__main__":
    sys.exit(main())

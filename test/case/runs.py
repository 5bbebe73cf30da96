"""Long runs of mluop_case: shards whose reports merge, several processes, runs that resume."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

FILTERS = ["--filter", "*/ball_query/*", "--filter", "*/voxelization/*", "--filter", "*/knn/*"]


class Process(subprocess.Popen):
    """Ends if the test fails."""

    def __exit__(self, kind, *others):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *others)


class Runner:
    def __init__(self, mluop_case, cases, folder):
        self.mluop_case, self.cases, self.folder = mluop_case, cases, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments):
        command = [self.mluop_case, "run", *arguments]
        return Process(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments, status=0):
        process = self.start(*arguments)
        output = process.communicate()[0]
        assert process.returncode == status, (arguments, process.returncode, output)
        return output

    def copy(self, case, name):
        shutil.copy(os.path.join(self.cases, case), self.path(name))
        return self.path(name)


def wait(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def suites_of(*files):
    roots = [xml.etree.ElementTree.parse(file).getroot() for file in files]
    return [suite for root in roots for suite in root.findall("testsuite")]


def tests_of(suites):
    return [
        (test.get("classname"), test.get("name"), test.find("failure") is not None)
        for suite in suites
        for test in suite.findall("testcase")
    ]


def outcomes_of(file):
    cases = json.loads(contents_of(file))["cases"]
    return [(case["file"], case["algorithm"], case["status"]) for case in cases]


def lines_of(output):
    """The output without the time of the run."""
    return output.rsplit(";", 1)[0]


def contents_of(file):
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8") as report:
        return report.read()


def is_passed(report, file):
    """Whether a complete line states that the case of the file passed."""
    for line in report.split("\n")[1:]:
        try:
            outcome = json.loads(line.rstrip(","))
        except ValueError:
            continue
        if outcome["file"] == file:
            return outcome["status"] == "passed"
    return False


def endless(file):
    """Writes a case whose call and oracle take hours, on little memory."""
    tensors = [
        f'input {{ id: "{name}" shape {{ dims: [1, 4000000, 3] }} layout: LAYOUT_ARRAY\n'
        "  dtype: DTYPE_FLOAT random_data { seed: 1 upper_bound: 1 lower_bound: 0\n"
        "  distribution: UNIFORM } }"
        for name in ("unknown", "known")
    ]
    tensors += [
        f'output {{ id: "{name}" shape {{ dims: [1, 4000000, 3] }} layout: LAYOUT_ARRAY\n'
        f"  dtype: DTYPE_{dtype} }}"
        for name, dtype in (("dist2", "FLOAT"), ("idx", "INT32"))
    ]
    with open(file, "w") as out:
        out.write("\n".join(['op_name: "three_nn_forward"', *tensors, ""]))


def children_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        return [int(child) for child in file.read().split()]


def test_shards(run):
    cases = [run.cases, *FILTERS, "--algorithm", "both"]
    whole = run.path("whole.xml")
    run.run(*cases, "--junit", whole)
    (suite,) = suites_of(whole)
    for count in (2, 5):
        files = [run.path(f"{k}.xml") for k in range(count)]
        for k, file in enumerate(files):
            run.run(*cases, "--junit", file, "--shard", f"{k + 1}/{count}")
        parts = suites_of(*files)
        assert len({part.get("name") for part in parts}) == count
        tests = tests_of(parts)
        assert len(set(tests)) == len(tests)
        assert sorted(tests) == sorted(tests_of([suite]))
        for key in ("tests", "failures", "errors"):
            assert sum(int(part.get(key)) for part in parts) == int(suite.get(key))
    # There are more parts than cases.
    assert "0 runs: 0 passed" in run.run(*cases, "--shard", "999/1000", "--junit", whole)
    assert tests_of(suites_of(whole)) == []
    for shard in ("0/2", "3/2", "1", "1/", "/2", "1/x", "-1/2", "1/2/3"):
        assert f"invalid shard '{shard}'" in run.run(*cases, "--shard", shard, status=2)


def test_jobs(run):
    cases = [run.cases, *FILTERS, "--algorithm", "both"]
    expected = run.run(*cases, "--json", run.path("one.json"))
    for jobs in (1, 3, 64):
        output = run.run(*cases, "--jobs", str(jobs), "--json", run.path("many.json"))
        assert lines_of(output) == lines_of(expected)
        assert outcomes_of(run.path("many.json")) == outcomes_of(run.path("one.json"))
    assert "excludes" in run.run(*cases, "--jobs", "2", "--repeat", "3", status=2)


def test_crash(run):
    """A process that is killed is a failure of its case; the others run, printed in their order."""
    first, last = (
        run.copy("ball_query/by_hand.prototxt", name) for name in ("a.prototxt", "c.prototxt")
    )
    killed = run.path("b.prototxt")
    endless(killed)
    junit, report = run.path("x.xml"), run.path("x.json")
    options = ["--jobs", "2", "--algorithm", "native", "--junit", junit, "--json", report]
    with run.start(first, killed, last, *options) as process:
        wait(lambda: is_passed(contents_of(report), last), "the last case")
        (child,) = children_of(process)
        os.kill(child, signal.SIGKILL)
        output = process.communicate()[0]
    assert process.returncode == 1, output
    lines = output.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["PASS", "FAIL", "PASS"], output
    assert f"FAIL   native  {killed}  the process that ran the case ended with signal 9" in lines[1]
    assert [failed for _, _, failed in tests_of(suites_of(junit))] == [False, True, False]
    assert [file for file, _, _ in outcomes_of(report)] == [first, killed, last]


def test_resume(run):
    names = ("a", "b", "c", "d")
    files = [run.copy("ball_query/by_hand.prototxt", f"{name}.prototxt") for name in names]
    with open(files[1], "a") as file:
        file.write("unknown {")
    report, junit = run.path("x.json"), run.path("x.xml")
    arguments = [*files, "--json", report, "--resume", report, "--junit", junit]
    assert "0 of 4 cases passed" in run.run(*arguments, status=2)
    complete = contents_of(report)
    # Passed cases are kept and failed cases run again, at any end of the report.
    run.copy("ball_query/by_hand.prototxt", "b.prototxt")
    ends = [i + 1 for i, c in enumerate(complete) if c == "\n"]
    ends += [complete.index(files[2]), len(complete) - 2]
    for end in ends:
        with open(report, "w") as file:
            file.write(complete[:end])
        passed = [file for file in files if is_passed(complete[:end], file)]
        output = run.run(*arguments)
        assert f"{len(passed)} of 4 cases passed according to {report}" in output, output
        assert [file for file in files if file in output.replace(report, "")] == [
            file for file in files if file not in passed
        ]
        assert "4 runs: 4 passed" in output, output
        assert [file for file, _, _ in outcomes_of(report)] == files
        assert len(tests_of(suites_of(junit))) == 4
    # No case is left to run.
    assert "4 of 4 cases passed" in run.run(*arguments)
    # A run with other options must not resume the report.
    assert "is of a run with the settings" in run.run(*arguments, "--algorithm", "both", status=2)
    for text in ("no JSON", "{}", '{"cases": [1]}', "[", '{"settings": 1, "cases": ['):
        with open(run.path("other.json"), "w") as file:
            file.write(text)
        output = run.run(*files, "--resume", run.path("other.json"), status=2)
        assert "is not a report" in output or "is of a run with the settings" in output, output


def test_killed_resumed_run(run):
    """The outcomes of an interrupted run survive the interruption of the next run."""
    files = [run.copy("ball_query/by_hand.prototxt", f"{name}.prototxt") for name in ("b", "c")]
    first = run.path("a.prototxt")
    endless(first)
    report = run.path("x.json")
    for jobs in ([], ["--jobs", "2"]):
        run.run(*files, "--json", report)
        for target in (report, report, run.path("new.json")):
            with run.start(first, *files, "--json", target, "--resume", report, *jobs) as process:
                line = process.stdout.readline()
                assert line.startswith("2 of 3 cases passed"), line
                for file in files:
                    wait(lambda t=target, f=file: is_passed(contents_of(t), f), file)
                process.kill()
            assert all(is_passed(contents_of(target), file) for file in files)
    shutil.copy(files[0], first)
    assert "2 of 3 cases passed" in run.run(first, *files, "--json", report, "--resume", report)
    assert [file for file, _, _ in outcomes_of(report)] == [first, *files]


def test_two_runs_of_one_report(run):
    """The second run is refused; the report of the first is unchanged."""
    case = run.copy("ball_query/by_hand.prototxt", "a.prototxt")
    second, report = run.path("b.prototxt"), run.path("x.json")
    endless(second)
    for jobs in ([], ["--jobs", "2"]):
        with run.start(case, second, "--json", report, *jobs) as process:
            wait(lambda: os.path.exists(report) and is_passed(contents_of(report), case), case)
            for options in ([], ["--resume", report]):
                output = run.run(case, "--json", report, *options, status=2)
                assert f"cannot write {report}: another process writes it" in output, output
            assert is_passed(contents_of(report), case)
            process.kill()
        assert "1 passed" in run.run(case, "--json", report)
        os.remove(report)
    # Reports that are not regular files are shared.
    for _ in range(2):
        run.run(case, "--json", "/dev/null", "--junit", "/dev/null")
    started = [run.start(case, "--junit", run.path("x.xml")) for _ in range(8)]
    for process in started:
        with process:
            process.communicate()
        assert process.returncode == 0
    assert len(tests_of(suites_of(run.path("x.xml")))) == 1
    assert not [name for name in os.listdir(run.folder) if name.endswith(".part")]


TESTS = (
    *(test_shards, test_jobs, test_crash, test_resume, test_killed_resumed_run),
    test_two_runs_of_one_report,
)


def main(mluop_case, cases, folder):
    for test in TESTS:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        test(Runner(mluop_case, cases, folder))


if __name__ == "__main__":
    main(*sys.argv[1:])

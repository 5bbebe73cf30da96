"""Parses reports of mluop_case: names and messages of any bytes, and a run that is killed."""

import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

from runs import endless

# Control characters; not UTF-8: a surrogate, overlong forms, cut characters; not in XML; markup.
HOSTILE = [bytes([byte]) for byte in range(1, 32)]
HOSTILE += [b"\x7f", b"\x80", b"\xff", b"\xc3", b"\xc0\x80", b"\xe0\x80\xaf", b"\xed\xa0\x80"]
HOSTILE += [b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"]
HOSTILE += [b"\xf0\x9f\x98", b"]]>", b"<&>\"'"]
VALID = "\u00e9\u4e2d\U0001f600"


def test_any_bytes(mluop_case, case, folder):
    names = []
    for i, text in enumerate(HOSTILE):
        name = b"%02d" % i + text + VALID.encode() + b".prototxt"
        names.append(name)
        path = os.path.join(folder.encode(), name)
        if i % 2:
            shutil.copy(case, path)
        else:  # an invalid case with the bytes in its message
            octal = "".join("\\%03o" % byte for byte in text)
            with open(path, "w") as file:
                file.write('op_name: "%s"' % octal)
    junit, report = os.path.join(folder, "junit.xml"), os.path.join(folder, "report.json")
    command = [mluop_case, "run", folder, "--junit", junit, "--json", report]
    result = subprocess.run(command, stdout=subprocess.DEVNULL)
    assert result.returncode == 2, result.returncode

    tests = xml.etree.ElementTree.parse(junit).getroot().findall("testsuite/testcase")
    with open(report, encoding="utf-8") as file:
        outcomes = json.load(file)["cases"]
    assert len(tests) == len(outcomes) == len(names), (len(tests), len(outcomes), len(names))
    for name, test, outcome in zip(sorted(names), tests, outcomes):
        assert VALID in test.get("name") and VALID in outcome["file"], name
        # Tabs, ends of lines and all valid characters are kept.
        text = name[2 : -len(VALID.encode()) - len(b".prototxt")]
        if text in (b"\t", b"\n", b"\r", b"\x7f", b"]]>", b"<&>\"'"):
            assert text.decode() in test.get("name"), (name, test.get("name"))
        else:
            assert "\ufffd" in test.get("name"), (name, test.get("name"))


def test_killed_run(mluop_case, case, folder):
    names = ("junit.xml", "report.json", "second.prototxt")
    junit, report, second = (os.path.join(folder, name) for name in names)
    endless(second)
    command = [mluop_case, "run", case, second, "--junit", junit, "--json", report]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        contents, end = "", time.monotonic() + 60
        while "\n{" not in contents and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
            if os.path.exists(report):
                with open(report, encoding="utf-8") as file:
                    contents = file.read()
        process.kill()
    outcomes = json.loads(contents + "]}")["cases"]
    assert [outcome["status"] for outcome in outcomes] == ["passed"], contents
    error = xml.etree.ElementTree.parse(junit).getroot().find("testsuite/testcase/error")
    assert error.get("message") == "the run did not end"


def main(mluop_case, cases, folder):
    case = os.path.join(cases, "ball_query", "by_hand.prototxt")
    for test in (test_any_bytes, test_killed_run):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        test(mluop_case, case, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])

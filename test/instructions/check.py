"""The instructions of a library on x86-64, by the function that has them.

python3 check.py OBJDUMP LIBRARY

- Instructions of AVX and later stand in the kernels of instruction sets that have them only: their
  namespaces are N_AVX2, N_AVX3, .... Others run on every x86-64.
- A product is rounded before it is added, so that results have the same bits on every instruction
  set, except where a kernel asks for a fused multiply-add. A compiler must not fuse of its own
  accord, as g++ 12 does at -O3 with subtractions and additions in turn (vfmaddsub).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

OF_AVX = re.compile(r"\bN_AVX\w+::")
# What asks for a fused multiply-add, and may be inlined: products of matrices and the samples of
# deformable convolution, whose bits differ between instruction sets; the bounds of three nn, within
# which distances are exact; sums of mluOpOmpCompare in double.
FUSED = re.compile(r"_microkernel|::(dcn|indice_convolution|matmul|three_nn_forward|compare)::")
ENCODED_AS_AVX = re.compile(r"v(?!er[rw]$)\w+|k[a-z]+[bwdq]|tile\w+|tdp\w+")
IS_FUSED = re.compile(r"vf(n?m(add|sub)|maddsub|msubadd)\d")


def instructions(objdump: str, library: str):
    """The pairs (function, mnemonic)."""
    command = [objdump, "--disassemble", "--demangle", "--no-show-raw-insn", library]
    function = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith(" "):
                yield function, line.split("\t", 1)[1].split(None, 1)[0]
            elif line.endswith(">:\n"):
                function = line[line.index("<") + 1 : -3]
    if process.returncode != 0:
        sys.exit(f"check.py: {objdump} ended with {process.returncode}")


def main() -> None:
    kernels = Counter()
    faults = Counter()
    for function, mnemonic in instructions(*sys.argv[1:]):
        if not ENCODED_AS_AVX.fullmatch(mnemonic):
            continue
        if found := OF_AVX.search(function):
            kernels[found[0]] += 1
        else:
            faults[f"{mnemonic}, which every x86-64 must have, in {function}"] += 1
        if IS_FUSED.match(mnemonic) and not FUSED.search(function):
            faults[f"{mnemonic}, which no kernel asks for, in {function}"] += 1
    for fault, count in sorted(faults.items()):
        print(f"{count} of {fault}")
    print(f"instructions of AVX: {dict(kernels)}")
    sys.exit(bool(faults) or not kernels)


if __name__ == "__main__":
    main()

"""Inputs that nobody wrote: logs built from a grammar and damaged, and what a fuzzer makes of them.

    pytest tests/fuzz                         the gate: the same examples each time
    AOTI_LOGSCAN_FUZZ=20 pytest tests/fuzz    twenty times as many, other ones each time
    python -m tests.fuzz.run --minutes 30     guided by coverage, with atheris (extra `fuzz`)
    python -m tests.fuzz.dictionary           writes dictionary.txt anew, after an anchor changed
    python -m tests.fuzz.seeds                writes corpus/ anew, after a format changed

`invariants` says what has to hold for any input. `words`, `forms`, `generated` and `grammar` are
the formats, `values` JSON of any shape, `folders` logs beside the code that failed in them, and
`damage` what befalls them. `target` is one input of the fuzzer, `mutator` changes it, `finds` keeps
what broke something. An input that did is put into `found/` with its fix, and stays there.
"""

"""The fuzzer's dictionary: every parser's anchors, and the marks that lines and files are told by.

`python -m tests.fuzz.dictionary` writes `dictionary.txt` anew, in libFuzzer's format.
"""

from __future__ import annotations

from pathlib import Path

from aoti_logscan.parsers import PARSERS

FILE = Path(__file__).with_name("dictionary.txt")

#: what launchers, stores, terminals and archives put around records
MARKS = (
    *(b"[rank3]: ", b"[default2]:", b"[1,3]<stderr>:", b"(Worker_TP1 pid=955) ", b"pid=4242"),
    *(b"2026-02-11T08:09:10.111222333Z stderr F ", b"V1130 06:57:13.145000 30988 torch/x.py:26] "),
    *(b"[E817 21:06:30.480021775 ", b"\x1b[31m", b"\x1b[0m", b"\x1b]0;", b"\\n", b"\\u001b[0m"),
    *(b'{"log": "', b'\\n", "stream": "stderr"}', b"{'stderr': b'", b'{\\"log\\": \\"', b"&#x27;"),
    *(b"&lt;", b"\r", b"\r\n", b"\n\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
    *(b', "has_payload": "', b', "rank": ', b', "frame_id": ', b'"stack": [', b"failed.", b"`"),
    *(b"block: [0,0,0], thread: [0,0,0] ", b"index out of bounds: ", b" <= tmp4 < ", b"ks0"),
    *(
        b'  File "',
        b'", line 9, in ',
        b"frame #0: ",
        b"#1 ",
        b" (0x7f in ",
        b"Number of elements: ",
    ),
    *(b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"),
    *(b"ustar", b"\n=== m.pt2!data/aotinductor/model/c.wrapper.cpp\n", b"\n=== run.log\n"),
)


def entries() -> list[str]:
    """The lines of the dictionary."""
    anchors = [anchor for parser in PARSERS for anchor in parser.ANCHORS]
    return [f'"{_quoted(token)}"' for token in dict.fromkeys((*anchors, *MARKS))]


def _quoted(token: bytes) -> str:
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02X}"
        for byte in token
    )


def text() -> str:
    """The whole file."""
    return "\n".join(entries()) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="ascii")

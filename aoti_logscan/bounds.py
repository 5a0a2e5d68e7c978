"""What a bound may be the size of, said as a question and never as a claim."""

from __future__ import annotations

from aoti_logscan.lazy_re import lazy_re

# 50257   1000L   512.0
_NUMBER = lazy_re(r"(\d{1,18})(?:[lLuU]+|\.0)?")
#: sizes of vocabularies of widely used models
_VOCABULARIES = {
    28996: "BERT cased",
    30522: "BERT uncased",
    32000: "Llama 2, Mistral",
    32064: "Phi-3",
    32128: "T5",
    49408: "CLIP",
    50257: "GPT-2",
    50265: "RoBERTa",
    50304: "GPT-2, padded",
    51865: "Whisper",
    65024: "Falcon",
    128256: "Llama 3",
    129280: "DeepSeek-V3",
    151936: "Qwen 2",
    152064: "Qwen 2.5, padded",
    250002: "XLM-RoBERTa",
    250880: "BLOOM",
    256000: "Gemma",
}
#: numbers of positions that are no power of two
_POSITIONS = {77: "CLIP", 514: "RoBERTa", 1500: "Whisper's encoder"}
#: a vocabulary is hardly smaller or larger
_LIKE_A_VOCABULARY = range(20_000, 400_000)
_LIKE_POSITIONS = range(128, 1 << 21)
_LIKE_EXPERTS = range(2, 128)


def asked(upper: str | None) -> str | None:
    """Where to look for a table with as many rows as an upper bound; None where it is no number."""
    match = _NUMBER.fullmatch(upper or "")
    if match is None:
        return None
    size = int(match[1])
    return f"Look for a table or dimension of size {size}: {_question(size)}"


def _question(size: int) -> str:
    if size in _VOCABULARIES:
        return (
            f"vocabularies of that size exist ({_VOCABULARIES[size]}); was a token id {size} or "
            "larger, or of another tokenizer?"
        )
    power_of_two = size & (size - 1) == 0
    if size in _POSITIONS or (power_of_two and size in _LIKE_POSITIONS):
        return "positions, or rows of a cache, perhaps; was an input longer than that?"
    if size in _LIKE_A_VOCABULARY:
        return "a vocabulary or an item table, perhaps; was an id as large as that?"
    if power_of_two and size in _LIKE_EXPERTS:
        return "experts, slots or types, perhaps; was an index as large as that?"
    return "was an index as large as that?"

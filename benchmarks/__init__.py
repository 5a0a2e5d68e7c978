"""What the command costs: `python -m benchmarks.run`; the figures are in RESULTS.md."""

"""`python -m aoti_logscan` is the command."""

from aoti_logscan.cli import main

main()

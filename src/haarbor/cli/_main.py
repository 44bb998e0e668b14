"""The start of the haarbor command; it imports little, so that an interrupt is handled from the beginning."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, and end the process.

    Exit code 0 on success; 1 with one line on stderr for bad input or data, or where disk, memory,
    permissions or libraries do not suffice; 2 for wrong usage; 130 after Ctrl-C. Anything else is a
    defect and shows its traceback. If nobody reads the output, the exit code is 1 and nothing is said.
    """
    try:
        from haarbor.cli._whole_command import whole_command

        whole_command()
    except KeyboardInterrupt:
        # It came before the handler was set; nothing has been opened yet that has to be closed.
        if sys.stderr is not None:
            sys.stderr.write("haarbor: interrupted; what was complete is kept.\n")
            sys.stderr.flush()
        os._exit(130)

"""The haarbor command from its first moment, in which little is loaded that an interrupt could meet."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, and end the process.

    Exit code 0 on success; 1 with one line on stderr for bad input or data, or where disk, memory,
    permissions or libraries do not suffice; 2 for wrong usage; 130 after Ctrl-C. Anything else is a
    defect and shows its traceback. Nobody who reads the output: 1, and silence.
    """
    try:
        from haarbor.cli._whole_command import whole_command

        whole_command()
    except KeyboardInterrupt:
        # It came before there was anybody to hear of it; nothing has been opened that has to be closed.
        if sys.stderr is not None:
            sys.stderr.write("haarbor: interrupted; what was complete is kept.\n")
            sys.stderr.flush()
        os._exit(130)

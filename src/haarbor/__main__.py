"""Run the command line as ``python -m haarbor``."""

from haarbor.cli import main

if __name__ == "__main__":
    main()

"""The version of the package, and of the libraries that a result was made with."""

from collections.abc import Iterable

__all__ = ["__version__", "installed_versions"]

__version__ = "0.1.0"


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of Haarbor and of those of the packages that are installed.

    Examples
    --------
    >>> list(installed_versions(["numpy", "no-such-package"]))
    ['haarbor', 'numpy']
    """
    # Looked up when asked for: reading what is installed would slow down every start.
    from importlib.metadata import PackageNotFoundError, version

    found = {"haarbor": __version__}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

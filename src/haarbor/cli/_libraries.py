"""Check that an optional library can be imported, made before the work that needs it."""

from __future__ import annotations

from importlib import import_module

from haarbor.errors import SettingError

__all__ = ["require_library"]


def require_library(module: str, *, user: str, extra: str) -> None:
    """Raise unless a library can be imported.

    Parameters
    ----------
    module : str
        The module of the library that is used.
    user : str
        What needs it, for the message.
    extra : str
        Extra of Haarbor with which the library is installed.

    Examples
    --------
    >>> require_library("json", user="a report", extra="report")
    >>> require_library("no_such_library.part", user="a report", extra="report")
    Traceback (most recent call last):
    ...
    haarbor.errors.SettingError: a report needs the no_such_library package, which is not installed. Run \
pip install 'haarbor[report]'.
    """
    package = module.partition(".")[0]
    try:
        import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name in (package, module):
            raise SettingError(
                f"{user} needs the {package} package, which is not installed. "
                f"Run pip install 'haarbor[{extra}]'."
            ) from None
        raise SettingError(
            f"{user} needs the {package} package, which does not work here ({error}); install it anew: "
            f"pip install --force-reinstall 'haarbor[{extra}]'."
        ) from None

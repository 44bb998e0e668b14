"""Links of pages to files of the repository that are no pages of the site."""

import re

_REPOSITORY = "https://github.com/haarbor/haarbor/blob/main/"
# Files that are shown by a page of the site.
_PAGES = {
    "../benchmarks/RESULTS.md": "benchmarks.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "security.md",
    "../CHANGELOG.md": "changelog.md",
    "../README.md": "index.md",
}
_LINK = re.compile(r"(?<!!)\]\(((?:\.\./)+)([^)#\s]+)(#[^)\s]*)?\)")
_RESULT = re.compile(r"\]\((?:\.\./)*(results(?:/[^)\s]*)?)\)")


def _linked(found, depth):
    climbed, path, place = found[1], found[2], found[3] or ""
    levels = climbed.count("../")
    if levels <= depth:
        return found[0]
    page = _PAGES.get(f"../{path}")
    return f"]({'../' * depth}{page}{place})" if page else f"]({_REPOSITORY}{path}{place})"


def _rewrite(app, name, source):
    depth = name.count("/")
    source[0] = _LINK.sub(lambda found: _linked(found, depth), source[0])
    source[0] = _RESULT.sub(lambda found: f"]({_REPOSITORY}docs/{found[1]})", source[0])


def setup(app):
    """Rewrite the links as a page is read."""
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

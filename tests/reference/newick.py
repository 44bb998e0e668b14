"""A reader of Newick text: nested lists of children, leaves as (label, length)."""


def parse(text):
    """Root as (children or label, branch length or None)."""
    node, end = _node(text, 0)
    assert text[end:] == ";", f"text goes on after the root: {text[end:]!r}"
    return node


def _node(text, at):
    if text[at] == "(":
        children = []
        while text[at] in "(,":
            child, at = _node(text, at + 1)
            children.append(child)
        assert text[at] == ")", f"a bracket is not closed at {at}"
        content, at = children, at + 1
    else:
        content, at = _label(text, at)
    if text[at] != ":":
        return (content, None), at
    end = at + 1
    while text[end] not in ",();":
        end += 1
    return (content, float(text[at + 1 : end])), end


def _label(text, at):
    if text[at] != "'":
        end = at
        while text[end] not in ":,();":
            end += 1
        # Blanks cannot stand in an unquoted label, so underscores mean them.
        return text[at:end].replace("_", " "), end
    letters = []
    at += 1
    while True:
        if text[at] == "'":
            if text[at + 1] != "'":
                return "".join(letters), at + 1
            at += 1
        letters.append(text[at])
        at += 1

"""Read rows and lists of names from text."""


def words(text):
    """Return the words of a text as a set."""
    return set(text.split())


def rows(text):
    """Return the rows of a text, as name -> expression."""
    named = [line.partition(": ") for line in text.strip().splitlines()]
    return {name: expression for name, _, expression in named}


def rows_like(expression, names):
    """Return rows of functions that are called alike."""
    return dict.fromkeys(names.split(), expression)

"""How numbers are shown in README.md."""


def show(number):
    """Return a number with three digits, or nothing."""
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"

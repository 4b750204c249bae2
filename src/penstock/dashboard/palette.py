"""The colours and the font of the picture."""

INK, MUTED, LINE, PAPER = "#1f2933", "#66707c", "#e3e7eb", "#fffffe"
ORANGE, BLUE, GREEN, VERMILION, PURPLE = "#e69f00", "#0072b2", "#009e73", "#d55e00", "#b5679a"
"""Okabe and Ito's colours, which people with any colour vision tell apart."""

FONT = "DejaVu Sans"

THEME = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    PAPER: "var(--paper)",
    ORANGE: "var(--orange)",
    BLUE: "var(--blue)",
    GREEN: "var(--green)",
    VERMILION: "var(--vermilion)",
    PURPLE: "var(--purple)",
}
"""Each colour's name in the style of a page, where it follows light and dark."""

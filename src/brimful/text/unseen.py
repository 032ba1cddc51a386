"""Which characters does nobody see? Bodies of character classes, for patterns that must judge a text as a reader does.

`INVISIBLE` characters take no room: zero-width, direction and tag characters, variation selectors, fillers, soft
hyphens (Unicode's default-ignorable ones), and the controls of layout. They can hide a message in a name, or turn it
around, so in names and labels they are written out. `BLANK` ones take room and show nothing. `CONTROL` ones are those
of ASCII and Latin-1 that break no line; `BREAK` ends a line for one reader or another. `COMBINING` ones are drawn
over what stands before them, which at the start of a line is nothing.
"""

BREAK = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
CONTROL = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"
BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\U0001d159"
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
COMBINING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"

"""How does cost grow with the corpus? Small panels, each with a line for every contender."""

from collections.abc import Mapping, Sequence
from pathlib import Path

Lines = Mapping[str, Sequence[tuple[float, float]]]
"""By contender: megabytes, and what is shown of them."""

MARKS = {
    "Brimful": ("o", "#b3261e"),
    "FTS5": ("s", "#1a73e8"),
    "tantivy": ("^", "#188038"),
    "bm25s": ("D", "#7a6000"),
    "LlamaIndex": ("v", "#7b1fa2"),
    "LangChain": ("P", "#00796b"),
}


def draw(panels: Mapping[str, Lines], path: Path) -> None:
    """Draw panels by their titles, two in a row."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    rows = -(-len(panels) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(8, 3 * rows), layout="constrained", squeeze=False)
    for axis, (title, lines) in zip(axes.flat, panels.items(), strict=True):
        for name, (mark, colour) in MARKS.items():
            if points := lines.get(name):
                axis.plot(*zip(*points, strict=True), marker=mark, color=colour, label=name, linewidth=1.5)
        axis.set(xscale="log", yscale="log", title=title, xlabel="MB of text")
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_formatter(plain)
            scale.set_minor_formatter(NullFormatter())
        low, high = axis.get_ylim()
        if high < 30 * low:  # less than two powers of ten between: show twos and fives too
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.grid(visible=True, which="major", color="#dddddd")
    axes[0][0].legend(frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)

"""How does cost grow with the corpus? Four small panels."""

from pathlib import Path

from core.report import Table

PANELS = (
    ("cpu_s", "CPU seconds to take in", 1.0),
    ("disk", "MB on disk", 1e-6),
    ("peak", "peak memory, MB", 1e-6),
    ("medium_s", "a medium word, ms (warm)", 1e3),
)
MARKS = {"Brimful": ("o", "#b3261e"), "FTS5": ("s", "#1a73e8"), "tantivy": ("^", "#188038"), "bm25s": ("D", "#7a6000")}


def draw(table: Table, path: Path) -> None:
    """Draw the figures of the table on cost against size."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for axis, (key, label, unit) in zip(axes.flat, PANELS, strict=True):
        for name, (mark, colour) in MARKS.items():
            rows = [row for row in table.figures if row["what"] == name]
            sizes, values = [row["megabytes"] for row in rows], [row[key] * unit for row in rows]
            axis.plot(sizes, values, marker=mark, color=colour, label=name, linewidth=1.5)
        axis.set(xscale="log", yscale="log", title=label, xlabel="MB of text")
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the functions of quantscope return: rows with columns, for people, pandas and polars."""
import html
from typing import NamedTuple

__all__ = ["Column", "Plot", "Rows"]


class Column(NamedTuple):
    """A column: its id is the key in every row. `better` is -1 where lower is better, 1 where higher is, else 0."""

    id: str
    title: str
    unit: str
    tip: str
    better: int


class Plot:
    """A plot of a report as SVG, which notebooks show."""

    def __init__(self, title, svg):
        self.title, self.svg = title, svg

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return f"<quantscope.Plot {self.title!r}>"


class Rows(list):
    """A list of dicts, one for each row. None means "not measured".

    columns  what each key means: title, unit, formula
    summary  sentences about all rows
    more     other tables by name, e.g. "totals"
    recipe   of plan(): the plan as the text of a recipe file; else None
    """

    shown = 100  #: rows of the table in a notebook

    def __init__(self, table, recipe=None):
        super().__init__(table.records())
        self._table = table
        self.columns = tuple(Column(*column) for column in table.columns())
        self.summary = table.summary
        self.more = {name: Rows(other) for name, other in table.more()}
        self.recipe = recipe

    def _ids(self):
        return [column.id for column in self.columns]

    def column(self, id):
        """The values of one column, in the order of the rows."""
        return [row[id] for row in self]

    def to_pandas(self):
        """The rows as a pandas.DataFrame; what was not measured is missing there."""
        import pandas

        return pandas.DataFrame(list(self), columns=self._ids())

    def to_polars(self):
        """The rows as a polars.DataFrame; what was not measured is null there."""
        import polars

        return polars.DataFrame(list(self), schema=self._ids(), infer_schema_length=None)

    def plots(self, *, progress=None):
        """The plots of the report that the command line would write, as a list of Plot.

        The input files are hashed for it, which takes a while the first time.
        """
        return [Plot(title, svg) for title, svg in self._table.plots(progress)]

    def plot(self, index=0, *, progress=None):
        """One of plots(). IndexError where there is none."""
        return self.plots(progress=progress)[index]

    def save(self, path, *, force=False, progress=None):
        """Writes the report: .html, .pdf, .md, .json or .csv, as the path ends. It never replaces a file that was read, and one that
        this program did not write only with `force`."""
        import os

        self._table.save(os.fspath(path), force, progress)

    def _repr_html_(self):
        return self._table.html(self.shown) + "".join(f"<p>{html.escape(line)}</p>" for line in self.summary.split("\n") if line)

    def __repr__(self):
        names = ", ".join(self._ids())
        return f"<quantscope.Rows: {len(self)} rows of {names}>"

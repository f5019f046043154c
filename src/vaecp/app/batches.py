"""Predict the entries that Parquet files list, batch by batch: memory does not grow with them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pandas as pd

from vaecp.app.queries import answer
from vaecp.errors import FormatError
from vaecp.formats.partitions import Partitions, write_batches
from vaecp.formats.raw import RawTable
from vaecp.models.base import TensorEstimator
from vaecp.runtime.progress import report


class Answers:
    """Answers every file of queries by a file of the same name in another folder."""

    def __init__(self, model: TensorEstimator, queries: Path, output: Path, coverage: float):
        self.model, self.output, self.coverage = model, output, coverage
        self.partitions = Partitions.at(queries)
        self.n_predicted = self.n_unseen = 0

    def write(self) -> None:
        """Write the files one after the other; each appears whole or not at all."""
        home = (
            self.partitions.path if self.partitions.path.is_dir() else self.partitions.path.parent
        )
        for path, batches in groupby(self.partitions.batches(), key=itemgetter(0)):
            target = self.output / path.relative_to(home)
            if target.resolve() == path.resolve():
                raise FormatError(
                    f"{target}: is the input, which is not overwritten: name another."
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            write_batches((self._answered(frame, path) for _, _, frame in batches), target)

    def _answered(self, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        found = answer(self.model, RawTable(frame, text=False), str(path), self.coverage)
        self.n_predicted += len(frame)
        self.n_unseen += found.n_unseen
        report(self.n_predicted, self.partitions.n_rows, "entries")
        within = [name for name in frame if name not in self.partitions.folder_columns]
        return frame[within].assign(**found.columns)

"""The work of `kinhash dedup`: comparing what was read, by what the options say."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.arguments import checked_threads
from kinhash.arrays import Array
from kinhash.cli import changing, compared, groups, inputs
from kinhash.cli.compared import Compared
from kinhash.codes import Codes
from kinhash.dedup import Duplicates, deduplicate
from kinhash.dedup.content import Content
from kinhash.dedup.growth import add_new
from kinhash.dedup.job import codes_of
from kinhash.dedup.table import Wanted
from kinhash.errors import InvalidInputError
from kinhash.linkage import Linkage
from kinhash.methods import HashMethod
from kinhash.progress import progress_bar


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """What the options say of the comparison.

    Attributes:
        similarity: Least cosine ...
        radius: ... or largest distance; None for both asks for a proposal.
        linkage: How pairs make groups.
        recall: The share of the pairs to find.
        seed: Draws samples.
        n_threads: Threads to use; None for all cores.
        model: What makes codes of vectors.
    """

    similarity: float | None
    radius: int | None
    linkage: Linkage
    recall: float
    seed: int
    n_threads: int | None
    model: HashMethod | None

    def run(self, rows: Compared, against: Compared | None) -> Duplicates:
        """Return the groups of some rows, or what they have of others.

        Raises:
            KinhashError: The rows do not fit each other, or the options.
        """
        if against is not None:
            _check_made_alike(rows, against)
        with progress_bar(f"Comparing {rows.name}") as report:
            return deduplicate(
                rows.rows,
                ids=rows.ids,
                similarity=self.similarity,
                radius=self.radius,
                linkage=self.linkage,
                against=None if against is None else against.rows,
                against_ids=None if against is None else against.ids,
                model=self.model,
                recall=self.recall,
                seed=self.seed,
                n_threads=self.n_threads,
                progress=report,
            )

    def against_index(
        self, rows: Compared, path: Path, out: Path | None, *, update: bool
    ) -> Duplicates:
        """Return what an index has of some rows, which are written to `out` if that is given.

        With `update`, the others are added to the file of the index.

        Raises:
            KinhashError: The rows do not fit the index, or a file cannot be written.
        """
        if not update:
            index = inputs.load_items(path, self.model)
            compared.check_codes_fit(rows, index, path)
            found = self.run(rows, Compared(path.name, index, made_by=index.made_by))
            if out is not None:
                groups.write(found.groups, out)
            return found
        inputs.load_items(path, self.model)  # says what does not fit before anything is read
        ids = _own_ids(rows)
        with changing.index_in(path) as index, progress_bar(f"Comparing {rows.name}") as report:
            compared.check_codes_fit(rows, index, path)
            wanted = Wanted(
                self._radius, self.recall, self.seed, checked_threads("n_threads", self.n_threads)
            )
            content = Content.of(rows.rows, ids, "data", n_threads=self.n_threads, progress=report)
            codes = codes_of(content, self.model, wanted)
            found = add_new(index, codes, ids, wanted, linkage=self.linkage, progress=report)
            if out is not None:  # before the index: if one cannot be written, neither is
                groups.write(found.groups, out)
        return found

    @property
    def _radius(self) -> int:
        if self.radius is None:
            raise InvalidInputError(
                "An index has codes, but no vectors: say with --radius how near their codes may be."
            )
        return self.radius


def single_model(path: Path) -> HashMethod:
    """Return the model in a file, which must be one of vectors.

    Raises:
        InvalidInputError: It has several modalities, or the file holds something else.
    """
    model = inputs.load_model(path)
    if not isinstance(model, HashMethod):
        raise InvalidInputError(
            f"{path} has the modalities {', '.join(model.modalities)}. Encode the rows with "
            "kinhash encode, which takes --modality, and give the codes as DATA."
        )
    return model


def _own_ids(rows: Compared) -> Array:
    if rows.ids is None:
        raise InvalidInputError(
            f"{rows.name} has no ids, and items are added under ids of their own. Give data with "
            "ids, which --ids names."
        )
    return np.asarray(rows.ids)


def _check_made_alike(rows: Compared, against: Compared) -> None:
    both: tuple[Any, Any] = rows.made_by, against.made_by
    if isinstance(rows.rows, Codes) and None not in both and both[0] != both[1]:
        raise InvalidInputError(
            f"{rows.name} was made by encoder {both[0]}, but {against.name} by {both[1]}. Encode "
            "both with one model."
        )

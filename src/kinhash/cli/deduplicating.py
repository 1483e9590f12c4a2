"""The work of `kinhash dedup`: comparing what was read, by what the options say."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.arguments import checked_threads
from kinhash.arrays import Array
from kinhash.cli import changing, compared, groups, inputs, options, outputs, proposing
from kinhash.cli.compared import Compared, Described
from kinhash.cli.messages import counted, note
from kinhash.codes import Codes
from kinhash.dedup import Duplicates, Proposal, deduplicate, propose
from kinhash.dedup.content import Content
from kinhash.dedup.growth import add_new
from kinhash.dedup.job import check_options, checked_limit, codes_of
from kinhash.dedup.table import Wanted as WantedPairs
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
        with progress_bar(f"Comparing {rows.name}") as report:
            return deduplicate(
                rows.rows,
                similarity=self.similarity,
                radius=self.radius,
                recall=self.recall,
                progress=report,
                **self._shared(rows, against),
            )

    def propose(self, rows: Compared, against: Compared | None) -> Proposal:
        """Return what limits would do, and one to look at first.

        Raises:
            KinhashError: The rows do not fit each other, or the options.
        """
        with progress_bar(f"Comparing {rows.name}") as report:
            return propose(rows.rows, progress=report, **self._shared(rows, against))

    def _shared(self, rows: Compared, against: Compared | None) -> dict[str, Any]:
        """Return the arguments of both, for rows that may be compared."""
        if against is not None:
            _check_made_alike(rows, against)
        return {
            "ids": rows.ids,
            "linkage": self.linkage,
            "against": None if against is None else against.rows,
            "against_ids": None if against is None else against.ids,
            "model": self.model,
            "seed": self.seed,
            "n_threads": self.n_threads,
        }

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
            wanted = WantedPairs(
                self.radius or 0,
                self.recall,
                self.seed,
                checked_threads("n_threads", self.n_threads),
            )
            content = Content.of(rows.rows, ids, "data", n_threads=self.n_threads, progress=report)
            codes = codes_of(content, self.model, wanted)
            found = add_new(index, codes, ids, wanted, linkage=self.linkage, progress=report)
            if out is not None:  # before the index: if one cannot be written, neither is
                groups.write(found.groups, out)
        return found

    @property
    def has_limit(self) -> bool:
        """Whether anybody chose a limit."""
        return self.similarity is not None or self.radius is not None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What to do with what is found.

    Attributes:
        out: Where to write the groups; None to print them.
        report: Where to write the page of a proposal.
        limit: How many rows to print; None for as many as the format shows.
        output: How to print them.
        update: Whether an index grows by the rows to keep.
    """

    out: Path | None
    report: Path | None
    limit: int | None
    output: options.Format
    update: bool

    def check_outputs(self, *, force: bool, inputs: tuple[str | Path | None, ...]) -> None:
        """Raise unless all files can be written.

        Args:
            force: Whether those that are there may be replaced.
            inputs: What is read, which must be other files.

        Raises:
            InvalidInputError: One cannot, or has an unknown ending.
            MissingExtraError: pyarrow is not installed, for a .parquet file.
        """
        if self.out is not None:
            groups.check_ending(self.out)
        if self.report is not None and self.report.suffix.lower() not in {".html", ".htm"}:
            raise InvalidInputError(f"--report must end in .html, got {str(self.report)!r}.")
        for path in (self.out, self.report):
            if path is not None:
                outputs.check_output(path, force=force, inputs=inputs)


def check_limits(
    similarity: float | None, radius: int | None, linkage: Linkage, recall: float, seed: int
) -> None:
    """Raise InvalidInputError unless all are in range; without a limit, one is proposed."""
    check_options(linkage, recall, seed)
    if similarity is not None or radius is not None:
        checked_limit(similarity, radius)


def deduplicated(
    data: str, against: str | None, described: Described, job: Job, wanted: Wanted
) -> None:
    """Read data, compare them and write what is found, or what is proposed.

    Args:
        data: A data set's name, a path, or "-".
        against: The same of other data, or the path of an index.
        described: Where to look in both.
        job: The comparison.
        wanted: What to do with what is found.

    Raises:
        KinhashError: Something cannot be read or written, or does not fit.
    """
    index = None
    if against is not None and inputs.holds_index(Path(against).expanduser()):
        index = Path(against).expanduser()
    if wanted.update and index is None:
        which = "none is given with --against" if against is None else f"{against} is none"
        raise InvalidInputError(f"--update adds to an index, but {which}.")
    if index is not None and job.radius is None:
        raise InvalidInputError(
            f"{index} is an index, which has codes, but no vectors: say with --radius how near "
            "codes may be."
        )
    rows = compared.read(data, described)
    if index is not None:
        found = job.against_index(rows, index, wanted.out, update=wanted.update)
    else:
        others = None if against is None else compared.read(against, described)
        if not job.has_limit:
            _propose(job, rows, others, wanted)
            return
        found = job.run(rows, others)
        if wanted.out is not None:
            groups.write(found.groups, wanted.out)
    if wanted.out is None:
        groups.show(found, wanted.limit, wanted.output)
    groups.tell(found, rows.name, None if against is None else Path(against).name)
    if wanted.out is not None:
        note(f"Wrote {wanted.out}: {counted(found.groups.n_items, 'row')}.")
    if wanted.update:
        note(f"Wrote {against}: {int(found.kept.sum()):,} added.")


def _propose(job: Job, rows: Compared, others: Compared | None, wanted: Wanted) -> None:
    """Print what limits would do; groups are not written, for nobody chose a limit."""
    proposal = job.propose(rows, others)
    if wanted.report is not None:
        proposing.report(wanted.report, proposal, rows, others)
    proposing.show(proposal, rows, others, wanted.output)
    proposing.tell(proposal)
    if wanted.report is not None:
        note(f"Wrote {wanted.report}.")
    if wanted.out is not None:
        raise InvalidInputError(
            f"{wanted.out} was not written: no limit was chosen. Run this again with "
            f"--{proposal.kind}."
        )


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
